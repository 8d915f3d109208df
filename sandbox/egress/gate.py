"""What stands between an allowed request to the model and its upstream: the budget, and what the body holds.

A budget that is used up is no refusal: a client would take a 403 or a 429 for the provider's word, and try again or
give up in its own way. The request is held without an answer, and the service, which reads the journal, ends the task.
"""

from __future__ import annotations

import asyncio
from typing import Any

from sandbox.egress import bodies, question, shown
from sandbox.egress.allowed import Allowed
from sandbox.egress.journal import Journal
from sandbox.egress.meter import Breach, Meter
from sandbox.egress.pool import Pool, Share
from sandbox.egress.reach import Policy
from sandbox.egress.rules import Rule
from sandbox.egress.usage import estimate


class Gate:
    """One sandbox's. All in one event loop."""

    def __init__(self, rules: Policy, journal: Journal) -> None:
        self._server_side = rules.terms is not None and rules.terms.server_side
        self._journal = journal
        self._pool = Pool()
        self.meter = Meter(rules.budget, self._told)

    def _told(self, breach: Breach) -> None:
        self._journal.breach(breach.of, breach.limit)

    async def open(self) -> None:
        """Returns at once, and after a breach never: the task is about to be ended, and its client with it."""
        if self.meter.breach is not None:
            await asyncio.get_running_loop().create_future()

    def share(self, rule: Rule) -> Share:
        """Room for one body; the caller releases it."""
        return Share(self._pool, rule.body_bytes)

    async def question(self, allowed: Allowed, data: bytes) -> None:
        """Returns where the body may go out as it is. Raises ``bodies.Unfit``; see ``open`` for a breach."""
        body = bodies.judged(allowed.api, data, server_side=self._server_side)
        allowed.digest = question.digest(allowed.api, body)
        allowed.asked_bytes, allowed.model = len(data), _name(body.get("model"))
        if not self.meter.question(allowed.digest, answers=allowed.is_answer) or not self.meter.moved(len(data)):
            await self.open()

    def answered(self, allowed: Allowed) -> None:
        """At the head of a 2xx answer."""
        self.meter.answered(allowed.digest)

    def ended(self, allowed: Allowed, *, framed: bool) -> None:
        """The answer is over, however. Once."""
        answer, told = allowed.answer, allowed.usage.used() if allowed.usage is not None else None
        if answer is not None and 200 <= answer.status < 300:
            stream = answer.stream
            self.meter.spent(told or estimate(asked_bytes=allowed.asked_bytes, told_bytes=answer.count, stream=stream))
        self._journal.answer(
            listener=allowed.listener,
            status=answer.status if answer is not None else 0,
            complete=answer is not None and answer.complete(framed=framed),
            count=answer.count if answer is not None else 0,
            usage=told,
            model=allowed.model,
        )


def _name(value: Any) -> str:
    return shown.path(value)[:64] if isinstance(value, str) else ""
