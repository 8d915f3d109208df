"""YAML that means one thing: plain mappings, lists, texts, numbers, truth. Pure; bounded in every way.

PyYAML's safe loader alone takes the last of two equal keys, follows aliases into billions of copies, and reads ``no``
as false. Here a key comes once, there is no alias, no tag and no merge key, and only ``true`` and ``false`` are truth.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

# A configuration is a page at most.
MAX_CHARS = 65_536
# Deeper than any setting; PyYAML itself recurses.
MAX_DEPTH = 20


class YamlMistake(Exception):
    """``str()`` is one sentence for whoever wrote it, with the line where there is one. It may quote a key."""


def load(text: str) -> Any:
    """The one document in ``text``; None for an empty one. Raises ``YamlMistake``."""
    if len(text) > MAX_CHARS:
        raise YamlMistake(f"it is longer than {MAX_CHARS:,} characters")
    try:
        _check_depth(text)
        return yaml.load(text, Loader=_Strict)  # noqa: S506 - a safe loader, made stricter
    except yaml.MarkedYAMLError as error:
        raise YamlMistake(_words(error)) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlMistake(f"it is no YAML that can be read ({type(error).__name__})") from None


def _check_depth(text: str) -> None:
    """Before anything is built, and before anything recurses."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _at(event, "there are no anchors and aliases")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _at(event, "it is nested too deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _at(event: yaml.Event, problem: str) -> YamlMistake:
    return YamlMistake(f"line {event.start_mark.line + 1 if event.start_mark else 1}: {problem}")


class _Strict(yaml.SafeLoader):
    """See the head of this file."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(problem="a key must be a text", problem_mark=key_node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"{key!r} is there twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


# YAML 1.1 has "no", "off" and "y" as truth, 0o17 and 1:30 as numbers, and dates: here they are texts.
_PLAIN = {
    "tag:yaml.org,2002:bool": (r"true|false", list("tf")),
    "tag:yaml.org,2002:int": (r"-?(?:0|[1-9][0-9]{0,17})", list("-0123456789")),
    "tag:yaml.org,2002:float": (r"-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,17}", list("-0123456789")),
    "tag:yaml.org,2002:null": (r"null|~|", ["n", "~", ""]),
}
_Strict.yaml_implicit_resolvers = {}
for _tag, (_pattern, _first) in _PLAIN.items():
    _Strict.add_implicit_resolver(_tag, re.compile(rf"\A(?:{_pattern})\Z"), _first)


def _words(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}: " if mark else ""
    return f"{where}{error.problem or error.context or 'it cannot be read'}"
