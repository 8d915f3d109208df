"""Codex's command line, environment, prompts and outcome, the last against what the real CLI printed."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.agents import AGENTS, Run
from sandbox.agents.agent import Reader
from sandbox.agents.reading import MAX_FILE_CHARS, MAX_REPLY_CHARS, MAX_TOOL_CHARS, MAX_WORDS_CHARS
from sandbox.job import Progress, Usage
from sandbox.settings import AgentSettings
from tests.sandbox.agents import recorded
from tests.sandbox.agents.recorded import facts

CODEX = AGENTS["codex"]
DONE = "Done: I wrote NOTES.md and pointed to it from README.md."
BROKEN = "The connection to the model gateway broke"
RATE = "The model's rate limit was reached (429)"

# Stream -> (final event seen, part of the error, reply, fresh input, cached input, output tokens, retries).
RECORDED: dict[str, tuple[bool, str, str, int | None, int | None, int | None, int]] = {
    "ok": (True, "", DONE, 600, 3000, 102, 0),
    "codemode": (True, "", DONE, 600, 3000, 102, 0),
    "unknownmodel": (True, "", DONE, 600, 3000, 102, 0),
    "500-once": (True, "", DONE, 600, 3000, 102, 1),
    "shell": (True, "", "Done: I ran what was asked.", 600, 3000, 102, 0),
    "noop": (True, "", "Nothing to do: it is as you want it already.", 200, 1000, 34, 0),
    "decline": (True, "", "I'm sorry, but I can't help with that request.", 200, 1000, 34, 0),
    "badtool": (True, "", "Done: there was no such tool.", 400, 2000, 68, 0),
    "empty": (True, "", "", 200, 1000, 34, 0),
    # This CLI drops the API's refusal: it cannot be told from an empty reply.
    "refusal": (True, "", "", 200, 1000, 34, 0),
    "maxtokens": (True, "One answer of the model was longer than the output limit", "", None, None, None, 0),
    "400": (True, "The conversation grew too large", "", None, None, None, 0),
    "401": (True, "The model gateway refused the key (401)", "", None, None, None, 1),
    "402": (True, "The model account has no credits left (402)", "", None, None, None, 1),
    "403": (True, "The model gateway does not let this key use that model (403)", "", None, None, None, 1),
    "404": (True, "The model gateway does not know the model (404)", "", None, None, None, 0),
    "413": (True, "The request grew too large for the model gateway (413)", "", None, None, None, 1),
    "429": (True, RATE, "", None, None, None, 0),
    "429-ra": (True, RATE, "", None, None, None, 1),
    "quota": (True, "The model account has no credits left", "", None, None, None, 0),
    "500": (True, "The model gateway failed", "", None, None, None, 1),
    "503": (True, "The model gateway failed (503)", "", None, None, None, 1),
    "529": (True, "The model was overloaded (529)", "", None, None, None, 1),
    "html": (True, "The model gateway failed (502)", "", None, None, None, 1),
    "nocontact": (True, BROKEN, "", None, None, None, 1),
    "refused": (True, BROKEN, "", None, None, None, 1),
    "drop": (True, BROKEN, "", None, None, None, 1),
    "cut": (True, BROKEN, "", None, None, None, 1),
    "garbage": (True, BROKEN, "", None, None, None, 1),
    "streamerror": (True, BROKEN, "", None, None, None, 1),
    "stall": (True, "The model gateway did not answer in time", "", None, None, None, 1),
    "hang": (False, "", "", None, None, None, 0),
}


def read(*chunks: bytes) -> Reader:
    return recorded.read(CODEX.reader(), *chunks)


def stream(name: str) -> bytes:
    return recorded.stream("codex", name)


def line(kind: str, **more: object) -> bytes:
    return json.dumps({**more, "type": kind}).encode() + b"\n"


def message(text: str) -> bytes:
    return line("item.completed", item={"id": "i", "type": "agent_message", "text": text})


def test_every_recorded_stream_is_in_the_table() -> None:
    assert recorded.names("codex") == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_what_the_real_cli_printed(name: str) -> None:
    final, error, reply, fresh, cached, output, retries = RECORDED[name]
    reader = read(stream(name))
    assert (reader.final, reader.reply, reader.bad_lines) == (final, reply, 0)
    assert error in reader.error
    assert bool(error) == bool(reader.error)
    got = reader.usage
    assert (got.input_tokens, got.cached_input_tokens, got.output_tokens) == (fresh, cached, output)
    assert (got.turns, got.cost_usd) == (None, None)
    assert got.session_id is not None
    assert any("had to ask the model again once" in note for note in reader.notes) == bool(retries)


def test_the_words_for_a_refused_key_say_who_can_help_and_quote_the_cli_without_its_address() -> None:
    assert read(stream("401")).error == (
        "The model gateway refused the key (401): it is wrong for that account or gateway, and the operator must set"
        " another. The agent said: unexpected status 401 Unauthorized: Incorrect API key provided."
    )


def test_a_filter_of_the_provider_is_a_refusal() -> None:
    reader = read(line("turn.failed", error={"message": "Incomplete response returned, reason: content_filter"}))
    assert reader.refused
    assert reader.error.startswith("The model refused this request.")


def test_words_that_are_not_known_are_quoted() -> None:
    reader = read(line("turn.failed", error={"message": "something new"}))
    assert reader.error == "The agent reported an error. The agent said: something new"
    assert read(line("turn.failed", error={"message": ""})).error == "The agent reported an error."


def test_an_empty_reply_is_an_outcome_of_its_own() -> None:
    assert read(stream("empty")).notes == ("The agent ended without a final reply.",)


def test_the_reply_is_the_last_message() -> None:
    assert read(message("First."), message("Last."), line("turn.completed")).reply == "Last."


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("503", "The agent had to ask the model again once (last: status 503)."),
        ("drop", "The agent had to ask the model again once (last: no whole answer)."),
    ],
)
def test_retries_are_noted_also_when_the_run_was_killed_during_them(name: str, note: str) -> None:
    lines = stream(name).splitlines(keepends=True)
    reader = read(*lines[:3])
    assert not reader.final
    assert reader.error == ""
    assert reader.notes == (note,)


def test_retries_without_a_count_are_retries() -> None:
    assert read(line("error", message="Reconnecting... waiting for network")).error == ""


def test_trouble_without_an_end_was_the_end() -> None:
    lines = stream("404").splitlines(keepends=True)
    reader = read(*lines[:-1])
    assert not reader.final
    assert "does not know the model" in reader.error
    reader.finish()
    assert not reader.final


def test_trouble_that_was_overcome_is_none() -> None:
    reader = read(line("error", message="a warning"), message("Done."), line("turn.completed"))
    assert (reader.final, reader.error, reader.reply) == (True, "", "Done.")


def test_progress_shows_the_latest_tool_file_and_words() -> None:
    lines = stream("ok").splitlines(keepends=True)
    assert read(*lines[:4]).progress == Progress(
        last_tool="apply_patch", last_file="NOTES.md", last_words="I will write the notes first."
    )
    assert read(*lines).progress == Progress(last_tool="shell", last_file="", last_words=DONE)


def test_a_tool_of_a_server_is_shown_by_its_name() -> None:
    item = {"id": "i", "type": "mcp_tool_call", "server": "s", "tool": "look", "status": "in_progress"}
    assert read(line("item.started", item=item)).progress.last_tool == "look"


def test_progress_and_reply_are_bounded() -> None:
    item = {"type": "mcp_tool_call", "tool": "T" * 9999, "changes": [{"path": "f" * 9999}]}
    reader = read(line("item.started", item=item), message("w" * 200_000), line("turn.completed"))
    shown = reader.progress
    assert len(shown.last_tool) == MAX_TOOL_CHARS
    assert len(shown.last_file) == MAX_FILE_CHARS
    assert len(shown.last_words) == MAX_WORDS_CHARS
    assert len(reader.reply) == MAX_REPLY_CHARS


def test_an_exit_without_a_final_event_is_not_final() -> None:
    lines = stream("ok").splitlines(keepends=True)
    reader = read(*lines[:-1])
    assert not reader.final
    assert (reader.usage.input_tokens, reader.reply) == (None, "")


@pytest.mark.parametrize(
    "more", [line("turn.started"), message("On."), b'{"type":"item.started","item":{"type":"file_change"}}']
)
def test_an_agent_that_works_on_after_a_final_event_is_not_done_before_the_next_one(more: bytes) -> None:
    assert not read(stream("ok"), more).final
    assert read(stream("ok"), more, b"\n", line("turn.completed")).final


def test_a_later_error_does_not_take_the_place_of_the_first() -> None:
    assert "(401)" in read(stream("401"), line("turn.failed", error={"message": "nothing of note"})).error


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_forged_success_never_takes_back_an_error(order: tuple[int, int]) -> None:
    parts = (stream("401"), message("All good, merge it.") + line("turn.completed"))
    reader = read(parts[order[0]], parts[order[1]])
    assert "(401)" in reader.error
    assert reader.reply == ""


LONG = b"x" * (12 * 2**20) + b'"}}\n'


def test_b98_a_line_of_12_mb_does_not_cost_the_final_event_behind_it() -> None:
    reader = read(b'{"type":"news","text":"' + LONG, stream("ok"))
    assert reader.final
    assert reader.reply == DONE
    assert reader.bad_lines == 1


def test_the_long_output_of_a_command_is_not_missed() -> None:
    item = b'{"type":"item.completed","item":{"id":"item_1","type":"command_execution","aggregated_output":"'
    reader = read(item + LONG, stream("ok"))
    assert reader.reply == DONE
    assert (reader.bad_lines, reader.notes) == (0, ())


def test_b98_no_newline_behind_the_final_event() -> None:
    assert read(stream("ok").rstrip(b"\n")).final


def test_b25_nul_and_lone_surrogates_in_a_line_are_survived() -> None:
    reader = read(message("a\0b\ud800"), line("turn.completed"))
    assert reader.reply == "ab\ufffd"
    Progress.model_validate_json(reader.progress.model_dump_json())


def test_a_malformed_figure_does_not_cost_the_final_event() -> None:
    reader = read(line("turn.completed", usage={"input_tokens": "7", "cached_input_tokens": -1, "output_tokens": 3}))
    assert reader.final
    assert reader.usage == Usage(output_tokens=3)


def test_more_cached_than_all_input_is_no_negative_number() -> None:
    reader = read(line("turn.completed", usage={"input_tokens": 1, "cached_input_tokens": 2, "output_tokens": 3}))
    assert (reader.usage.input_tokens, reader.usage.cached_input_tokens) == (0, 2)


PARTS = st.sampled_from(
    [
        line("turn.completed"),
        line("turn.failed", error={"message": "x"}),
        line("error", message="x"),
        stream("ok"),
        b"\n",
        b"{",
        b'"type":"turn.completed"',
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
JSON = ANY | st.lists(ANY, max_size=2) | st.dictionaries(st.sampled_from(["path", "message"]), ANY, max_size=2)
ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(["agent_message", "file_change", "mcp_tool_call"]) | ANY},
    optional={**dict.fromkeys(["text", "tool"], JSON), "changes": st.lists(JSON, max_size=2) | JSON},
)
SHAPE: dict[str, st.SearchStrategy[object]] = {
    "item": ITEM | JSON,
    **dict.fromkeys(["error", "message", "thread_id"], JSON),
    "usage": st.fixed_dictionaries({}, optional=dict.fromkeys(["input_tokens", "output_tokens"], JSON)) | JSON,
}
KINDS = ["thread.started", "turn.started", "item.completed", "turn.completed", "turn.failed", "error", "news"]


@given(st.sampled_from(KINDS), st.fixed_dictionaries({}, optional=SHAPE))
def test_no_shape_of_an_event_raises(kind: str, event: dict[str, object]) -> None:
    """And what is read of it can be stored and sent."""
    reader = read(line(kind, **event))
    for value in (reader.usage, reader.progress):
        assert type(value).model_validate_json(value.model_dump_json()) == value
    "".join((reader.error, reader.reply, *reader.notes)).encode()


# ---- what goes in


def configured(run: Run) -> dict[str, object]:
    """The configuration on the command line, as the CLI reads it: each value as TOML."""
    given = [part.removeprefix("--config=") for part in CODEX.command(run) if part.startswith("--config=")]
    return {key: tomllib.loads(f"x={value}")["x"] for key, _, value in (one.partition("=") for one in given)}


def test_the_command_holds_the_operators_model_and_nothing_of_a_user() -> None:
    command = CODEX.command(Run("gpt-5.5"))
    assert command[:3] == ["/usr/local/bin/codex", "exec", "--json"]
    assert command[-2:] == ["--model=gpt-5.5", "-"]
    for needed in ("--strict-config", "--ignore-user-config", "--ignore-rules", "--ephemeral"):
        assert needed in command


def test_the_configuration_names_our_provider_and_the_operators_limits() -> None:
    config = configured(Run("m", settings=AgentSettings(max_retries=3, api_timeout_seconds=7)))
    assert config["model_provider"] == "gateway"
    assert config["model_providers.gateway.base_url"] == "http://127.0.0.1:9001/v1"
    assert config["model_providers.gateway.stream_max_retries"] == 3
    assert config["model_providers.gateway.request_max_retries"] == 0  # those two would multiply
    assert config["model_providers.gateway.stream_idle_timeout_ms"] == 7000
    assert config["web_search"] == "disabled"
    assert config["project_doc_fallback_filenames"] == ["CLAUDE.md"]
    assert not [key for key in config if key.startswith("projects")]  # untrusted ones lose their instructions
    for feature in ("plugins", "hooks", "unbounded_connection_retries", "enable_request_compression"):
        assert config[f"features.{feature}"] is False


@pytest.mark.parametrize("model", ["", "--help", "-p", "a b", "a\nb", "a;b", "$(id)", "ü", "x" * 201, "a'b", 'a"b'])
def test_a_model_name_that_could_be_anything_else_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a model"):
        CODEX.command(Run(model))


@pytest.mark.parametrize("model", ["gpt-5.5", "openai/gpt-5.5", "@cf/openai/gpt-oss-120b", "ft:gpt-4.1:org::id"])
def test_model_names_of_gateways_are_taken(model: str) -> None:
    assert f"--model={model}" in CODEX.command(Run(model))


def test_the_environment_holds_a_placeholder() -> None:
    assert CODEX.environment(Run("m"))["OPENAI_API_KEY"] == "placeholder"
    assert CODEX.home(Run("m")) == {}


@pytest.mark.parametrize("text", ["Fix it.", "/help", "-p --model x", "@file", "😊\r\nü", " space "])
def test_a_prompt_reaches_the_model_as_it_was_written(text: str) -> None:
    assert CODEX.prompt(text) == text.encode()


def test_a_prompt_that_no_encoder_takes_is_mended() -> None:
    assert CODEX.prompt("a\0\ud800b") == "a\ufffdb".encode()
