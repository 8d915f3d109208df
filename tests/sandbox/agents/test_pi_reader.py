"""What becomes of Pi's output: against all that the real CLI printed, and against what anybody could write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.agents import AGENTS
from sandbox.agents.agent import Reader
from sandbox.agents.lines import MAX_LINE_BYTES
from sandbox.agents.pi_events import UNREAD
from sandbox.agents.reading import MAX_FILE_CHARS, MAX_REPLY_CHARS, MAX_TOOL_CHARS, MAX_WORDS_CHARS
from sandbox.job import Progress
from tests.sandbox.agents import recorded
from tests.sandbox.agents.recorded import facts

DONE = "Done: I wrote NOTES.md and pointed to it from README.md."
SORRY = "I'm sorry, but I can't help with that request."
NO_CREDITS = "has no credits left"
BROKEN = "The connection to the model gateway broke"
CUT_OFF = "One answer of the model was longer than the output limit"
TOO_MUCH = "The conversation grew too large"
REFUSAL = "The model refused this request"
LATE = "The model gateway did not answer in time"
HALF_WAY = "The model gateway failed in the middle of an answer"
GARBAGE = "The model gateway sent something that is no answer"

# Stream -> (start or part of the error, the model refused, reply, answers of the model, retries).
RECORDED: dict[str, tuple[str, bool, str, int, int]] = {
    "ok": ("", False, DONE, 3, 0),
    "openai-responses-ok": ("", False, DONE, 3, 0),
    "openai-chat-ok": ("", False, DONE, 3, 0),
    "500-once": ("", False, DONE, 3, 1),
    "shell": ("", False, "Done: I ran what was asked.", 3, 0),
    "noop": ("", False, "Nothing to do: it is as you want it already.", 1, 0),
    "decline": ("", False, SORRY, 1, 0),
    "badtool": ("", False, "Done: there was no such tool.", 2, 0),
    "empty": ("", False, "", 1, 0),
    "openai-responses-empty": ("", False, "", 1, 0),
    "openai-chat-empty": ("", False, "", 1, 0),
    "refusal": (REFUSAL, True, "", 0, 0),
    "openai-chat-refusal": (REFUSAL, True, "", 0, 0),
    "openai-responses-refusal": ("", False, SORRY, 1, 0),  # that API's refusal is words as any others to the CLI
    "maxtokens": (CUT_OFF, False, "", 1, 0),
    "openai-responses-maxtokens": (CUT_OFF, False, "", 1, 0),
    "openai-chat-maxtokens": (CUT_OFF, False, "", 1, 0),
    "400": (TOO_MUCH, False, "", 0, 0),
    "401": ("The model gateway refused the key (401)", False, "", 0, 0),
    "openai-responses-401": ("The model gateway refused the key (401)", False, "", 0, 0),
    "openai-chat-401": ("The model gateway refused the key (401)", False, "", 0, 0),
    "402": (NO_CREDITS, False, "", 0, 0),
    "403": ("The model gateway does not let this key use that model (403)", False, "", 0, 0),
    "404": ("The model gateway does not know the model (404)", False, "", 0, 0),
    "413": ("The request grew too large for the model gateway (413)", False, "", 0, 0),
    "429": ("The model's rate limit was reached (429)", False, "", 0, 1),
    "openai-responses-429": ("The model's rate limit was reached (429)", False, "", 0, 1),
    "openai-chat-429": ("The model's rate limit was reached (429)", False, "", 0, 1),
    "429-ra": ("The model's rate limit was reached (429)", False, "", 0, 1),
    "500": ("The model gateway failed (500)", False, "", 0, 1),
    "503": ("The model gateway failed (503)", False, "", 0, 1),
    "529": ("The model was overloaded (529)", False, "", 0, 1),
    "quota": (NO_CREDITS, False, "", 0, 0),
    "openai-responses-quota": (NO_CREDITS, False, "", 0, 0),
    "openai-chat-quota": (NO_CREDITS, False, "", 0, 0),
    "html": ("The model gateway failed (502)", False, "", 0, 1),
    "nocontact": (BROKEN, False, "", 0, 1),
    "refused": (BROKEN, False, "", 0, 1),
    "drop": (BROKEN, False, "", 0, 1),
    "openai-responses-drop": (BROKEN, False, "", 0, 1),
    "openai-chat-drop": (BROKEN, False, "", 0, 1),
    "cut": (BROKEN, False, "", 0, 1),
    "openai-responses-cut": (BROKEN, False, "", 0, 1),
    "openai-chat-cut": (BROKEN, False, "", 0, 1),
    "hang": (LATE, False, "", 0, 1),
    "stall": (LATE, False, "", 0, 1),
    "streamerror": ("The model was overloaded", False, "", 0, 1),
    "openai-responses-streamerror": (HALF_WAY, False, "", 0, 1),
    "openai-chat-streamerror": (HALF_WAY, False, "", 0, 0),
    "garbage": (BROKEN, False, "", 0, 1),
    "openai-responses-garbage": (GARBAGE, False, "", 0, 0),
    "openai-chat-garbage": (GARBAGE, False, "", 0, 0),
}


def read(*chunks: bytes) -> Reader:
    return recorded.read(AGENTS["pi"].reader(), *chunks)


def stream(name: str) -> bytes:
    return recorded.stream("pi", name)


def test_every_recorded_stream_is_in_the_table() -> None:
    assert recorded.names("pi") == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_what_the_real_cli_printed(name: str) -> None:
    error, refused, reply, turns, retries = RECORDED[name]
    reader = read(stream(name))
    assert (reader.final, reader.refused, reader.bad_lines) == (True, refused, 0)
    assert reader.reply == reply
    assert error in reader.error
    assert bool(error) == bool(reader.error)
    assert reader.usage.turns == turns
    if turns:
        used = (reader.usage.input_tokens, reader.usage.cached_input_tokens, reader.usage.output_tokens)
        assert used == (200 * turns, 1000 * turns, 34 * turns)
    assert reader.usage.session_id
    assert [note for note in reader.notes if "ask the model again" in note] == (
        [f"The agent had to ask the model again once (last: {cause(name)})."] if retries else []
    )


def cause(name: str) -> str:
    status = {"html": "502", "500-once": "500", "429-ra": "429"}.get(name, name.rpartition("-")[2])
    return f"status {status}" if status.isdigit() else "no answer"


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


def test_progress_shows_the_latest_tool_file_and_words() -> None:
    lines = stream("ok").splitlines(keepends=True)
    writes = next(at for at, one in enumerate(lines) if b'"tool_execution_start"' in one)
    assert read(*lines[: writes + 1]).progress == Progress(
        last_tool="write", last_file="NOTES.md", last_words="I will write the notes first."
    )
    assert read(*lines).progress == Progress(last_tool="bash", last_file="", last_words=DONE)


def line(kind: str, **more: object) -> bytes:
    return json.dumps({"type": kind, **more}).encode() + b"\n"


def said(text: str, reason: str = "stop", **more: object) -> bytes:
    content = [{"type": "text", "text": text}]
    usage = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.1}}
    return line("message_end", message={"role": "assistant", "content": content, "stopReason": reason,
                                        "usage": usage, **more})  # fmt: skip


SETTLED = line("agent_settled", aborted=False)
FAILED = said("", "error", errorMessage="401 no")


def test_one_answer_without_a_price_makes_the_sum_unknown() -> None:
    free = said("", usage={"input": 1, "output": 1, "cost": {"total": 0}})
    assert read(said("a", "toolUse"), free).usage.cost_usd is None
    assert read(free, said("a")).usage.cost_usd is None
    assert read(said("a"), said("b")).usage.cost_usd == pytest.approx(0.2)


def test_tokens_written_to_the_cache_are_input() -> None:
    used = read(said("", usage={"input": 1, "output": 20, "cacheRead": 4000, "cacheWrite": 50_000})).usage
    assert (used.input_tokens, used.cached_input_tokens, used.output_tokens) == (50_001, 4000, 20)


def test_everything_shown_is_bounded() -> None:
    tool = line("tool_execution_start", toolName="T" * 9999, args={"path": "f" * 9999})
    reader = read(line("session", id="s" * 9999), said("w" * 200_000), tool, said("w" * 200_000), SETTLED)
    assert len(reader.progress.last_tool) == MAX_TOOL_CHARS
    assert len(reader.progress.last_file) == MAX_FILE_CHARS
    assert len(reader.progress.last_words) == MAX_WORDS_CHARS
    assert len(reader.reply) == MAX_REPLY_CHARS
    assert len(reader.usage.session_id or "") == 100


def test_an_exit_without_the_final_event_is_no_success() -> None:
    """The exit status is 0 whatever happened; an empty prompt prints the first line alone."""
    assert not read(stream("ok").rpartition(SETTLED.strip().replace(b", ", b",").replace(b": ", b":"))[0]).final
    assert not read(line("session", id="s")).final


def test_a_settled_run_that_asked_nothing_is_a_failure() -> None:
    reader = read(line("session", id="s"), SETTLED)
    assert reader.final
    assert reader.error == "The agent ended without asking the model anything."


@pytest.mark.parametrize("reason", ["toolUse", "pending", "", "STOP", "somethingNew"])
def test_only_stop_is_a_good_end(reason: str) -> None:
    assert read(said("a", reason), SETTLED).error == "The agent ended before it was done."


@pytest.mark.parametrize("order", [(said("a", "aborted"), SETTLED), (said("a"), line("agent_settled", aborted=True))])
def test_an_aborted_run_is_a_failure(order: tuple[bytes, ...]) -> None:
    reader = read(*order)
    assert (reader.error, reader.reply) == ("The agent was interrupted before it was done.", "")


@pytest.mark.parametrize(
    "after", [line("agent_start"), said("More.", "toolUse"), line("tool_execution_start", toolName="x")]
)
def test_work_after_the_final_event_takes_it_back(after: bytes) -> None:
    assert not read(stream("ok"), after).final


def test_an_error_that_another_try_made_good_is_none() -> None:
    assert read(FAILED, line("auto_retry_start", errorMessage="401 no"), said("Done."), SETTLED).error == ""


def test_an_error_of_a_settled_run_stays_whatever_is_printed_after_it() -> None:
    reader = read(FAILED, SETTLED, stream("ok"))
    assert "(401)" in reader.error
    assert reader.reply == ""


def test_words_before_a_tool_are_no_reply_of_a_run_that_was_cut_off() -> None:
    assert read(said("First I look.", "toolUse")).reply == ""


def test_a_run_that_was_cut_off_after_a_failure_is_told_by_it() -> None:
    reader = read(FAILED)
    assert not reader.final
    assert "(401)" in reader.error


def test_an_error_of_an_unknown_kind_is_quoted() -> None:
    assert read(said("", "error", errorMessage="so\nit is"), SETTLED).error == (
        "The agent reported an error. The agent said: so it is"
    )
    assert read(said("", "error"), SETTLED).error == "The agent reported an error."


@pytest.mark.parametrize("words", ['401 {"error": 7}', '401 {"error": {"message": 7}}', "401 {", "401 " + "{" * 9000])
def test_what_a_gateway_says_is_quoted_whatever_its_shape(words: str) -> None:
    error = read(said("", "error", errorMessage=words), SETTLED).error
    assert error.startswith("The model gateway refused the key (401)")
    assert "The agent said: 401 {" in error


@pytest.mark.parametrize("begins", UNREAD, ids=lambda begins: begins.decode()[9:-1])
def test_lines_that_only_repeat_are_not_missed_however_long_they_are(begins: bytes) -> None:
    long = begins + b',"x":"' + b"y" * (2 * MAX_LINE_BYTES) + b'"}\n'
    assert read(long, stream("ok"), long, begins + b"}\n").bad_lines == 0


def test_the_launcher_in_the_image_drops_only_lines_that_are_not_read() -> None:
    text = (Path(__file__).parents[3] / "images/pi/pi").read_text()
    dropped = text.partition("REPEATED='")[2].partition("'")[0].split("|")
    assert dropped
    assert {b'{"type":"%s"' % kind.encode() for kind in dropped} <= set(UNREAD)


def test_an_answer_too_long_to_be_held_is_counted() -> None:
    huge = said("x" * (2 * MAX_LINE_BYTES), "toolUse")
    assert read(huge, stream("ok")).bad_lines == 1


def test_b25_nul_and_lone_surrogates_in_a_line_are_survived() -> None:
    reader = read(said("a\0b\ud800"), SETTLED)
    assert reader.reply == "ab\ufffd"
    Progress.model_validate_json(reader.progress.model_dump_json())


FORGED = [SETTLED, line("agent_start"), line("session", id=7), line("message_end", message={}), b"[]\n", b"\xff\n"]
PARTS = st.sampled_from([stream("ok"), stream("401"), said("a"), said("b", "length"), FAILED, *FORGED])


@given(st.lists(PARTS | st.binary(max_size=40), max_size=12).map(b"".join), st.integers(1, 999))
def test_any_bytes_cut_anywhere_give_the_same_and_raise_nothing(data: bytes, size: int) -> None:
    assert facts(read(*(data[at : at + size] for at in range(0, len(data), size)))) == facts(read(data))
