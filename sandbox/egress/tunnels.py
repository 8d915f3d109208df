"""The inside of a CONNECT: TLS that ends here, and then HTTP/1.1. The hooks that mitmproxy has for that, and no other.

Nothing is dialled for a tunnel. What comes inside is judged by the same hooks as every other request (addon.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mitmproxy import http
from mitmproxy.proxy import layer
from mitmproxy.proxy.layers import ClientTLSLayer, HttpLayer
from mitmproxy.proxy.layers.http import HTTPMode, HttpStream
from mitmproxy.tls import ClientHelloData, TlsData

from sandbox.egress import inside
from sandbox.egress.ca import Authority
from sandbox.egress.closed import closed
from sandbox.egress.door import MAX_CONNECTIONS, Doors
from sandbox.egress.refusing import Refusals
from sandbox.egress.request import Request, Verdict, refused

# npm holds 15 connections a host, pip and git a few. The rest stays free for the model.
MAX_TUNNELS = MAX_CONNECTIONS - 16
# A handshake takes milliseconds; on a machine that thrashes, seconds. A tunnel without one is of no use to anybody.
HANDSHAKE_SECONDS = 20.0
# Content type of a TLS record that carries a handshake (RFC 8446, 5.1).
_HANDSHAKE = 0x16


@dataclass
class Tunnel:
    """One accepted CONNECT. ``allowed``: its destination is, so that a failure is told; of others the CONNECT was."""

    request: Request
    allowed: bool
    overdue: asyncio.TimerHandle


class Tunnels:
    """All tunnels of one sandbox, by the client connection that each has for itself."""

    def __init__(
        self, authority: Authority, doors: Doors, refusals: Refusals, shut: Callable[[Any, Exception], None]
    ) -> None:
        self.authority = authority
        self._doors, self._refusals, self._shut = doors, refusals, shut
        self._open: dict[str, Tunnel] = {}

    def shut(self, data: Any, error: Exception) -> None:
        self._shut(data, error)

    def begin(self, flow: http.HTTPFlow, request: Request, verdict: Verdict, *, allowed: bool) -> Verdict:
        """Take a CONNECT that the policy accepted. One to where nothing may be asked of is counted here and now:
        its client may never come to ask. Returns the last word on it."""
        door = self._refusals.door(flow)
        if door is None or flow.client_conn.id in self._open:
            return refused(verdict.host, 403, "a tunnel inside a tunnel is not possible from this sandbox")
        if len(self._open) >= MAX_TUNNELS:
            return refused(verdict.host, 503, "too many connections from this sandbox")
        if not allowed:
            self._refusals.tell(
                request, refused(verdict.host, 403, f"{verdict.host} is not reachable from this sandbox")
            )
        overdue = asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, door.cut)
        self._open[flow.client_conn.id] = Tunnel(request, allowed, overdue)
        return verdict

    def told(self, client: Any) -> bool:
        """Whether what is refused in this tunnel has been counted at its CONNECT already."""
        tunnel = self._open.get(client.id)
        return tunnel is not None and not tunnel.allowed

    def inside(self, data: layer.NextLayer) -> layer.Layer | None:
        """TLS from the tunnel's first byte, HTTP/1.1 in it. None, and the end of it, for anything else."""
        tunnel, below = self._open[data.context.client.id], data.context.layers[-1]
        if isinstance(below, ClientTLSLayer):
            return HttpLayer(data.context, HTTPMode.transparent)
        first: bytes = data.data_client()  # type: ignore[no-untyped-call]
        if isinstance(below, HttpStream) and first[:1] == bytes([_HANDSHAKE]):
            return ClientTLSLayer(data.context)
        self._failed(tunnel, "only TLS is spoken in a tunnel")
        self._end(data.context.client)
        return None

    # -- hooks

    @closed
    def http_connected(self, flow: http.HTTPFlow) -> None:
        """Right before the client is told that its tunnel stands. Not where there is none, and never inside one."""
        if flow.client_conn.id not in self._open or flow.client_conn.tls:
            raise ValueError("a tunnel that was not accepted")

    @closed
    def tls_clienthello(self, data: ClientHelloData) -> None:
        if data.context.client.id not in self._open or data.ignore_connection or data.establish_server_tls_first:
            raise ValueError("TLS outside a tunnel")

    @closed
    def tls_start_client(self, data: TlsData) -> None:
        """As the host of the CONNECT, whatever name the client says: a request for another one is refused inside."""
        tunnel = self._open[data.context.client.id]
        data.ssl_conn = inside.connection(self.authority, tunnel.request.host.lower())

    @closed
    def tls_established_client(self, data: TlsData) -> None:
        tunnel, door = self._open[data.context.client.id], self._doors.get(data.context.client.peername)
        if door is None or data.ssl_conn is None:
            raise ValueError("TLS without a connection")
        tunnel.overdue.cancel()
        door.seal = inside.Seal(data.ssl_conn)

    @closed
    def tls_failed_client(self, data: TlsData) -> None:
        if (tunnel := self._open.get(data.context.client.id)) is not None:
            self._failed(tunnel, "TLS did not come about; does the client trust this sandbox's certificate?")
        self._end(data.context.client)

    @closed
    def client_disconnected(self, client: Any) -> None:
        if (tunnel := self._open.pop(client.id, None)) is not None:
            tunnel.overdue.cancel()

    def _failed(self, tunnel: Tunnel, reason: str) -> None:
        if tunnel.allowed:
            self._refusals.tell(tunnel.request, refused(tunnel.request.host.lower(), 403, reason))

    def _end(self, client: Any) -> None:
        if (door := self._doors.get(client.peername)) is not None:
            door.cut()
