"""The mitmproxy addon: asks the policy, and makes sure that nothing happens without its yes.

mitmproxy is made to look into traffic, so by itself it lets everything through, also after a hook has raised. Here
every hook is wrapped (an exception is a refusal), a request carries a refusal until the last check has passed, and
what was allowed is asked for again where the connection is made.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

from mitmproxy import http
from mitmproxy.proxy import layer
from mitmproxy.proxy.layers import HttpLayer, modes
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from mitmproxy.tls import TlsData

from sandbox.egress import answering, asked, general, policy, redirects
from sandbox.egress.allowed import Allowed
from sandbox.egress.ca import Authority
from sandbox.egress.closed import closed
from sandbox.egress.credentials import Credentials
from sandbox.egress.dial import PinnedLoop, Refused
from sandbox.egress.door import Doors
from sandbox.egress.gate import Gate
from sandbox.egress.journal import Journal
from sandbox.egress.policy import Request, Verdict
from sandbox.egress.pool import TooLong
from sandbox.egress.questions import Questions
from sandbox.egress.reach import Policy, Upstream
from sandbox.egress.refusing import BROKEN, Refusals, undecided
from sandbox.egress.request import refused
from sandbox.egress.scrub import Scrubber
from sandbox.egress.tunnels import Tunnels
from sandbox.egress.ways import Ways

# EX_SOFTWARE: not even refusing worked. No proxy is better than one that nobody controls.
EXIT_BROKEN = 70


class Egress:
    """One sandbox's way out. All hooks run in one event loop; nothing here is shared with another sandbox."""

    def __init__(
        self,
        rules: Policy,
        credentials: Credentials,
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
        self._refusals = Refusals(journal, doors)
        self._gate = Gate(rules, journal)
        self._questions = Questions(self._gate, credentials, self._refusals)
        self._allowed: dict[str, Allowed] = {}
        self._ways = Ways(rules.proxy, credentials, loop, ca_files)
        self.tunnels = Tunnels(Authority(rules.general.seconds), doors, self._refusals, self.shut)
        """An addon of its own, beside this one."""

    def drop_fetch(self) -> None:
        """Forget the fetch token and refuse everything on the git listener from now on; repeatable."""
        self._credentials.drop("git")
        self._policy = dataclasses.replace(self._policy, git=None)
        self._doors.cut_all("git")

    def close_setup(self) -> None:
        """Refuse everything on the setup listener from now on; repeatable."""
        self._policy = dataclasses.replace(self._policy, general=dataclasses.replace(self._policy.general, setup=False))
        self._doors.cut_all("setup")

    def shut(self, data: Any, error: Exception) -> None:
        """Refuse because something failed. Where even that fails, the process ends, and with it the way out."""
        try:
            self._journal.trouble("hook", type(error).__name__)
            if isinstance(data, http.HTTPFlow):
                self._questions.forget(self._allowed.pop(data.id, None))
            self._refusals.whatever(data)
        except Exception:
            os._exit(EXIT_BROKEN)

    # -- the way in

    @closed
    def next_layer(self, data: layer.NextLayer) -> None:
        """Plain HTTP/1.1 and nothing else, so nothing has to be guessed from the first bytes; but for the inside of
        an accepted CONNECT, where there must be TLS."""
        below = data.context.layers[-1] if data.context.layers else None
        if isinstance(below, modes.ReverseProxy):
            data.layer = HttpLayer(data.context, HTTPMode.transparent)
        elif isinstance(below, modes.HttpProxy):
            data.layer = HttpLayer(data.context, HTTPMode.regular)
        else:
            data.layer = self.tunnels.inside(data)

    @closed
    def http_connect(self, flow: http.HTTPFlow) -> None:
        flow.response = undecided()
        request = asked.connect(flow)
        verdict = self._decide(request)
        if verdict.allowed:
            allowed = general.is_allowed(self._policy.general, request)
            verdict = self.tunnels.begin(flow, request, verdict, allowed=allowed)
        if not verdict.allowed:
            self._refusals.request(flow, request, verdict)
            return
        flow.response = None

    @closed
    async def requestheaders(self, flow: http.HTTPFlow) -> None:
        flow.response = undecided()
        if (door := self._refusals.door(flow)) is not None:
            door.head_seen()
        await self._gate.open()
        request = asked.judged(flow)
        verdict = self._decide(request)
        if flow.error is not None:
            verdict = Verdict(False, 400, "this is no HTTP request that can be understood", verdict.host)
        upstream = self._upstream(request)
        if not verdict.allowed or upstream is None or door is None:
            self._refusals.request(flow, request, verdict, told=self.tunnels.told(flow.client_conn))
            return
        if verdict.rule is not None and verdict.rule.api:
            self._allowed[flow.id] = self._questions.keep(flow, request, verdict, upstream, door)
            # It carries its refusal until its body has been judged; nothing is dialled before that.
            return
        self._allow(flow, request, verdict, upstream)
        flow.response = None

    def _decide(self, request: Request) -> Verdict:
        decide = general.decide if request.listener in general.LISTENERS else policy.decide
        return decide(self._policy, request)

    def _upstream(self, request: Request) -> Upstream | None:
        if request.listener not in general.LISTENERS:
            return self._policy.upstream(request.listener)
        return general.upstream(self._policy.general, request.host, request.port) if request.inside else None

    def _allow(self, flow: http.HTTPFlow, request: Request, verdict: Verdict, upstream: Upstream) -> None:
        """The caller takes the refusal off the flow after this, so what raises in here leaves it where it is."""
        allowed = Allowed(request.listener, upstream, policy.body_limit(self._policy, request))
        asked.rewrite(flow, request, verdict, upstream, self._credentials)
        flow.request.stream = self._counted(flow, allowed)
        self._refusals.none(request, verdict, upstream)
        self._allowed[flow.id] = allowed
        self._ways.take(flow, upstream)

    def _counted(self, flow: http.HTTPFlow, allowed: Allowed) -> Callable[[bytes], bytes]:
        """The body goes on as it comes; above its bound the connection ends, and upstream sees half a request.

        Raising is what ends it: mitmproxy stops in the middle of what it was doing, so not even an end of the body
        that has come already goes upstream.
        """

        def count(chunk: bytes) -> bytes:
            try:
                allowed.count(chunk)
            except TooLong as error:
                self._refusals.body(flow, allowed.listener, allowed.upstream, str(error))
                raise
            if chunk and not self._moved(flow, chunk):
                raise TooLong("the budget is used up")
            return chunk

        return count

    def _moved(self, flow: http.HTTPFlow, chunk: bytes) -> bool:
        """Count what goes by. What is too much ends the connection without a word: words would be the provider's."""
        if self._gate.meter.moved(len(chunk)):
            return True
        if (door := self._refusals.door(flow)) is not None:
            door.cut()
        return False

    @closed
    async def request(self, flow: http.HTTPFlow) -> None:
        """Before a request is sent whose body has come whole or that has none, and after one that was passed on."""
        if (door := self._refusals.door(flow)) is not None:
            door.body_seen()
        allowed = self._allowed.get(flow.id)
        if allowed is not None and allowed.judged is not None:
            if await self._questions.judged(flow, allowed):
                self._ways.take(flow, allowed.upstream)
                flow.response = None
        elif allowed is None or flow.response is not None:
            self._refusals.kill(flow)

    # -- the way out

    @closed
    async def server_connect(self, data: ServerConnectionHookData) -> None:
        """Only the very upstream that a request of this client was allowed to; its name is resolved once, here."""
        data.server.error = BROKEN
        upstream = self._ways.of(data.client)
        if upstream is None:
            raise ValueError("this destination was not approved")
        try:
            await self._ways.pin(data, upstream)
        except Refused as error:
            self._refusals.dial(data, upstream, str(error))
            return
        data.server.error = None

    @closed
    def tls_start_server(self, data: TlsData) -> None:
        self._ways.start_tls(data)

    @closed
    def http_connect_upstream(self, flow: http.HTTPFlow) -> None:
        """To the operator's proxy, before it is asked for a tunnel."""
        self._ways.connect(flow)

    # -- the way back

    @closed
    def responseheaders(self, flow: http.HTTPFlow) -> None:
        allowed, response = self._allowed[flow.id], flow.response
        if response is None:
            raise ValueError("a response that is none")
        reading = allowed.listener in general.LISTENERS
        if why := answering.unwanted(response, reading=reading):
            self._end(flow, framed=False)
            self._refusals.kill(flow, 502, f"{allowed.upstream.host} {why}")
            return
        try:
            location = self._location(allowed, flow.request.path, response) if reading else ""
        except redirects.Elsewhere as error:
            self._end(flow, framed=False)
            self._refusals.request(flow, asked.judged(flow), refused(error.host, 502, str(error)))
            return
        scrubber = Scrubber(self._credentials.masked())
        answering.clean(response, allowed.listener, scrubber, location)
        self._questions.answered(flow, allowed, response)

        def seen(chunk: bytes) -> bool:
            allowed.feed(chunk)
            return self._moved(flow, chunk)

        response.stream = answering.stream(scrubber, seen, lambda error: self.shut(flow, error))

    def _location(self, allowed: Allowed, path: str, response: http.Response) -> str:
        """Where a redirect of an allowed destination leads, if the client may follow it; empty where it is none."""
        if response.status_code not in redirects.REDIRECTS:
            return ""
        return redirects.target(self._policy.general, allowed.upstream, path, response.headers.get("location", ""))

    @closed
    def response(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None:
            flow.response.trailers = None
        self._end(flow, framed=True)

    @closed
    def error(self, flow: http.HTTPFlow) -> None:
        if (allowed := self._allowed.get(flow.id)) is not None:
            self._refusals.failed(flow, allowed.upstream)
        self._end(flow, framed=False)

    def _end(self, flow: http.HTTPFlow, *, framed: bool) -> None:
        """The request is over, one way or another. Only the first call counts."""
        allowed = self._allowed.pop(flow.id, None)
        if allowed is not None:
            self._questions.ended(flow, allowed, framed=framed)

    @closed
    def client_disconnected(self, client: Any) -> None:
        self._ways.drop(client)

    # -- what cannot happen, and does not

    @closed
    def never(self, data: Any) -> None:
        """Raw TCP, UDP, DNS, WebSocket, QUIC: there is no layer for them. TLS from a client is the tunnels' alone."""
        raise ValueError("this protocol is not spoken here")

    tcp_start = tcp_message = udp_start = udp_message = dns_request = never
    websocket_start = websocket_message = socks5_auth = never
    quic_start_client = quic_start_server = never
