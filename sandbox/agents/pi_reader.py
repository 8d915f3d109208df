"""Read a run of Pi from its standard output: progress while it runs, outcome when it has ended.

What a run amounts to is what its last message says once the CLI has settled: an error before that may be followed by
another try that succeeds, and the exit status is 0 whatever happened.
"""

from __future__ import annotations

from sandbox.agents import pi_words
from sandbox.agents.pi_events import (
    UNREAD,
    AgentStart,
    Event,
    Message,
    MessageEnd,
    Retry,
    Session,
    Settled,
    Tokens,
    ToolStart,
    parse,
)
from sandbox.agents.reading import MAX_REPLY_CHARS, MAX_SESSION_CHARS, LineReader, more
from sandbox.job import Usage


class PiReader(LineReader):
    """``sandbox.agents.agent.Reader`` for ``--print --mode json``."""

    def __init__(self) -> None:
        super().__init__(unread=UNREAD)
        self._last: Message | None = None

    def take(self, line: bytes) -> bool:
        """See ``LineReader.take``."""
        event = parse(line)
        if event is not None:
            self._take(event)
        return event is not None

    def finish(self) -> None:
        """See ``Reader.finish``. A run that was cut off is told by its last message, should that be of a failure."""
        super().finish()
        if not self.final and self._last is not None and self._last.stopReason == "error":
            self.fail(pi_words.failure(self._last))

    def _take(self, event: Event) -> None:
        match event:
            case Session():
                self.usage = self.usage.model_copy(update={"session_id": event.id[:MAX_SESSION_CHARS]})
            case AgentStart():
                self.final = False
            case ToolStart():
                self.final = False
                self.show(tool=event.toolName, file=(event.args.path or "") if event.args else "")
            case MessageEnd():
                self._say(event.message)
            case Retry():
                self.retries += 1
                self.retry_cause = pi_words.cause(event.errorMessage)
            case Settled():
                self._settle(event)

    def _say(self, message: Message) -> None:
        self.final, self._last = False, message
        self.usage = _added(self.usage, message)
        words = "\n\n".join(block.text for block in message.content if block.type == "text" and block.text.strip())
        self.show(words=words)
        # What was said before a tool is not the reply, should the last message say nothing.
        self.reply = words[:MAX_REPLY_CHARS] if message.stopReason == "stop" and not self.error else ""

    def _settle(self, event: Settled) -> None:
        """A later final event never takes back an error: anything in the container can write one."""
        self.final = True
        if self._last is None:
            self.fail(pi_words.NO_TURN)
            return
        self.refused = self.refused or pi_words.is_refusal(self._last)
        self.fail(pi_words.failure(self._last) or (pi_words.INTERRUPTED if event.aborted else ""))


def _added(used: Usage, message: Message) -> Usage:
    """Tokens written to the cache were not read from it: they count as input. A failed answer is no turn.

    A message without a price that used tokens is one whose price the CLI does not know: then the sum is unknown too.
    """
    tokens = message.usage or Tokens()
    cost = tokens.cost.total if tokens.cost else None
    priced = bool(cost) or not (tokens.input or tokens.output or tokens.cacheRead)
    return more(
        used,
        turns=int(message.stopReason != "error"),
        fresh=(tokens.input, tokens.cacheWrite),
        cached=tokens.cacheRead,
        output=(tokens.output,),
        cost=cost,
        priced=priced,
    )
