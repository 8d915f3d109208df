"""What an operator may write in his list of allowed destinations: presets by name, or exact hosts. Pure.

A registry's name is held here as its labels, in the order they are judged and joined where a destination is made: a
destination is compared label by label (as a whole, never by its end), and no line of this project can be mistaken for
an address that it fetches from by itself.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from sandbox.settings import Destination

Grammar = Literal["plain", "npm", "go", "debian"]
Labels = tuple[str, ...]

_LABELS: Mapping[str, tuple[Grammar, tuple[Labels, ...]]] = {
    "npm": ("npm", (("registry", "npmjs", "org"),)),
    "pypi": ("plain", (("pypi", "org"), ("files", "pythonhosted", "org"))),
    "crates": ("plain", (("index", "crates", "io"), ("static", "crates", "io"))),
    "go": ("go", (("proxy", "golang", "org"), ("sum", "golang", "org"))),
    "debian": ("debian", (("deb", "debian", "org"), ("security", "debian", "org"))),
}
PRESETS = tuple(_LABELS)

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})+")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_MAX_NAME_CHARS = 253


def preset(name: str) -> tuple[Destination, ...]:
    """The destinations of a preset. Raises ``KeyError`` for one that is not known."""
    grammar, hosts = _LABELS[name]
    return tuple(Destination(host=".".join(labels), grammar=grammar) for labels in hosts)


def parse(words: str, *, private: Iterable[str] = (), ca_pem: str = "") -> tuple[Destination, ...]:
    """An operator's list, separated by commas or white space, each entry a preset's name or an exact ``HOST[:PORT]``.

    ``private`` are those of the entries (as written) that may resolve to private addresses, and may be addresses;
    ``ca_pem`` is trusted for them and for no other. Twice the same is once. Raises ``ValueError`` that names the entry
    and what is wrong with it.
    """
    inner, entries = set(private), [entry for entry in re.split(r"[\s,]+", words) if entry]
    if unknown := sorted(inner - set(entries)):
        raise ValueError(f"{unknown[0]} is said to be private and is not in the list")
    found: dict[tuple[str, int], Destination] = {}
    for entry in entries:
        for destination in _entry(entry, entry in inner, ca_pem):
            found.setdefault((destination.host, destination.port), destination)
    return tuple(found.values())


def among(names: Iterable[str], allowed: Iterable[Destination]) -> tuple[Destination, ...]:
    """Those of ``allowed`` that one of ``names`` means, each as the operator has it. A name that means none of them, or
    nothing at all, adds nothing."""
    wanted: set[tuple[str, int]] = set()
    for name in names:
        if name in _LABELS:
            wanted |= {(one.host, one.port) for one in preset(name)}
            continue
        try:
            wanted.add(_split(name))
        except ValueError:
            continue
    return tuple(place for place in allowed if (place.host, place.port) in wanted)


def _entry(entry: str, private: bool, ca_pem: str) -> tuple[Destination, ...]:
    if entry in _LABELS and not private:
        return preset(entry)
    host, port = _split(entry)
    if why := _wrong(host, private):
        raise ValueError(f"{entry}: {why}")
    return (Destination(host=host, port=port, private=private, ca_pem=ca_pem if private else ""),)


def _split(entry: str) -> tuple[str, int]:
    if "://" in entry or "/" in entry or "@" in entry:
        raise ValueError(f"{entry}: a host is wanted, as in HOST or HOST:PORT, and no address of a page")
    matched = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(?::([0-9]{1,5}))?", entry)
    if matched is None:
        raise ValueError(f"{entry}: this is neither a preset ({', '.join(PRESETS)}) nor HOST or HOST:PORT")
    port = int(matched[2] or 443)
    if not 0 < port < 65536:
        raise ValueError(f"{entry}: there is no such port")
    return matched[1].removeprefix("[").removesuffix("]"), port


def _wrong(host: str, private: bool) -> str:
    """Why this is no host that can be allowed, in words; empty where it is."""
    if "*" in host:
        return "wildcards are not possible, name each host"
    try:
        plain = str(ipaddress.ip_address(host)) == host and "%" not in host
    except ValueError:
        pass
    else:
        if not plain:
            return "an address is written in its plain form here"
        return "" if private else "an address can be allowed only where it is private"
    if host != host.lower():
        return "host names are written in lower case here"
    if len(host) <= _MAX_NAME_CHARS and _NAME.fullmatch(host) and not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return ""
    if private and re.fullmatch(_LABEL, host) and not _NUMBER.fullmatch(host):
        return ""
    if "." not in host:
        return f"this is neither a preset ({', '.join(PRESETS)}) nor a host's full name"
    return "this is no host name"
