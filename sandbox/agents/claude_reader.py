"""Read a run of Claude Code from its standard output: progress while it runs, outcome when it has ended."""

from __future__ import annotations

from sandbox.agents import claude_words
from sandbox.agents.claude_events import Assistant, Block, Result, Retry, Tokens, parse
from sandbox.agents.reading import MAX_REPLY_CHARS, MAX_SESSION_CHARS, LineReader
from sandbox.job import Usage


class ClaudeReader(LineReader):
    """``sandbox.agents.agent.Reader`` for ``--print --output-format stream-json --verbose``."""

    def __init__(self) -> None:
        super().__init__()
        self._last_error = ""

    def take(self, line: bytes) -> bool:
        """See ``LineReader.take``."""
        event = parse(line)
        if isinstance(event, Result):
            self._end(event)
        elif isinstance(event, Assistant):
            self.final = False  # it works on: seen where a background task ended after a final event
            self._last_error = event.error or ""
            self._show(event)
        elif isinstance(event, Retry):
            self.retries += 1
            self.retry_cause = "no answer" if event.error_status is None else f"status {event.error_status}"
        return event is not None

    def _show(self, event: Assistant) -> None:
        for block in event.message.content:
            if block.type == "tool_use":
                self.show(tool=block.name, file=_file(block))
            elif block.type == "text" and not event.error:
                self.show(words=block.text)

    def _end(self, result: Result) -> None:
        """A later final event never takes back an error: anything in the container can write one."""
        self.final = True
        self.refused = self.refused or result.stop_reason == "refusal"
        self.error = self.error or claude_words.failure(result, self._last_error)
        # The text of a failed run is the CLI's error message and no reply of the model; the error quotes it.
        self.reply = "" if self.error else (result.result or "")[:MAX_REPLY_CHARS]
        self.usage = _usage(result)


def _file(block: Block) -> str:
    """The tool's file."""
    return "" if block.input is None else block.input.file_path or block.input.notebook_path or ""


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
