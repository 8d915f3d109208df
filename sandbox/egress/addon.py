"""The mitmproxy addon: asks the policy, and makes sure that nothing happens without its yes.

mitmproxy is made to look into traffic, so by itself it lets everything through, also after a hook has raised. Here
every hook is wrapped (an exception is a refusal), a request carries a refusal until the last check has passed, and
what was allowed is asked for again where the connection is made.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

from mitmproxy import flow as mitm_flow
from mitmproxy import http
from mitmproxy.connection import ConnectionState
from mitmproxy.proxy import layer
from mitmproxy.proxy.layers import HttpLayer, modes
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.tls import TlsData

from sandbox.egress import headers, policy, tls
from sandbox.egress.answer import Answer
from sandbox.egress.dial import PinnedLoop, Refused
from sandbox.egress.door import Door, Doors
from sandbox.egress.journal import Journal
from sandbox.egress.policy import Policy, Request, Verdict
from sandbox.egress.scrub import Scrubber

# EX_SOFTWARE: not even refusing worked. No proxy is better than one that nobody controls.
EXIT_BROKEN = 70
BROKEN = "refused: the policy could not be applied"


def closed(hook: Callable[[Egress, Any], Any]) -> Callable[[Egress, Any], Any]:
    """An exception in a hook becomes a refusal of whatever the hook was asked about."""
    if inspect.iscoroutinefunction(hook):

        @functools.wraps(hook)
        async def later(self: Egress, data: Any) -> None:
            try:
                await hook(self, data)
            except Exception as error:
                self.shut(data, error)

        return later

    @functools.wraps(hook)
    def at_once(self: Egress, data: Any) -> None:
        try:
            hook(self, data)
        except Exception as error:
            self.shut(data, error)

    return at_once


class TooLong(Exception):
    """A request body above its bound."""


class Allowed:
    """What is remembered of one allowed request until it ends."""

    def __init__(self, listener: str, upstream: policy.Upstream, body_bytes: int, *, is_answer: bool) -> None:
        self.listener = listener
        self.upstream = upstream
        self.rule_bytes = self.body_left = body_bytes
        self.is_answer = is_answer
        """Its response counts as an answer of the model (counting tokens is none)."""
        self.answer: Answer | None = None


class Egress:
    """One sandbox's way out. All hooks run in one event loop; nothing here is shared with another sandbox."""

    def __init__(
        self,
        rules: Policy,
        credentials: headers.Credentials,
        journal: Journal,
        doors: Doors,
        loop: PinnedLoop,
        ca_files: dict[str, str],
    ) -> None:
        self._policy = rules
        self._credentials = credentials
        self._journal = journal
        self._doors = doors
        self._loop = loop
        self._ca_files = ca_files
        self._allowed: dict[str, Allowed] = {}
        self._dials: dict[str, policy.Upstream] = {}

    def drop_fetch(self) -> None:
        """Forget the fetch token and refuse everything on the git listener from now on; repeatable."""
        self._credentials.drop("git")
        self._policy = dataclasses.replace(self._policy, git=None)
        self._doors.cut_all("git")

    # -- the way in

    @closed
    def next_layer(self, data: layer.NextLayer) -> None:
        """Plain HTTP/1.1 and nothing else, so nothing has to be guessed from the first bytes."""
        below = data.context.layers[-1] if data.context.layers else None
        if isinstance(below, modes.ReverseProxy):
            data.layer = HttpLayer(data.context, HTTPMode.transparent)
        elif isinstance(below, modes.HttpProxy):
            data.layer = HttpLayer(data.context, HTTPMode.regular)
        else:
            raise ValueError("no other layer is known here")

    @closed
    def http_connect(self, flow: http.HTTPFlow) -> None:
        flow.response = _refusal()
        request = Request(_listener(flow), "CONNECT", "", host=flow.request.host, scheme="", absolute=True)
        self._refuse(flow, request, policy.decide(self._policy, request))

    @closed
    def requestheaders(self, flow: http.HTTPFlow) -> None:
        flow.response = _refusal()
        if (door := self._door(flow)) is not None:
            door.head_seen()
        request = _request(flow)
        verdict = policy.decide(self._policy, request)
        if flow.error is not None:
            verdict = Verdict(False, 400, "this is no HTTP request that can be understood", verdict.host)
        upstream = self._policy.upstream(request.listener)
        if not verdict.allowed or upstream is None or door is None:
            self._refuse(flow, request, verdict)
            return
        allowed = Allowed(
            request.listener,
            upstream,
            policy.body_limit(self._policy, request),
            is_answer=verdict.target.partition("?")[0].endswith("/v1/messages"),
        )
        self._rewrite(flow, request, verdict, allowed)
        self._journal.verdict(
            allowed=True, listener=request.listener, method=request.method, host=upstream.host,
            path=verdict.target, reason="", status=0,
        )  # fmt: skip
        self._allowed[flow.id] = allowed
        self._dials[flow.client_conn.id] = upstream
        flow.response = None

    def _rewrite(self, flow: http.HTTPFlow, request: Request, verdict: Verdict, allowed: Allowed) -> None:
        """Build the request anew from what was judged."""
        upstream = allowed.upstream
        kept = headers.sent(request.listener, flow.request.headers.fields, upstream.authority)
        flow.request.headers = http.Headers([*kept, *self._credentials.set_on(request.listener)])
        data = flow.request.data
        data.method, data.path, data.authority = request.method.encode(), verdict.target.encode(), b""
        data.host, data.port = upstream.host, upstream.port
        data.scheme = b"https" if upstream.tls else b"http"
        data.http_version = b"HTTP/1.1"
        flow.request.stream = self._counted(flow, allowed)

    def _counted(self, flow: http.HTTPFlow, allowed: Allowed) -> Callable[[bytes], bytes]:
        """The body goes on as it comes; above its bound the connection ends, and upstream sees half a request.

        Raising is what ends it: mitmproxy stops in the middle of what it was doing, so not even an end of the body
        that has come already goes upstream.
        """

        def count(chunk: bytes) -> bytes:
            allowed.body_left -= len(chunk)
            if allowed.body_left >= 0 or not chunk:
                return chunk
            reason = f"a body may have {allowed.rule_bytes} bytes at most"
            self._say(allowed.listener, "BODY", allowed.upstream.host, "", reason, 413)
            if (door := self._door(flow)) is not None:
                door.refuse(413, reason)
            raise TooLong

        return count

    @closed
    def request(self, flow: http.HTTPFlow) -> None:
        """Before a request without a body is sent, and after one with a body has been."""
        if (door := self._door(flow)) is not None:
            door.body_seen()
        if flow.id not in self._allowed or flow.response is not None:
            self._kill(flow)

    # -- the way out

    @closed
    async def server_connect(self, data: ServerConnectionHookData) -> None:
        """Only the very upstream that a request of this client was allowed to; its name is resolved once, here."""
        data.server.error = BROKEN
        upstream = self._dials.get(data.client.id)
        exact = (
            upstream is not None
            and data.server.address == (upstream.host, upstream.port)
            and data.server.via is None
            and data.server.transport_protocol == "tcp"
        )
        if upstream is None or not exact:
            raise ValueError("this destination was not approved")
        try:
            await self._loop.pin(upstream.host, upstream.port, private=upstream.private)
        except Refused as error:
            self._refuse_dial(data, upstream, str(error))
            return
        data.server.error = None

    def _refuse_dial(self, data: ServerConnectionHookData, upstream: policy.Upstream, reason: str) -> None:
        data.server.error = reason
        name = data.client.peername
        self._say(_named(name), "DIAL", upstream.host, "", reason, 502)
        if (door := self._doors.get(name)) is not None:
            door.refuse(502, reason)

    @closed
    def tls_start_server(self, data: TlsData) -> None:
        upstream = self._dials[data.context.client.id]
        data.ssl_conn = tls.connection(upstream, self._ca_files[_named(data.context.client.peername)])

    # -- the way back

    @closed
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        allowed, response = self._allowed[flow.id], flow.response
        if response is None:
            raise ValueError("a response that is none")
        if why := _unwanted(response):
            self._end(flow, framed=False)
            self._kill(flow, 502, f"{allowed.upstream.host} {why}")
            return
        scrubber = Scrubber(self._credentials.masked())
        response.headers = http.Headers(
            [(name, scrubber.whole(value)) for name, value in headers.answered(response.headers.fields)]
        )
        response.data.reason = scrubber.whole(response.data.reason)
        if allowed.listener == "git" and response.status_code == 401:
            response.status_code = 403  # git would ask for a password that nobody is there to give
        if allowed.is_answer:
            allowed.answer = Answer(response.status_code, response.headers.get("content-type", ""))
        response.stream = self._passed(flow, scrubber, allowed.answer)

    def _passed(self, flow: http.HTTPFlow, scrubber: Scrubber, answer: Answer | None) -> Callable[[bytes], list[bytes]]:
        """Every chunk goes on at once, without our secrets. mitmproxy ends with an empty one.

        Nothing is a list of nothing here: mitmproxy would write an empty chunk, and that ends a chunked body.
        """

        def pass_on(chunk: bytes) -> list[bytes]:
            try:
                if answer is not None:
                    answer.feed(chunk)
                clean = scrubber.feed(chunk) if chunk else scrubber.finish()
                return [clean] if clean else []
            except Exception as error:
                self.shut(flow, error)
                return []

        return pass_on

    @closed
    def response(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None:
            flow.response.trailers = None
        self._end(flow, framed=True)

    @closed
    def error(self, flow: http.HTTPFlow) -> None:
        self._end(flow, framed=False)

    def _end(self, flow: http.HTTPFlow, *, framed: bool) -> None:
        """The request is over, one way or another. Only the first call counts."""
        allowed = self._allowed.pop(flow.id, None)
        if allowed is None or not allowed.is_answer:
            return
        status = flow.response.status_code if flow.response is not None else 0
        answer = allowed.answer or Answer(status, "")
        self._journal.answer(
            listener=allowed.listener, status=answer.status, complete=answer.complete(framed=framed), count=answer.count
        )

    @closed
    def client_disconnected(self, client: Any) -> None:
        self._dials.pop(client.id, None)

    # -- what cannot happen, and does not

    @closed
    def never(self, data: Any) -> None:
        """Raw TCP, UDP, DNS, WebSocket, QUIC, TLS from a client: there is no layer for them."""
        raise ValueError("this protocol is not spoken here")

    tcp_start = tcp_message = udp_start = udp_message = dns_request = never
    websocket_start = websocket_message = socks5_auth = never
    tls_clienthello = tls_start_client = quic_start_client = quic_start_server = never
    http_connect_upstream = http_connected = never

    # -- refusing

    def _refuse(self, flow: http.HTTPFlow, request: Request, verdict: Verdict) -> None:
        status, reason = (403, BROKEN) if verdict.allowed else (verdict.status, verdict.reason)
        method, path = policy.shown_method(request.method), policy.shown_path(request.target)
        self._say(request.listener, method, verdict.host, path, reason, status)
        self._kill(flow, status, reason)

    def _say(self, listener: str, method: str, host: str, path: str, reason: str, status: int) -> None:
        self._journal.verdict(
            allowed=False, listener=listener, method=method, host=host, path=path, reason=reason, status=status
        )

    def _kill(self, flow: http.HTTPFlow, status: int = 403, reason: str = BROKEN) -> None:
        """Answer through the door, then let mitmproxy close; where there is no door, closing is the answer."""
        flow.request.stream = False
        writable = flow.client_conn.state & ConnectionState.CAN_WRITE
        if writable and (door := self._door(flow)) is not None:
            door.refuse(status, reason, head=flow.request.method == "HEAD")
        flow.error = mitm_flow.Error(mitm_flow.Error.KILLED_MESSAGE)

    def shut(self, data: Any, error: Exception) -> None:
        """Refuse because something failed. Where even that fails, the process ends, and with it the way out."""
        try:
            self._journal.trouble("hook", type(error).__name__)
            self._shut(data)
        except Exception:
            os._exit(EXIT_BROKEN)

    def _shut(self, data: Any) -> None:
        name: Any = None
        if isinstance(data, ServerConnectionHookData):
            data.server.error, name = BROKEN, data.client.peername
        elif isinstance(data, TlsData):
            data.ssl_conn, name = None, data.context.client.peername
        elif isinstance(data, layer.NextLayer):
            data.layer, name = None, data.context.client.peername
        elif isinstance(data, http.HTTPFlow):
            self._allowed.pop(data.id, None)
            self._kill(data)
        elif isinstance(data, mitm_flow.Flow):
            data.error = mitm_flow.Error(mitm_flow.Error.KILLED_MESSAGE)
            name = data.client_conn.peername
        if (door := self._doors.get(name)) is not None:
            door.refuse(403, BROKEN)

    def _door(self, flow: http.HTTPFlow) -> Door | None:
        return self._doors.get(flow.client_conn.peername)


def _listener(flow: http.HTTPFlow) -> str:
    return _named(flow.client_conn.peername)


def _named(peername: Any) -> str:
    """A client's peer name is its door's: (listener, number)."""
    return str(peername[0])


def _refusal() -> http.Response:
    """What goes out if a hook ends before it has decided."""
    return http.Response.make(403, f"{BROKEN}\n", {"content-type": "text/plain; charset=utf-8"})


def _request(flow: http.HTTPFlow) -> Request:
    """What the policy judges: bytes as they came, one character a byte."""
    data, fields = flow.request.data, flow.request.headers
    length = fields.get("content-length", "")
    return Request(
        listener=_listener(flow),
        method=data.method.decode("latin-1"),
        target=data.path.decode("latin-1"),
        host=flow.request.host,
        scheme=data.scheme.decode("latin-1"),
        absolute=data.authority != b"",
        version=data.http_version.decode("latin-1"),
        upgrade="upgrade" in fields or "http2-settings" in fields,
        has_body="transfer-encoding" in fields or length not in ("", "0"),
        length=int(length) if length.isdecimal() else None,
        content_type=fields.get("content-type", ""),
        content_encoding=fields.get("content-encoding", "") or _hidden(fields.get("transfer-encoding", "")),
    )


def _hidden(transfer_encoding: str) -> str:
    """``gzip, chunked`` is an encoded body under another header's name."""
    return "" if transfer_encoding.lower() == "chunked" else transfer_encoding


def _unwanted(response: http.Response) -> str:
    """Why this response is not passed on, in words; empty where it is."""
    if response.status_code < 200:
        return "wanted to change the protocol, which is not possible from this sandbox"
    if 300 <= response.status_code < 400:
        return "answered with a redirect, which is not followed from this sandbox"
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        return "encoded its answer although it was asked not to, so it cannot be checked for secrets"
    return ""
