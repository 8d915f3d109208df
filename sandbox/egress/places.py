"""The destinations that the operator allows beside model and repository: his words, parsed. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# One name, one spelling: lower case, no dot at the end.
_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*")
# What some resolvers take for an address although it looks like a name: 127.1, 0x7f000001.
_NUMBER = re.compile(r"([0-9]+|0x[0-9a-f]*)")
MAX_NAME_CHARS = 253
GRAMMARS = ("plain", "npm", "go", "debian")
# An operator's list is presets and a handful of hosts; each costs a file of CA certificates at most.
MAX_ALLOWED = 64


@dataclass(frozen=True, slots=True)
class Place:
    """One allowed destination, always https."""

    host: str
    port: int
    grammar: str = "plain"
    private: bool = False
    ca_pem: str = ""


@dataclass(frozen=True, slots=True)
class General:
    """What the listeners ``general`` and ``setup`` may reach. Empty: nothing."""

    allowed: Mapping[tuple[str, int], Place] = field(default_factory=dict)
    setup: bool = False
    """The setup listener is open."""
    seconds: int = 0
    """How long the task may take: its certificates must hold out."""

    def place(self, host: str, port: int) -> Place | None:
        return self.allowed.get((host, port))


def is_name(host: str) -> bool:
    """A DNS name in its one spelling, which no resolver takes for an address. A certificate can be made for it."""
    last = host.rpartition(".")[2]
    return len(host) <= MAX_NAME_CHARS and bool(_NAME.fullmatch(host)) and not _NUMBER.fullmatch(last)


def is_address(host: str) -> bool:
    """An address in its one spelling; none of one link alone."""
    if "%" in host:
        return False
    try:
        return str(ipaddress.ip_address(host)) == host
    except ValueError:
        return False


def parse(given: Any) -> General:
    """``{"allowed": [...], "setup": bool}`` and, where it is known, ``seconds``. Raises ``ValueError`` for anything
    unknown, missing or ambiguous."""
    if not isinstance(given, dict) or not {"allowed", "setup"} <= set(given) <= {"allowed", "setup", "seconds"}:
        raise ValueError("general must have exactly: allowed, setup (and may have seconds)")
    allowed, setup, seconds = given["allowed"], given["setup"], given.get("seconds", 0)
    if not isinstance(allowed, list) or len(allowed) > MAX_ALLOWED or not isinstance(setup, bool):
        raise ValueError(f"general.allowed is a list of {MAX_ALLOWED} at most, general.setup true or false")
    if type(seconds) is not int or seconds < 0:
        raise ValueError("general.seconds is a number of seconds")
    places = [_place(entry) for entry in allowed]
    table = {(place.host, place.port): place for place in places}
    if len(table) != len(places):
        raise ValueError("general.allowed names a destination twice")
    return General(table, setup, seconds)


def _place(given: Any) -> Place:
    if not isinstance(given, dict) or set(given) != {"host", "port", "private", "ca_pem", "grammar"}:
        raise ValueError("each of general.allowed must have exactly: host, port, private, ca_pem, grammar")
    host, port, private, ca_pem = given["host"], given["port"], given["private"], given["ca_pem"]
    if not isinstance(private, bool) or not isinstance(ca_pem, str) or not isinstance(host, str):
        raise ValueError("general.allowed: host and ca_pem are text, private is true or false")
    if type(port) is not int or not 0 < port < 65536:
        raise ValueError("general.allowed: port is a number from 1 to 65535")
    if given["grammar"] not in GRAMMARS:
        raise ValueError(f"general.allowed: grammar is one of {', '.join(GRAMMARS)}")
    if not (is_name(host) or (private and is_address(host))):
        raise ValueError("general.allowed: host is a DNS name in lower case (an address only where it is private)")
    return Place(host, port, given["grammar"], private, ca_pem)
