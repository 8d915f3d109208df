from __future__ import annotations

import json
from typing import Any

import pytest

from bot.demo import messages, scenarios
from bot.demo.asked import Asked
from bot.demo.say import Call, Say
from bot.demo.scenarios import BREAKS, FAILURES, Break, Fail

TOOLS = [{"name": "Bash"}, {"name": "Write"}]
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}


def asked(prompt: str = "Write some notes.", *, results: int = 0, **more: Any) -> Asked:
    reminder = {"type": "text", "text": "<system-reminder>[[scenario:500]]</system-reminder>"}
    typed = {"role": "user", "content": [reminder, {"type": "text", "text": prompt}]}
    body = {"model": "m", "messages": [typed, *[RESULT] * results], "tools": TOOLS, **more}
    return messages.read(json.dumps(body).encode())


def test_the_demo_writes_a_file_edits_another_and_says_so() -> None:
    steps = [scenarios.answer(asked(results=done), "ok") for done in range(4)]
    assert [type(step) for step in steps] == [Say] * 4
    calls = [step.call.tool if isinstance(step, Say) and step.call else None for step in steps]
    assert calls == ["Write", "Bash", None, None]
    assert isinstance(steps[2], Say)
    assert steps[2].text.startswith("Done: ")


def test_the_notes_quote_the_prompt_without_the_marker_and_lie_where_the_agent_works() -> None:
    question = asked(
        "  [[scenario:ok]] Fix it.\nNow.", system=[{"type": "text", "text": "working directory: /ws/repo\n"}]
    )
    answer = scenarios.answer(question, "ok")
    assert isinstance(answer, Say)
    assert answer.call
    assert answer.call.input["file_path"] == "/ws/repo/NOTES.md"
    assert "> Fix it.\n" in answer.call.input["content"]


def test_commands_are_run_one_after_another() -> None:
    scenario = scenarios.shell("echo 'a b'", "printf '\\n'", "é")
    told = [scenarios.answer(asked(results=done), scenario) for done in range(4)]
    commands = [step.call.input["command"] if isinstance(step, Say) and step.call else None for step in told]
    assert commands == ["echo 'a b'", "printf '\\n'", "é", None]


def test_a_file_of_the_repository_is_read() -> None:
    step = scenarios.answer(asked(), scenarios.read("src/é.py"))
    assert isinstance(step, Say)
    assert step.call
    assert step.call.input["command"].endswith("/src/é.py'")
    assert scenarios.answer(asked(results=1), scenarios.read("x")) == Say("Done: I read it.")


def test_a_loop_never_ends() -> None:
    answer = scenarios.answer(asked(results=99), "loop")
    assert isinstance(answer, Say)
    assert isinstance(answer.call, Call)


def test_the_prompt_chooses_and_the_clis_own_reminders_do_not() -> None:
    assert scenarios.chosen(asked("Do it."), "noop") == "noop"
    shell = scenarios.shell("true", "false")
    assert scenarios.chosen(asked(f"Do {scenarios.marker(shell)} it."), "noop") == shell


def test_a_request_without_tools_is_a_title() -> None:
    assert scenarios.answer(asked(tools=[]), "ok") == Say(text="Notes")


@pytest.mark.parametrize("name", FAILURES)
def test_every_status_is_a_scenario(name: str) -> None:
    assert scenarios.answer(asked(), name) == Fail(name)


@pytest.mark.parametrize("kind", BREAKS)
def test_every_break_is_a_scenario(kind: str) -> None:
    answer = scenarios.answer(asked(), kind)
    assert isinstance(answer, Break)
    assert answer.kind == kind


@pytest.mark.parametrize("scenario", ["", "418", "nonsense", "okay", "shell:not base64!"])
def test_an_unknown_scenario_is_refused(scenario: str) -> None:
    with pytest.raises(ValueError, match=r"not known|base64|Only base64"):
        scenarios.answer(asked(), scenario)


def test_the_page_of_scenarios_is_complete() -> None:
    """The module's docstring is what people read to choose one."""
    listed = set((scenarios.__doc__ or "").replace(",", " ").replace(":A:B", "").split())
    for name in [*scenarios._SAYINGS, *scenarios._SCRIPTS, *BREAKS, *FAILURES]:
        assert name in listed
        assert scenarios.known(name)


def test_a_script_may_choose_its_last_words() -> None:
    scenario = scenarios.says("[1] Done: it shouts.", "true")
    first, last = (scenarios.answer(asked(results=done), scenario) for done in range(2))
    assert isinstance(first, Say)
    assert first.call
    assert first.call.input["command"] == "true"
    assert last == Say("[1] Done: it shouts.")
    assert scenarios.answer(asked(), scenarios.says("No.")) == Say("No.")
