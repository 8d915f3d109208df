"""Read a run of Codex from its standard output: progress while it runs, outcome when it has ended."""

from __future__ import annotations

from sandbox.agents import codex_words
from sandbox.agents.codex_events import (
    Began,
    Completed,
    Failed,
    Item,
    Step,
    Tokens,
    Trouble,
    TurnStarted,
    parse,
)
from sandbox.agents.reading import MAX_REPLY_CHARS, MAX_SESSION_CHARS, LineReader

# What a step is called where its type is no name of a tool; an ``mcp_tool_call`` brings its own.
_TOOLS = {"command_execution": "shell", "file_change": "apply_patch", "web_search": "web_search"}
# A command's output is repeated in the event of its end: 1 to 6 MB of it were seen. No message is so long.
_LONG = (b'{"type":"item.completed","item":',)


class CodexReader(LineReader):
    """``sandbox.agents.agent.Reader`` for ``exec --json``.

    How many turns it took this CLI does not say, and a failed run not what it used: both stay unknown here, and are
    known from the wire.
    """

    def __init__(self) -> None:
        super().__init__(unmissed=_LONG)
        self._words = ""
        self._trouble = ""

    def take(self, line: bytes) -> bool:
        """See ``LineReader.take``."""
        event = parse(line)
        if isinstance(event, Began):
            session = event.thread_id
            self.usage = self.usage.model_copy(update={"session_id": session and session[:MAX_SESSION_CHARS]})
        elif isinstance(event, TurnStarted):
            self.final = False
        elif isinstance(event, Step):
            self._step(event.item)
        elif isinstance(event, Trouble):
            self._ask_again(event.message)
        elif isinstance(event, Completed):
            self._complete(event.usage or Tokens())
        elif isinstance(event, Failed):
            self._fail(event.error.message)
        return event is not None

    def finish(self) -> None:
        """See ``Reader.finish``. Trouble without an end that says what came of it was the end."""
        super().finish()
        if self._trouble and not self.final:
            self._fail(self._trouble)
            self.final = False

    def _step(self, item: Item) -> None:
        if item.type == "agent_message":
            self.final = False  # it works on
            self._words = item.text[:MAX_REPLY_CHARS]
            self.show(words=item.text)
        elif tool := item.tool or _TOOLS.get(item.type):
            self.final = False
            self.show(tool=tool, file=item.changes[0].path if item.changes else "")

    def _ask_again(self, message: str) -> None:
        if not codex_words.is_retry(message):
            self._trouble = message
            return
        self.retries += 1
        self.retry_cause = codex_words.cause(message)

    def _complete(self, tokens: Tokens) -> None:
        """A later final event never takes back an error: anything in the container can write one."""
        self.final = True
        self._trouble = ""
        self.reply = "" if self.error else self._words
        cached = tokens.cached_input_tokens
        fresh = None if tokens.input_tokens is None else max(0, tokens.input_tokens - (cached or 0))
        self.usage = self.usage.model_copy(
            update={"input_tokens": fresh, "cached_input_tokens": cached, "output_tokens": tokens.output_tokens}
        )

    def _fail(self, message: str) -> None:
        self.final = True
        self._trouble = ""
        self.reply = ""
        self.refused = self.refused or codex_words.is_refusal(message)
        self.error = self.error or codex_words.failure(message)
