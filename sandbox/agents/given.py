"""Copies of instruction files that an agent reads instead of the repository's own. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def first(given: Mapping[str, bytes], names: Iterable[str], target: str) -> Mapping[str, bytes]:
    """The first of the names that is there and not blank, as ``target``; nothing where none is."""
    found = next((given[name] for name in names if given.get(name, b"").strip()), None)
    return {} if found is None else {target: found}
