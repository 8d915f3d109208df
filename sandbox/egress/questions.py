"""Questions to the model on their way out and back: kept until their bodies have been judged, and metered."""

from __future__ import annotations

from mitmproxy import http

from sandbox.egress import asked
from sandbox.egress.allowed import Allowed
from sandbox.egress.answer import Answer
from sandbox.egress.bodies import Unfit
from sandbox.egress.credentials import Credentials
from sandbox.egress.door import Door
from sandbox.egress.gate import Gate
from sandbox.egress.pool import TooLong
from sandbox.egress.reach import Upstream
from sandbox.egress.refusing import Refusals
from sandbox.egress.request import Request, Verdict
from sandbox.egress.usage import Reader


class Questions:
    """One sandbox's. Whatever raises in here leaves the flow's refusal where it is."""

    def __init__(self, gate: Gate, credentials: Credentials, refusals: Refusals) -> None:
        self._gate, self._credentials, self._refusals = gate, credentials, refusals

    def keep(self, flow: http.HTTPFlow, request: Request, verdict: Verdict, upstream: Upstream, door: Door) -> Allowed:
        """Take the body in whole, within its bounds."""
        if verdict.rule is None:
            raise ValueError("a question without a rule")
        rule = verdict.rule
        allowed = Allowed(request.listener, upstream, rule.body_bytes, api=rule.api, is_answer=rule.answers)
        allowed.judged, allowed.share = (request, verdict), self._gate.share(rule)
        share = allowed.share

        def count(size: int) -> None:
            try:
                share.count(size)
            except TooLong as error:
                self._refusals.body(flow, allowed.listener, upstream, str(error))

        door.counted = count
        return allowed

    async def judged(self, flow: http.HTTPFlow, allowed: Allowed) -> bool:
        """The body is there: judge it, and build the request anew around it. False: it has been refused."""
        if allowed.judged is None:
            raise ValueError("a question that has been judged")
        (request, verdict), data = allowed.judged, flow.request.raw_content or b""
        try:
            allowed.count(data)
            await self._gate.question(allowed, data)
        except (Unfit, TooLong) as error:
            status = error.status if isinstance(error, Unfit) else 413
            self._refusals.body(flow, allowed.listener, allowed.upstream, str(error), status)
            self._refusals.kill(flow)
            return False
        asked.rewrite(flow, request, verdict, allowed.upstream, self._credentials, data)
        self._refusals.none(request, verdict, allowed.upstream)
        allowed.judged = None
        return True

    def answered(self, flow: http.HTTPFlow, allowed: Allowed, response: http.Response) -> None:
        """At the head of a response; of any request."""
        if allowed.is_answer:
            kind = response.headers.get("content-type", "")
            allowed.answer = Answer(response.status_code, kind, allowed.api)
            allowed.usage = Reader(allowed.api, kind)
            if 200 <= response.status_code < 300:
                self._gate.answered(allowed)
        if allowed.share is not None:  # it has been sent, and need not be kept for as long as the answer takes
            allowed.share.release()
            flow.request.data.content = b""

    def ended(self, flow: http.HTTPFlow, allowed: Allowed, *, framed: bool) -> None:
        """Once for each request that was allowed, however it ended."""
        self.forget(allowed)
        if allowed.is_answer and allowed.judged is None:
            status = flow.response.status_code if flow.response is not None else 0
            allowed.answer = allowed.answer or Answer(status, "", allowed.api)
            self._gate.ended(allowed, framed=framed)

    def forget(self, allowed: Allowed | None) -> None:
        if allowed is not None and allowed.share is not None:
            allowed.share.release()
