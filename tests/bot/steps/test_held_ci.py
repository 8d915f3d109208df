"""CI of the bot's pull requests: it runs as for anybody's, and where GitHub holds it back that is said."""

from __future__ import annotations

import pytest

from bot.conversation_words import ci_held
from bot.demo.github import Failure
from tests.bot.stage import Stage
from tests.bot.steps.test_publish import opened
from tests.github_world import sent


async def asked(talk: Stage, words: str, number: int) -> str:
    """The answer to a command on a pull request or issue."""
    talk.later()
    issue = talk.repository.issues[number]
    await talk.say(words, issue=issue)
    await talk.settle()
    return talk.said_on(issue)[-1]


async def status_says_nothing_of_ci(talk: Stage, number: int) -> None:
    said = await asked(talk, "/agent status", number)
    assert "Nothing is under way" in said
    assert "CI" not in said


@pytest.mark.parametrize("on", ["issue", "pull request"])
async def test_b76_status_says_that_ci_waits_for_an_approval(talk: Stage, on: str) -> None:
    issue, pull = await opened(talk)
    talk.local.conclude(talk.repository, pull.sha)
    said = await asked(talk, "/agent status", issue.number if on == "pull request" else talk.issue.number)
    assert ci_held(issue.number, pull.sha) in said
    assert "Nothing is under way" in said


async def test_b76_so_does_the_next_task_when_it_ends(talk: Stage) -> None:
    issue, pull = await opened(talk)
    first = pull.sha
    talk.local.conclude(talk.repository, first)
    said = await asked(talk, "/agent more", issue.number)
    assert ci_held(issue.number, first) in said
    assert "Pushed to" in said


async def test_b76_nothing_is_said_of_ci_that_runs(talk: Stage) -> None:
    issue, pull = await opened(talk)
    talk.local.conclude(talk.repository, pull.sha, "success")
    await status_says_nothing_of_ci(talk, issue.number)
    assert sent(talk.local, "checks/list-suites-for-ref") == 1


async def test_nor_of_a_head_or_a_pull_request_that_is_none_of_ours_any_more(talk: Stage) -> None:
    issue, pull = await opened(talk)
    first = pull.sha
    talk.local.conclude(talk.repository, first)
    await talk.local.push(talk.repository, issue, {"f": b"theirs\n"})
    await status_says_nothing_of_ci(talk, issue.number)
    pull.sha = first
    await talk.local.close(talk.repository, issue)
    await status_says_nothing_of_ci(talk, issue.number)
    other = await talk.local.open_pull(talk.repository, {"f": b"new\n"}, user="alice")
    assert other.pull is not None
    talk.local.conclude(talk.repository, other.pull.sha)
    await status_says_nothing_of_ci(talk, other.number)


@pytest.mark.parametrize("operation", ["checks/list-suites-for-ref", "pulls/get"])
async def test_what_cannot_be_asked_keeps_nobody_from_his_answer(talk: Stage, operation: str) -> None:
    issue, pull = await opened(talk)
    talk.local.conclude(talk.repository, pull.sha)
    talk.local.fail(Failure(operation, 503, times=None))
    assert "Nothing is under way" in await asked(talk, "/agent status", issue.number)


async def test_b76_what_a_pull_request_is_made_of_carries_the_installation_s_token(talk: Stage) -> None:
    """With the token of a workflow, GitHub would start none for it."""
    issue, _ = await opened(talk)
    made = [one for one in talk.local.log if one.operation in {"git/create-commit", "git/create-ref", "pulls/create"}]
    assert len(made) == 3
    assert {one.caller for one in made} == {"installation"}
    assert issue.user is talk.local.app.user
    assert {one.actor for one in talk.repository.activities if one.ref.startswith("refs/heads/agent/")} == {
        talk.local.app.user
    }
