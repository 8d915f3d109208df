"""Saying no: to the journal, to the client through its door, and to mitmproxy in each of the forms that it knows."""

from __future__ import annotations

from typing import Any

from mitmproxy import flow as mitm_flow
from mitmproxy import http
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import layer
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.tls import TlsData

from sandbox.egress import shown
from sandbox.egress.door import Door, Doors, listener_of
from sandbox.egress.journal import Journal
from sandbox.egress.policy import Request, Verdict
from sandbox.egress.reach import Upstream

BROKEN = "refused: the policy could not be applied"


def undecided() -> http.Response:
    """What goes out if a hook ends before it has decided."""
    return http.Response.make(403, f"{BROKEN}\n", {"content-type": "text/plain; charset=utf-8"})


class Refusals:
    """All may be called again for the same flow: a door answers once, and a flow that is killed stays so."""

    def __init__(self, journal: Journal, doors: Doors) -> None:
        self._journal, self._doors = journal, doors

    def request(self, flow: http.HTTPFlow, request: Request, verdict: Verdict, *, told: bool = False) -> None:
        """A request or CONNECT; also one that the policy allows where something else is missing. ``told``: it has
        been counted before."""
        status, reason = (403, BROKEN) if verdict.allowed else (verdict.status, verdict.reason)
        if not told:
            self.tell(request, Verdict(False, status, reason, verdict.host))
        self.kill(flow, status, reason)

    def tell(self, request: Request, verdict: Verdict) -> None:
        """To the journal alone."""
        method, path = shown.method(request.method), shown.path(request.target)
        self._say(request.listener, method, verdict.host, path, verdict.reason, verdict.status)

    def none(self, request: Request, verdict: Verdict, upstream: Upstream) -> None:
        """The other verdict, told in the same way: this one goes out."""
        self._journal.verdict(
            allowed=True, listener=request.listener, method=request.method, host=upstream.host,
            path=verdict.target, reason="", status=0,
        )  # fmt: skip

    def body(self, flow: http.HTTPFlow, listener: str, upstream: Upstream, reason: str, status: int = 413) -> None:
        """The rest of a request that was allowed. Ending the connection is the caller's."""
        path = shown.path(flow.request.path) if listener == "model" else ""
        self._say(listener, "BODY", upstream.host, path, reason, status)
        if (door := self.door(flow)) is not None:
            door.refuse(status, reason)

    def dial(self, data: ServerConnectionHookData, upstream: Upstream, reason: str) -> None:
        """A connection to the upstream of a request that was allowed."""
        data.server.error = reason
        name = data.client.peername
        self._say(listener_of(name), "DIAL", upstream.host, "", reason, 502)
        if (door := self._doors.get(name)) is not None:
            door.refuse(502, reason)

    def failed(self, flow: http.HTTPFlow, upstream: Upstream) -> None:
        """An exchange that was allowed and broke. mitmproxy's own page would quote what the upstream sent, and with it
        whatever that echoes: it must not go out."""
        if (door := self.door(flow)) is not None:
            door.fail(502, f"{upstream.host} could not be reached, or did not answer as HTTP/1.1 demands")

    def _say(self, listener: str, method: str, host: str, path: str, reason: str, status: int) -> None:
        self._journal.verdict(
            allowed=False, listener=listener, method=method, host=host, path=path, reason=reason, status=status
        )

    def kill(self, flow: http.HTTPFlow, status: int = 403, reason: str = BROKEN) -> None:
        """Answer through the door, then let mitmproxy close; where there is no door, closing is the answer."""
        flow.request.stream = False
        writable = flow.client_conn.state & ConnectionState.CAN_WRITE
        if writable and (door := self.door(flow)) is not None:
            door.refuse(status, reason, head=flow.request.method == "HEAD")
        flow.error = mitm_flow.Error(mitm_flow.Error.KILLED_MESSAGE)

    def whatever(self, data: Any) -> None:
        """The argument of any hook, where the policy could not be applied to it."""
        name: Any = None
        if isinstance(data, ServerConnectionHookData):
            data.server.error, name = BROKEN, data.client.peername
        elif isinstance(data, TlsData):
            data.ssl_conn, name = None, data.context.client.peername
        elif isinstance(data, layer.NextLayer):
            data.layer, name = None, data.context.client.peername
        elif isinstance(data, http.HTTPFlow):
            self.kill(data)
        elif isinstance(data, mitm_flow.Flow):
            data.error = mitm_flow.Error(mitm_flow.Error.KILLED_MESSAGE)
            name = data.client_conn.peername
        if (door := self._doors.get(name)) is not None:
            door.refuse(403, BROKEN)

    def door(self, flow: http.HTTPFlow) -> Door | None:
        """The connection that this came on; None where it has ended."""
        return self._doors.get(flow.client_conn.peername)
