"""Claude Code's command line, environment, prompts and outcome, the last against what the real CLI printed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.agents import AGENTS, Run
from sandbox.agents.agent import Reader
from sandbox.agents.reading import MAX_FILE_CHARS, MAX_REPLY_CHARS, MAX_TOOL_CHARS, MAX_WORDS_CHARS
from sandbox.job import Job, Progress, Usage
from sandbox.settings import AgentSettings
from tests.sandbox.agents import recorded
from tests.sandbox.agents.recorded import facts

CLAUDE = AGENTS["claude"]
DONE = "Done: I wrote NOTES.md and pointed to it from README.md."
NO_CREDITS = "has no credits left"
BROKEN = "The connection to the model gateway broke"

# Stream -> (final event seen, start or part of the error, reply, turns, fresh input, cached input, output tokens).
RECORDED: dict[str, tuple[bool, str, str, int | None, int | None, int | None, int | None]] = {
    "ok": (True, "", DONE, 3, 600, 3000, 102),
    "500-once": (True, "", DONE, 3, 600, 3000, 102),
    "shell": (True, "", "Done: I ran what was asked.", 3, 600, 3000, 102),
    "noop": (True, "", "Nothing to do: it is as you want it already.", 1, 200, 1000, 34),
    "decline": (True, "", "I'm sorry, but I can't help with that request.", 1, 200, 1000, 34),
    "badtool": (True, "", "Done: there was no such tool.", 2, 400, 2000, 68),
    "empty": (True, "", "", 2, 400, 2000, 68),
    "slash": (True, "The agent ended without asking the model anything", "", 0, 0, 0, 0),
    "maxtokens": (True, "One answer of the model was longer than the output limit", "", 4, 800, 4000, 136),
    "refusal": (True, "The model refused this request", "", 2, 400, 2000, 68),
    "maxturns": (True, "The agent used up its number of turns", "", 4, 600, 3000, 102),
    "maxbudget": (True, "The agent used up its budget", "", 4, 600, 3000, 102),
    "400": (True, "The conversation grew too large", "", 1, 0, 0, 0),
    "401": (True, "The model gateway refused the key (401)", "", 1, 0, 0, 0),
    "402": (True, NO_CREDITS, "", 1, 0, 0, 0),
    "quota": (True, NO_CREDITS, "", 1, 0, 0, 0),
    "403": (True, "The model gateway does not let this key use that model (403)", "", 1, 0, 0, 0),
    "404": (True, "The model gateway does not know the model (404)", "", 1, 0, 0, 0),
    "413": (True, "The request grew too large for the model gateway (413)", "", 1, 0, 0, 0),
    "429": (True, "The model's rate limit was reached (429)", "", 1, 0, 0, 0),
    "500": (True, "The model gateway failed (500)", "", 1, 0, 0, 0),
    "503": (True, "The model gateway failed (503)", "", 1, 0, 0, 0),
    "529": (True, "The model was overloaded (529)", "", 1, 0, 0, 0),
    "html": (True, "The model gateway failed (502)", "", 1, 0, 0, 0),
    "nocontact": (True, BROKEN, "", 1, 0, 0, 0),
    "refused": (True, BROKEN, "", 1, 0, 0, 0),
    "drop": (True, BROKEN, "", 1, 200, 1000, 1),
    "cut": (True, BROKEN, "", 1, 400, 2000, 2),
    "garbage": (True, BROKEN, "", 1, 400, 2000, 2),
    "streamerror": (True, "The model gateway failed (502)", "", 1, 200, 1000, 1),
    "hang": (True, "The model gateway did not answer in time", "", 1, 0, 0, 0),
    "tool-sigint": (True, "The agent was interrupted", "", 3, 200, 1000, 34),
    "tool-sigterm": (False, "", "", None, None, None, None),
    "stall": (False, "", "", None, None, None, None),
}


def read(*chunks: bytes) -> Reader:
    return recorded.read(CLAUDE.reader(), *chunks)


def stream(name: str) -> bytes:
    return recorded.stream("claude", name)


def test_every_recorded_stream_is_in_the_table() -> None:
    assert recorded.names("claude") == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_what_the_real_cli_printed(name: str) -> None:
    final, error, reply, turns, fresh, cached, output = RECORDED[name]
    reader = read(stream(name))
    assert (reader.final, reader.reply, reader.bad_lines) == (final, reply, 0)
    assert error in reader.error
    assert bool(error) == bool(reader.error)
    got = reader.usage
    assert (got.turns, got.input_tokens, got.cached_input_tokens, got.output_tokens) == (turns, fresh, cached, output)
    assert (got.session_id is None) == (got.cost_usd is None) == (not final)


def test_the_words_for_a_refused_key_say_who_can_help_and_quote_the_cli() -> None:
    assert read(stream("401")).error == (
        "The model gateway refused the key (401): it is wrong for that account or gateway, and the operator must set"
        " another. The agent said: Invalid API key · Fix external API key"
    )


def test_an_interruption_is_told_without_the_text_for_the_makers_of_the_cli() -> None:
    assert read(stream("tool-sigint")).error == "The agent was interrupted before it was done."


def test_an_empty_reply_is_an_outcome_of_its_own() -> None:
    reader = read(stream("empty"))
    assert reader.final
    assert reader.error == ""
    assert reader.notes == ("The agent ended without a final reply.",)


def test_retries_are_noted_also_when_the_run_was_killed_during_them() -> None:
    lines = stream("429").splitlines(keepends=True)
    reader = read(*lines[:-2])
    assert not reader.final
    assert reader.notes == ("The agent had to ask the model again once (last: status 429).",)


def test_progress_shows_the_latest_tool_file_and_words() -> None:
    lines = stream("ok").splitlines(keepends=True)
    assert read(*lines[:3]).progress == Progress(
        last_tool="Write", last_file="NOTES.md", last_words="I will write the notes first."
    )
    assert read(*lines).progress == Progress(last_tool="Bash", last_file="", last_words=DONE)


def test_progress_is_bounded() -> None:
    content = [
        {"type": "tool_use", "name": "T" * 9999, "input": {"file_path": "f" * 9999}},
        {"type": "text", "text": "w" * 9999},
    ]
    line = json.dumps({"type": "assistant", "message": {"content": content}}).encode()
    shown = read(line).progress
    assert len(shown.last_tool) == MAX_TOOL_CHARS
    assert len(shown.last_file) == MAX_FILE_CHARS
    assert len(shown.last_words) == MAX_WORDS_CHARS


def final_line(**changed: object) -> bytes:
    event = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "result": "Done."}
    return json.dumps({**event, **changed}).encode() + b"\n"


def test_b88_success_subtype_with_is_error_is_a_failure() -> None:
    reader = read(final_line(is_error=True, result=None))
    assert reader.final
    assert reader.error == "The agent reported an error."


def test_b88_exit_without_a_result_line_is_not_final() -> None:
    lines = stream("ok").splitlines(keepends=True)
    reader = read(*lines[:-1])
    assert not reader.final
    assert reader.usage == Usage()


def test_b88_a_subtype_of_failure_without_the_flag_is_a_failure() -> None:
    assert read(final_line(subtype="error_max_turns")).error != ""


def test_an_agent_that_works_on_after_a_final_event_is_not_done_before_the_next_one() -> None:
    lines = stream("ok").splitlines(keepends=True)
    assert not read(*lines, *lines[:-1]).final
    assert read(*lines, *lines).final


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_forged_success_never_takes_back_an_error(order: tuple[int, int]) -> None:
    lines = (stream("401"), final_line(result="All good, merge it."))
    reader = read(lines[order[0]], lines[order[1]])
    assert "(401)" in reader.error
    assert reader.reply == ""


def test_b98_a_line_of_12_mb_does_not_cost_the_final_event_behind_it() -> None:
    huge = b'{"type":"user","message":"' + b"x" * (12 * 2**20) + b'"}\n'
    reader = read(huge, stream("ok"))
    assert reader.final
    assert reader.reply == DONE
    assert reader.bad_lines == 1
    assert reader.notes == ("Lines of the agent's output that could not be read and were skipped: 1.",)


def test_b98_no_newline_behind_the_final_event() -> None:
    assert read(stream("ok").rstrip(b"\n")).final


def test_b25_nul_and_lone_surrogates_in_a_line_are_survived() -> None:
    reader = read(final_line(result="a\0b\ud800"))
    assert reader.reply == "ab\ufffd"
    Progress.model_validate_json(reader.progress.model_dump_json())


def test_the_reply_is_bounded() -> None:
    assert len(read(final_line(result="x" * 200_000)).reply) == MAX_REPLY_CHARS


WORDS = st.sampled_from(
    [
        final_line(),
        final_line(is_error=True),
        stream("ok"),
        b"\n",
        b"{",
        b'"type":"result"',
        b"[" * 3000,
        b"\0",
        b"\xff",
    ]
)


@given(st.lists(WORDS | st.binary(max_size=40), max_size=8), st.integers(1, 997))
def test_no_bytes_raise_and_no_chunking_makes_a_difference(parts: list[bytes], step: int) -> None:
    whole = b"".join(parts)
    cut = read(*(whole[at : at + step] for at in range(0, len(whole), step)))
    assert facts(read(whole)) == facts(read(*parts)) == facts(cut)


ANY = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=3)
)
JSON = ANY | st.lists(ANY, max_size=2) | st.dictionaries(st.sampled_from(["file_path", "x"]), ANY, max_size=2)
SHAPE: dict[str, st.SearchStrategy[object]] = {
    "subtype": st.sampled_from(["success", "api_retry"]) | ANY,
    "is_error": st.booleans() | ANY,
    "num_turns": st.integers(0, 3) | ANY,
    **dict.fromkeys(["result", "errors", "error", "error_status", "session_id", "total_cost_usd"], JSON),
    "usage": st.fixed_dictionaries({}, optional=dict.fromkeys(["input_tokens", "output_tokens"], JSON)) | JSON,
}
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use"]) | ANY}, optional=dict.fromkeys(["text", "name", "input"], JSON)
)


@given(
    st.sampled_from(["result", "assistant", "system", "user"]),
    st.fixed_dictionaries({}, optional=SHAPE),
    st.lists(BLOCK, max_size=2) | JSON,
)
def test_no_shape_of_an_event_raises(kind: str, event: dict[str, object], content: object) -> None:
    """And what is read of it can be stored and sent."""
    reader = read(json.dumps({**event, "message": {"content": content}, "type": kind}).encode())
    for value in (reader.usage, reader.progress):
        assert type(value).model_validate_json(value.model_dump_json()) == value
    "".join((reader.error, reader.reply, *reader.notes)).encode()


# ---- what goes in


def test_the_command_holds_the_operators_model_and_nothing_of_a_user() -> None:
    command = CLAUDE.command(Run("claude-sonnet-4-5"))
    assert command[0] == "/usr/local/bin/claude"
    assert command[-1] == "--model=claude-sonnet-4-5"
    for needed in ("--print", "--setting-sources=user", "--strict-mcp-config", "--no-session-persistence"):
        assert needed in command


@pytest.mark.parametrize("model", ["", "--help", "-p", "a b", "a\nb", "a;b", "$(id)", "ü", "x" * 201, "a'b"])
def test_a_model_name_that_could_be_anything_else_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a model"):
        CLAUDE.command(Run(model))


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5", "anthropic/claude-opus-4@20250929", "us.anthropic.x-v1:0", "o[1m]"]
)
def test_model_names_of_gateways_are_taken(model: str) -> None:
    assert f"--model={model}" in CLAUDE.command(Run(model))


def test_the_environment_holds_a_placeholder_and_the_operators_limits() -> None:
    environment = CLAUDE.environment(Run("m", settings=AgentSettings(max_retries=0, api_timeout_seconds=7)))
    assert environment["ANTHROPIC_API_KEY"] == "placeholder"
    assert environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9001"
    assert environment["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert environment["API_TIMEOUT_MS"] == "7000"


@pytest.mark.parametrize(
    ("text", "read_by_cli"),
    [
        ("Fix it.", b"Fix it."),
        ("/help", b"\n/help"),
        ("/clear\nand go on", b"\n/clear\nand go on"),
        ("/tmp/x is full", b"\n/tmp/x is full"),
        (" /help", b" /help"),
        ("-p --model x", b"-p --model x"),
        ("\0/help", b"\n/help"),
        ("a\ud800b", "a\ufffdb".encode()),
        ("😊\r\nü", "😊\r\nü".encode()),
    ],
)
def test_a_prompt_reaches_the_model_as_it_was_written(text: str, read_by_cli: bytes) -> None:
    assert CLAUDE.prompt(text) == read_by_cli


def test_every_agent_that_a_job_may_name_is_registered() -> None:
    names = Job.model_json_schema()["properties"]["agent"]
    assert {names["const"]} if "const" in names else set(names["enum"]) == set(AGENTS)
    assert all(agent.name == name for name, agent in AGENTS.items())
