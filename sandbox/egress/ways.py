"""The connection to an upstream: to it, or through the operator's own proxy to whatever is not private.

Through a proxy the name of the upstream is resolved there and not here: what is vetted here is the proxy's address.
TLS with the upstream is verified inside the tunnel as it is without one; the proxy's own CA is trusted beside.
"""

from __future__ import annotations

from typing import Any

from mitmproxy import http
from mitmproxy.connection import Server
from mitmproxy.net.server_spec import ServerSpec
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.tls import TlsData

from sandbox.egress import general, tls
from sandbox.egress.credentials import Credentials, Outgoing
from sandbox.egress.dial import PinnedLoop
from sandbox.egress.door import listener_of
from sandbox.egress.reach import Upstream


class Ways:
    """Of all clients: one at a time each, for a client's next request waits for the one before."""

    def __init__(
        self, proxy: Upstream | None, credentials: Credentials, loop: PinnedLoop, ca_files: dict[str, str]
    ) -> None:
        self._proxy, self._credentials = proxy, credentials
        self._loop, self._ca_files = loop, ca_files
        self._taken: dict[str, Upstream] = {}

    def take(self, flow: http.HTTPFlow, upstream: Upstream) -> None:
        """A request was allowed to this upstream: its client may dial it, and nothing else."""
        if (proxy := self._via(upstream)) is not None:
            spec: ServerSpec = ("https" if proxy.tls else "http", (proxy.host, proxy.port))
            flow.server_conn.via = spec
        self._taken[flow.client_conn.id] = upstream

    def drop(self, client: Any) -> None:
        self._taken.pop(client.id, None)

    def of(self, client: Any) -> Upstream | None:
        return self._taken.get(client.id)

    async def pin(self, data: ServerConnectionHookData, upstream: Upstream) -> None:
        """Vet this one dial. Raises ``ValueError`` for another one, ``dial.Refused`` with a sentence."""
        first = self._via(upstream) or upstream
        server = data.server
        if server.address != (first.host, first.port) or server.via is not None or server.transport_protocol != "tcp":
            raise ValueError("this destination was not approved")
        await self._loop.pin(first.host, first.port, private=first.private)

    def connect(self, flow: http.HTTPFlow) -> None:
        """What the operator's proxy is asked: a tunnel to the upstream, with the proxy's credential."""
        upstream = self._taken[flow.client_conn.id]
        if self._via(upstream) is None or (flow.request.host, flow.request.port) != (upstream.host, upstream.port):
            raise ValueError("this destination was not approved")
        target = f"[{upstream.host}]" if ":" in upstream.host else upstream.host
        host = ((b"host", f"{target}:{upstream.port}".encode("ascii")),)
        outgoing = Outgoing("CONNECT", upstream.host, "", host)
        flow.request.headers = http.Headers(self._credentials.set_on("proxy", outgoing))

    def start_tls(self, data: TlsData) -> None:
        """With the upstream, or with a proxy that itself speaks TLS."""
        client = data.context.client
        upstream = self._taken[client.id]
        proxy = self._via(upstream)
        with_proxy = (
            isinstance(data.conn, Server) and proxy is not None and data.conn.address == (proxy.host, proxy.port)
        )
        if proxy is not None and proxy.tls and with_proxy:
            data.ssl_conn = tls.connection(proxy, self._ca_files["proxy"])
            return
        listener = listener_of(client.peername)
        name = general.key(upstream) if listener in general.LISTENERS else listener
        data.ssl_conn = tls.connection(upstream, self._ca_files[name])

    def _via(self, upstream: Upstream) -> Upstream | None:
        return None if upstream.private else self._proxy
