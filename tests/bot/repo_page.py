"""Print deploy/repository.md as the code has it: python -m tests.bot.repo_page > deploy/repository.md"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bot.repo_config import PATH, RepoConfig

HEAD = f"""\
# What a repository decides: `{PATH}`

Read from the default branch before every command; a pull request that changes it changes nothing. It may only narrow
what the operator allows. An unknown key, a value of another kind, a name that is not offered: each is told in answer to
the next command, and until it is mended nothing runs. The bot serves the schema at `/gofer.schema.json`
([gofer.schema.json](gofer.schema.json)), for editors that complete and check.

```yaml
# yaml-language-server: $schema=https://YOUR.HOST/gofer.schema.json
ask:
  role: maintain                    # not everyone who may push
default:
  result: pr                        # comments bring a pull request, too
labels:
  agent: ""                         # what the issue says
  write-docs: "Write or mend the documentation that this asks for."
protected_paths: ["migrations/**"]
setup:
  commands: ["cp package*.json /deps/", "cd /deps && npm ci"]
  lockfiles: ["package.json", "package-lock.json"]
allowed_destinations: [npm]
budget: {{minutes: 20, cost_usd: 3}}
```

This page is made by `python -m tests.bot.repo_page` and held true by a test.

| Key | Value | Default | Meaning |
|---|---|---|---|
"""

_KINDS = {"string": "text", "integer": "number", "number": "number", "boolean": "`true`, `false`", "array": "list"}


def keys() -> Iterator[tuple[str, str, str, str]]:
    """Each key with its kind, default and meaning, sections opened up."""
    schema = RepoConfig.model_json_schema()
    yield from _keys(schema, schema["$defs"], "")


def _keys(model: dict[str, Any], parts: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model["properties"].items():
        kind = _shape(field)
        section = parts.get(kind.get("$ref", "").rpartition("/")[2])
        if section is not None:
            yield from _keys(section, parts, f"{prefix}{name}.")
            continue
        default = field.get("default")
        shown = "" if default in (None, [], "") else f"`{json.dumps(default)}`"
        must = "**must be given**" if name in model.get("required", ()) else shown
        yield f"{prefix}{name}", _kind(kind), must, field["description"]


def _shape(field: dict[str, Any]) -> dict[str, Any]:
    """Of what may be left out, what it is where it is given."""
    shapes: list[dict[str, Any]] = field.get("anyOf", [field])
    return next(one for one in shapes if one.get("type") != "null")


def _kind(shape: dict[str, Any]) -> str:
    if "enum" in shape:
        return ", ".join(f"`{one}`" for one in shape["enum"])
    if shape.get("type") == "object":
        return "name: text"
    return _KINDS[shape["type"]]


def page() -> str:
    return HEAD + "".join(f"| `{name}` | {kind} | {default} | {meaning} |\n" for name, kind, default, meaning in keys())


if __name__ == "__main__":
    print(page(), end="")
