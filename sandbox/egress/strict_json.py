"""JSON that everybody reads alike, and small tools to judge it with. Pure; standard library only.

A body that two parsers read differently could be judged as one thing and obeyed as another: so only UTF-8, no name
twice, no NaN, no endless depth. What is refused is refused in words.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NoReturn

from sandbox.egress import shown

# Agents nest a dozen levels (a schema of a tool within tools); parsers of providers give up between 100 and 1,000.
MAX_DEPTH = 64
# Commas and brackets of a body, those in texts too: each may become an object of 60 bytes and more. A conversation of
# 10 MB of source code has half a million.
MAX_VALUES = 1_000_000


class Unfit(Exception):
    """The body is not passed on. ``str()`` is a sentence for the client, ``status`` the HTTP status."""

    def __init__(self, words: str, status: int = 403) -> None:
        super().__init__(words)
        self.status = status


def parsed(data: bytes) -> dict[str, Any]:
    """The one object that ``data`` is. Raises ``Unfit``."""
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise Unfit(f"a body may have {MAX_VALUES} values at most", 413)
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_constant)
    except UnicodeDecodeError:
        raise Unfit("the body must be UTF-8") from None
    except RecursionError:
        raise Unfit(f"the body is nested more than {MAX_DEPTH} levels deep") from None
    except ValueError as error:
        raise Unfit(str(error) if isinstance(error, _Twice) else "the body is no JSON") from None
    if not isinstance(value, dict):
        raise Unfit("the body must be an object")
    _depth(value)
    return value


class _Twice(ValueError):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Twice("the body names something twice")
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError(name)


def _depth(value: Any) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not level:
            return
    raise Unfit(f"the body is nested more than {MAX_DEPTH} levels deep")


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


# -- judging


def words(text: str) -> frozenset[str]:
    """The words of a text, for a table."""
    return frozenset(text.split())


# Under these names a provider finds something elsewhere: an address to fetch, a file or a container that it keeps,
# another server. Only what is in the body itself may be there.
_REFERENCES = words(
    "url uri file_id file_ids file_url image_url audio_url video_url server_url connector_id vector_store_ids container"
    " container_id skill_id mcp_server_name server_label"
)


def only(what: str, given: dict[str, Any], allowed: Collection[str]) -> None:
    """Default deny on names."""
    for name in given:
        if name not in allowed:
            raise Unfit(f"{what} {said(name)} is not allowed from this sandbox")


def one_of(what: str, value: Any, allowed: Collection[str]) -> str:
    """Default deny on a type. ``allowed`` may hold ``""`` for one that is not there (None)."""
    name = "" if value is None else value
    if not isinstance(name, str) or name not in allowed:
        raise Unfit(f"{what} {said(value)} is not allowed from this sandbox")
    return name


def objects(what: str, value: Any) -> Iterator[dict[str, Any]]:
    """The objects of a list; none where it is not there."""
    if value is None:
        return
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise Unfit(f"{what} must be a list of objects")
    yield from value


def object_or_none(what: str, value: Any) -> dict[str, Any]:
    """An object; an empty one where it is not there."""
    if value is not None and not isinstance(value, dict):
        raise Unfit(f"{what} must be an object")
    return value or {}


def no_references(value: Any, free: Collection[str] = ()) -> None:
    """Nothing in ``value`` is to be found elsewhere. What is under a name of ``free`` is the model's or a tool's own
    text, whatever it looks like."""
    if isinstance(value, list):
        for entry in value:
            no_references(entry, free)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name in free:
                continue
            if name in _REFERENCES and not _held(inner):
                raise Unfit(f"{name} is not allowed from this sandbox: only what is in the request itself can be used")
            no_references(inner, free)


def _held(value: Any) -> bool:
    """Nothing, a ``data:`` URL, or an object that is judged itself (``"image_url": {"url": ...}``)."""
    return value is None or isinstance(value, dict) or (isinstance(value, str) and value[:5].lower() == "data:")


def said(value: Any) -> str:
    """A name or type of the client's, fit for a sentence."""
    return f'"{shown.path(value[:64])}"' if isinstance(value, str) else "that is no text"
