"""What becomes of OpenCode's output: against all that the real CLI printed, and against what anybody could write."""

from __future__ import annotations

import json
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.agents import AGENTS
from sandbox.agents.agent import Reader
from sandbox.agents.reading import MAX_FILE_CHARS, MAX_REPLY_CHARS, MAX_TOOL_CHARS, MAX_WORDS_CHARS
from sandbox.job import Progress, Usage
from tests.sandbox.agents import recorded
from tests.sandbox.agents.recorded import facts

DONE = "Done: I wrote NOTES.md and pointed to it from README.md."
NO_CREDITS = "has no credits left"
BROKEN = "The connection to the model gateway broke"
CUT_OFF = "One answer of the model was longer than the output limit"
TOO_MUCH = "The conversation grew too large"
REFUSAL = "The model refused this request"
LATE = "The model gateway did not answer in time"

# Stream -> (it ended well, start or part of the error, the model refused, reply, answers of the model).
RECORDED: dict[str, tuple[bool, str, bool, str, int]] = {
    "ok": (True, "", False, DONE, 3),
    "openai-responses-ok": (True, "", False, DONE, 3),
    "openai-chat-ok": (True, "", False, DONE, 3),
    "500-once": (True, "", False, DONE, 3),
    "shell": (True, "", False, "Done: I ran what was asked.", 3),
    "noop": (True, "", False, "Nothing to do: it is as you want it already.", 1),
    "decline": (True, "", False, "I'm sorry, but I can't help with that request.", 1),
    "badtool": (True, "", False, "Done: there was no such tool.", 2),
    "empty": (True, "", False, "", 1),
    "openai-responses-empty": (True, "", False, "", 1),
    "openai-chat-empty": (True, "", False, "", 1),
    "refusal": (False, REFUSAL, True, "", 1),
    "openai-chat-refusal": (False, REFUSAL, True, "", 1),
    "openai-responses-refusal": (True, "", False, "", 1),  # the CLI drops that API's refusal without a trace
    "maxtokens": (False, CUT_OFF, False, "", 1),
    "openai-responses-maxtokens": (False, CUT_OFF, False, "", 1),
    "openai-chat-maxtokens": (False, CUT_OFF, False, "", 1),
    "400": (False, TOO_MUCH, False, "", 0),
    "401": (False, "The model gateway refused the key (401)", False, "", 0),
    "402": (False, NO_CREDITS, False, "", 0),
    "403": (False, "The model gateway does not let this key use that model (403)", False, "", 0),
    "404": (False, "The model gateway does not know the model (404)", False, "", 0),
    "413": (False, TOO_MUCH, False, "", 0),
    "429": (False, "The model's rate limit was reached (429)", False, "", 0),
    "429-ra": (False, "The model's rate limit was reached (429)", False, "", 0),
    "500": (False, "The model gateway failed (500)", False, "", 0),
    "503": (False, "The model gateway failed (503)", False, "", 0),
    "529": (False, "The model was overloaded (529)", False, "", 0),
    "quota": (False, NO_CREDITS, False, "", 0),
    "html": (False, "The model gateway failed (502)", False, "", 0),
    "nocontact": (False, BROKEN, False, "", 0),
    "refused": (False, BROKEN, False, "", 0),
    "drop": (False, BROKEN, False, "", 0),
    "hang": (False, LATE, False, "", 0),
    "stall": (False, LATE, False, "", 0),
    "streamerror": (False, "The model was overloaded", False, "", 0),
    "garbage": (False, "The model gateway sent something that is no answer", False, "", 0),
    "cut": (False, "", False, "", 9),
    "loop": (False, "", False, "Once more.", 9),
    "tool-sigterm": (False, "", False, "I will run this.", 0),
}
ENDLESS = {"cut", "loop"}


def read(*chunks: bytes) -> Reader:
    return recorded.read(AGENTS["opencode"].reader(), *chunks)


def stream(name: str) -> bytes:
    return recorded.stream("opencode", name)


def test_every_recorded_stream_is_in_the_table() -> None:
    assert recorded.names("opencode") == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_what_the_real_cli_printed(name: str) -> None:
    final, error, refused, reply, turns = RECORDED[name]
    reader = read(stream(name))
    assert (reader.final, reader.refused, reader.bad_lines) == (final, refused, 0)
    assert reader.reply.startswith(reply) if name in ENDLESS else reader.reply == reply
    assert error in reader.error
    assert bool(error) == bool(reader.error)
    assert (reader.usage.turns or 0) >= turns if name in ENDLESS else (reader.usage.turns or 0) == turns
    if turns and name not in ENDLESS:
        used = (reader.usage.input_tokens, reader.usage.cached_input_tokens, reader.usage.output_tokens)
        assert used == (200 * turns, 1000 * turns, 34 * turns)
    assert (reader.usage.session_id or "ses_").startswith("ses_")


def test_the_words_for_a_refused_key_say_who_can_help_and_quote_the_gateway() -> None:
    assert read(stream("401")).error == (
        "The model gateway refused the key (401): it is wrong for that account or gateway, and the operator must set"
        " another. The agent said: invalid x-api-key"
    )


def test_an_empty_reply_is_noted() -> None:
    assert read(stream("empty")).notes == ("The agent ended without a final reply.",)


def test_cost_is_the_sum_and_unknown_where_the_cli_knows_no_price() -> None:
    assert read(stream("ok")).usage.cost_usd == pytest.approx(3 * 0.00141)
    assert read(stream("openai-chat-ok")).usage.cost_usd is None


def test_one_step_without_a_price_makes_the_sum_unknown() -> None:
    assert read(finished("tool-calls", cost=0.5), finished("stop", cost=0)).usage.cost_usd is None
    assert read(finished("tool-calls", cost=0), finished("stop", cost=0.5)).usage.cost_usd is None
    assert read(finished("stop", cost=0, tokens={"input": 0, "output": 0})).usage.cost_usd == 0


def test_tokens_of_reasoning_are_output_and_those_written_to_the_cache_input() -> None:
    tokens = {"input": 1, "output": 20, "reasoning": 300, "cache": {"read": 4000, "write": 50_000}}
    used = read(finished("stop", tokens=tokens)).usage
    assert (used.input_tokens, used.cached_input_tokens, used.output_tokens) == (50_001, 4000, 320)


def test_progress_shows_the_latest_tool_file_and_words() -> None:
    lines = stream("ok").splitlines(keepends=True)
    assert read(*lines[:4]).progress == Progress(
        last_tool="write", last_file="NOTES.md", last_words="I will write the notes first."
    )
    assert read(*lines).progress == Progress(last_tool="bash", last_file="", last_words=DONE)


def line(kind: str, **more: object) -> bytes:
    return json.dumps({"type": kind, "sessionID": "ses_1", **more}).encode() + b"\n"


def finished(reason: str, **more: object) -> bytes:
    return line("step_finish", part={"reason": reason, "tokens": {"input": 1, "output": 1}, "cost": 0.1, **more})


def said(text: str) -> bytes:
    return line("text", part={"text": text})


TOOL = line("tool_use", part={"tool": "bash", "state": {"input": {"command": "true"}}})
FAILED = line("error", error={"name": "APIError", "data": {"message": "no", "statusCode": 401}})


def test_progress_is_bounded() -> None:
    tool = line("tool_use", part={"tool": "T" * 9999, "state": {"input": {"filePath": "f" * 9999}}})
    shown = read(tool, said("w" * 9999)).progress
    assert len(shown.last_tool) == MAX_TOOL_CHARS
    assert len(shown.last_file) == MAX_FILE_CHARS
    assert len(shown.last_words) == MAX_WORDS_CHARS


def test_the_reply_is_the_last_steps_words_all_of_them_and_bounded() -> None:
    assert read(line("step_start"), said("a"), said("b"), finished("stop")).reply == "a\n\nb"
    assert read(line("step_start"), said("a"), TOOL, line("step_start"), finished("stop")).reply == ""
    assert len(read(said("x" * 200_000), said("y"), finished("stop")).reply) == MAX_REPLY_CHARS


def test_nothing_is_final_while_more_may_come() -> None:
    """A conversation that is folded up has a step that ends with "stop", and a long silence may follow."""
    reader = AGENTS["opencode"].reader()
    reader.feed(stream("ok"))
    assert not reader.final
    reader.finish()
    assert reader.final


@pytest.mark.parametrize("after", [line("step_start"), TOOL], ids=["a step", "a tool"])
def test_work_after_a_last_step_takes_its_end_back(after: bytes) -> None:
    assert not read(stream("ok"), after).final


@pytest.mark.parametrize("reason", ["tool-calls", "unknown", "other", "error", "", "STOP"])
def test_only_stop_is_an_end(reason: str) -> None:
    assert not read(said("Done."), finished(reason)).final


def test_an_error_stays_whatever_is_printed_after_it() -> None:
    for order in ((FAILED, stream("ok")), (stream("ok"), FAILED)):
        reader = read(*order)
        assert "(401)" in reader.error
        assert reader.reply == ""


def test_a_refusal_stays_whatever_is_printed_after_it() -> None:
    reader = read(finished("content-filter"), stream("ok"))
    assert reader.refused


def test_an_error_of_an_unknown_kind_is_quoted() -> None:
    reader = read(line("error", error={"name": "NewError", "data": {"message": "so\nit is"}}))
    assert reader.error == "The agent reported an error. The agent said: so it is"
    assert read(line("error", error={"name": "NewError", "data": 7})).error == "The agent reported an error."


def test_b98_a_line_of_12_mb_and_junk_cost_nothing_behind_them() -> None:
    huge = b'{"type":"tool_use","part":"' + b"x" * (12 * 2**20) + b'"}\n'
    reader = read(huge, b"npm warn junk\n\xff\xfe\n", stream("ok").rstrip(b"\n"))
    assert reader.final
    assert reader.reply == DONE
    assert reader.bad_lines == 3


def test_b25_nul_and_lone_surrogates_in_a_line_are_survived() -> None:
    reader = read(said("a\0b\ud800"), finished("stop"))
    assert reader.reply == "ab\ufffd"
    Progress.model_validate_json(reader.progress.model_dump_json())


def test_a_stream_of_500_mb_takes_bounded_memory() -> None:
    """Lines of every size: as the CLI writes them, longer than are kept, and one without an end."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    piece = stream("loop") * 20
    reader = AGENTS["opencode"].reader()
    fed = 0
    blob = b"x" * (1 << 20)
    while fed < 20 << 20:
        reader.feed(piece)
        fed += len(piece)
    while fed < 500 << 20:
        reader.feed(blob)
        fed += len(blob)
    reader.feed(b"\n" + stream("ok"))
    reader.finish()
    assert reader.final
    assert reader.reply == DONE
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 64 << 10, f"{grown_kib} KiB"


PARTS = st.sampled_from(
    [
        stream("ok"),
        stream("401"),
        finished("stop"),
        finished("length"),
        TOOL,
        FAILED,
        said("a"),
        b"\n",
        b"{",
        b'"type":"error"',
        b"[" * 3000,
        b"\0",
        b"\xff",
    ]
)


@given(st.lists(PARTS | st.binary(max_size=40), max_size=8), st.integers(1, 997))
def test_no_bytes_raise_and_no_chunking_makes_a_difference(parts: list[bytes], step: int) -> None:
    whole = b"".join(parts)
    cut = read(*(whole[at : at + step] for at in range(0, len(whole), step)))
    assert facts(read(whole)) == facts(read(*parts)) == facts(cut)


ANY = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()), max_size=3)
)
NAMES = ["text", "tool", "state", "reason", "tokens", "cost", "name", "data", "input", "cache", "statusCode", "message"]
JSON = st.recursive(ANY, lambda inner: st.dictionaries(st.sampled_from(NAMES), inner, max_size=4), max_leaves=8)


@given(st.sampled_from(["step_start", "text", "tool_use", "step_finish", "error", "x"]), JSON, JSON, JSON)
def test_no_shape_of_an_event_raises(kind: str, part: object, error: object, session: object) -> None:
    """And what is read of it can be stored and sent."""
    reader = read(json.dumps({"type": kind, "part": part, "error": error, "sessionID": session}).encode())
    for value in (reader.usage, reader.progress):
        assert type(value).model_validate_json(value.model_dump_json()) == value
    assert reader.usage == Usage() or kind != "x"
    "".join((reader.error, reader.reply, *reader.notes)).encode()
