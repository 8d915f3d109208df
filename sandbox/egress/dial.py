"""The last veto: this process can resolve and dial nothing but what was vetted for one dial of a pinned upstream."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

from sandbox.egress.address import refusal

# A resolver that does not answer must not hold a request for its whole life.
RESOLVE_SECONDS = 10
# Addresses of one name that are tried; more is nobody's real answer.
MAX_ADDRESSES = 16


class Refused(OSError):
    """``str()`` is a sentence without secrets, fit for the client."""


class PinnedLoop(asyncio.SelectorEventLoop):
    """An event loop whose name lookups are a table and whose connections go to addresses of that table.

    ``pin`` asks the system's resolver once and vets every address it gave; what is dialled afterwards is what was
    vetted, so a name that changes its mind in between (rebinding) changes nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pinned: dict[tuple[str, int], list[str]] = {}

    async def pin(self, host: str, port: int, *, private: bool) -> None:
        """Allow dials of this one (host, port). Raises ``Refused``; the name then leads nowhere at all."""
        self._pinned.pop((host, port), None)
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                found = await super().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, TimeoutError, UnicodeError):
            raise Refused(f"{host} cannot be resolved") from None
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))[:MAX_ADDRESSES]
        if not addresses:
            raise Refused(f"{host} cannot be resolved")
        for address in addresses:
            if why := refusal(address, private=private):
                raise Refused(f"{host} leads to an address that is not dialled: {why}")
        self._pinned[host, port] = addresses

    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[Any]:
        """The table, nothing else: no lookup leaves the container for a name that was not just pinned."""
        addresses = self._pinned.get((str(host), int(port)))
        if addresses is None:
            raise Refused("this name was not approved")
        return [_entry(address, int(port)) for address in addresses]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        if not self._vetted(address):
            raise Refused("this address was not approved")
        await super().sock_connect(sock, address)

    def _vetted(self, address: Sequence[Any]) -> bool:
        return any(address[1] == port and address[0] in found for (_, port), found in self._pinned.items())


def _entry(address: str, port: int) -> tuple[Any, ...]:
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
