"""Read a run of Claude Code from its standard output: progress while it runs, outcome when it has ended."""

from __future__ import annotations

from sandbox.agents import claude_words
from sandbox.agents.claude_events import Assistant, Block, Result, Retry, Tokens, parse
from sandbox.agents.lines import LineSplitter
from sandbox.job import Progress, Usage

# For one line of a status comment each; the words are the start of what the agent said last.
MAX_TOOL_CHARS = 60
MAX_FILE_CHARS = 200
MAX_WORDS_CHARS = 300
# GitHub's longest comment: of a longer reply nothing more could be shown.
MAX_REPLY_CHARS = 65_536
MAX_SESSION_CHARS = 100


class ClaudeReader:
    """``sandbox.agents.agent.Reader`` for ``--print --output-format stream-json --verbose``."""

    def __init__(self) -> None:
        self.final = False
        self.error = ""
        self.refused = False
        self.reply = ""
        self.usage = Usage()
        self.progress = Progress()
        self._lines = LineSplitter()
        self._refused = 0
        self._last_error = ""
        self._retries = 0
        self._retry_status: int | None = None

    @property
    def bad_lines(self) -> int:
        """Lines that were skipped."""
        return self._refused + self._lines.skipped

    @property
    def notes(self) -> tuple[str, ...]:
        """See ``Reader.notes``."""
        return (*self._note_reply(), *self._note_retries(), *self._note_lines())

    def feed(self, chunk: bytes) -> None:
        """See ``Reader.feed``."""
        for line in self._lines.feed(chunk):
            self._read(line)

    def finish(self) -> None:
        """See ``Reader.finish``."""
        for line in self._lines.finish():
            self._read(line)

    def _read(self, line: bytes) -> None:
        event = parse(line)
        if event is None:
            self._refused += 1
        elif isinstance(event, Result):
            self._end(event)
        elif isinstance(event, Assistant):
            self.final = False  # it works on: seen where a background task ended after a final event
            self._last_error = event.error or ""
            self.progress = _progress(self.progress, event)
        elif isinstance(event, Retry):
            self._retries += 1
            self._retry_status = event.error_status

    def _end(self, result: Result) -> None:
        """A later final event never takes back an error: anything in the container can write one."""
        self.final = True
        self.refused = self.refused or result.stop_reason == "refusal"
        self.error = self.error or claude_words.failure(result, self._last_error)
        # The text of a failed run is the CLI's error message and no reply of the model; the error quotes it.
        self.reply = "" if self.error else (result.result or "")[:MAX_REPLY_CHARS]
        self.usage = _usage(result)

    def _note_reply(self) -> tuple[str, ...]:
        if self.final and not self.error and not self.reply.strip():
            return ("The agent ended without a final reply.",)
        return ()

    def _note_retries(self) -> tuple[str, ...]:
        if not self._retries:
            return ()
        status = "no answer" if self._retry_status is None else f"status {self._retry_status}"
        times = "once" if self._retries == 1 else f"{self._retries} times"
        return (f"The agent had to ask the model again {times} (last: {status}).",)

    def _note_lines(self) -> tuple[str, ...]:
        if not self.bad_lines:
            return ()
        return (f"Lines of the agent's output that could not be read and were skipped: {self.bad_lines}.",)


def _progress(before: Progress, event: Assistant) -> Progress:
    """The latest of everything; a tool without a file has none, rather than the one of the tool before."""
    tool, file, words = before.last_tool, before.last_file, before.last_words
    for block in event.message.content:
        if block.type == "tool_use" and block.name:
            tool, file = block.name[:MAX_TOOL_CHARS], _file(block)[:MAX_FILE_CHARS]
        elif block.type == "text" and block.text.strip() and not event.error:
            words = block.text.strip()[:MAX_WORDS_CHARS]
    return Progress(last_tool=tool, last_file=file, last_words=words)


def _file(block: Block) -> str:
    """The tool's file, as a path in the repository."""
    if block.input is None:
        return ""
    return (block.input.file_path or block.input.notebook_path or "").removeprefix("/ws/repo/")


def _usage(result: Result) -> Usage:
    tokens = result.usage or Tokens()
    session = result.session_id
    return Usage(
        turns=result.num_turns,
        input_tokens=_sum(tokens.input_tokens, tokens.cache_creation_input_tokens),
        cached_input_tokens=tokens.cache_read_input_tokens,
        output_tokens=tokens.output_tokens,
        cost_usd=result.total_cost_usd,
        session_id=session[:MAX_SESSION_CHARS] if session is not None else None,
    )


def _sum(fresh: int | None, written: int | None) -> int | None:
    """Tokens written to the cache were not read from it: they count as input. Unknown only if ``fresh`` is."""
    return None if fresh is None else fresh + (written or 0)
