"""Read a run of OpenCode from its standard output: progress while it runs, outcome when it has ended.

The CLI writes no final event. What an ended run amounts to is what its last step did, so ``final`` is never true before
the stream's end: a step that ended with "stop" may be followed by another (a conversation that was folded up), and
nothing is printed while the model is asked and asked again. So it is ended by its deadline and not half a minute after
its last words, should its program not end by itself.
"""

from __future__ import annotations

from sandbox.agents import opencode_words
from sandbox.agents.opencode_events import (
    Error,
    Event,
    Finish,
    StepFinish,
    StepStart,
    TextPart,
    Tokens,
    Tool,
    ToolUse,
    parse,
)
from sandbox.agents.reading import MAX_REPLY_CHARS, MAX_SESSION_CHARS, LineReader, more
from sandbox.job import Usage


class OpenCodeReader(LineReader):
    """``sandbox.agents.agent.Reader`` for ``run --format json``."""

    def __init__(self) -> None:
        super().__init__()
        self._reason = ""
        """Why the last step ended; empty while there is work after it."""

    def take(self, line: bytes) -> bool:
        """See ``LineReader.take``."""
        event = parse(line)
        if event is not None:
            self._take(event)
        return event is not None

    def finish(self) -> None:
        """See ``Reader.finish``."""
        super().finish()
        self.final = self._reason == "stop"
        self.fail(opencode_words.ended(self._reason))

    def _take(self, event: Event) -> None:
        match event:
            case StepStart():
                # What was said before a tool is not the reply, should the last step say nothing.
                self.reply, self._reason = "", ""
                self._session(event.sessionID)
            case TextPart():
                self._say(event.part.text)
            case ToolUse():
                self._reason = ""
                self.show(tool=event.part.tool, file=_file(event.part))
            case StepFinish():
                self._reason = event.part.reason
                self.refused = self.refused or opencode_words.is_refusal(self._reason)
                self.usage = _added(self.usage, event.part)
            case Error():
                self.refused = self.refused or opencode_words.is_refusal(event.error.name)
                self.fail(opencode_words.failure(event.error))
                self._session(event.sessionID)

    def _say(self, text: str) -> None:
        """A step may have several pieces of text; all of them are its words."""
        self.show(words=text)
        if text.strip() and not self.error:
            self.reply = (f"{self.reply}\n\n{text}" if self.reply else text)[:MAX_REPLY_CHARS]

    def _session(self, session: str) -> None:
        if session and self.usage.session_id is None:
            self.usage = self.usage.model_copy(update={"session_id": session[:MAX_SESSION_CHARS]})


def _file(tool: Tool) -> str:
    given = tool.state.input if tool.state else None
    return given.filePath or "" if given else ""


def _added(used: Usage, step: Finish) -> Usage:
    """Tokens written to the cache were not read from it: they count as input; those of reasoning, as output.

    A step without a price that used tokens is one whose price the CLI does not know: then the sum is unknown too.
    """
    tokens = step.tokens or Tokens()
    read, written = (tokens.cache.read, tokens.cache.write) if tokens.cache else (None, None)
    priced = bool(step.cost) or not (tokens.input or tokens.output)
    return more(
        used,
        turns=1,
        fresh=(tokens.input, written),
        cached=read,
        output=(tokens.output, tokens.reasoning),
        cost=step.cost,
        priced=priced,
    )
