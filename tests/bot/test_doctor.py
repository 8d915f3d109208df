"""`gofer doctor` prints: a line a finding, what to do, and a status that says whether to go on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.__main__ import main
from bot.doctor import FAILED, HEALTHY, lines, tell
from sandbox import Finding, Health, Unreachable

OK = Finding(subject="engine", health=Health.OK, words="version 1")
WARNING = Finding(subject="image base", health=Health.WARNING, words="old", remedy="make images")
BROKEN = Finding(subject="gateway anthropic", health=Health.FAILED, words="no key", remedy="give one")


async def told(*findings: Finding | Exception) -> tuple[int, list[str]]:
    async def each() -> AsyncIterator[Finding]:
        for finding in findings:
            if isinstance(finding, Exception):
                raise finding
            yield finding

    said: list[str] = []
    return await tell(each(), said.append), said


def test_a_finding_is_a_line_and_a_remedy_another() -> None:
    assert lines(OK) == ["ok      engine            version 1"]
    assert lines(WARNING) == ["warning image base        old", "                          to do: make images"]


async def test_the_status_says_whether_something_has_failed() -> None:
    assert await told(OK) == (HEALTHY, [*lines(OK), "All is well."])
    assert (await told(OK, WARNING))[0] == HEALTHY
    status, said = await told(OK, WARNING, BROKEN)
    assert status == FAILED
    assert said[-1] == "1 failed, 1 to look at: tasks cannot be trusted to work."


async def test_an_engine_that_goes_away_is_a_failure() -> None:
    status, said = await told(OK, Unreachable("gone"))
    assert status == FAILED
    assert "it went away: gone" in said[1]


def test_it_is_a_command_and_needs_no_github(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOFER_STATE_DIR", f"{tmp_path}/state")
    monkeypatch.setenv("GOFER_DOCKER_HOST", "tcp://127.0.0.1:9")
    monkeypatch.setenv("GOFER_MODEL_KEY", "sk-0123456789abcdef0123456789abcdef")
    assert main(["doctor", "--offline"]) == FAILED
    assert "does not answer" in capsys.readouterr().out
