"""GitHub fails at each of the calls of a task, each way: one result, one pull request, an honest end.

What the calls are is recorded, and held against the tables here, so that a new call cannot go untested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from bot.check_words import running
from bot.comments import fetching
from bot.conversation_words import permission_lost
from bot.demo.github import Failure
from bot.publishing.plan import Why
from bot.publishing.words import refusal_note
from bot.store import Task
from tests.bot.expected import expected, status
from tests.bot.one_call import LINES, WAYS, Scene, Way, a_scene
from tests.openapi.conform import assert_conforms

CALLS = {
    "opens": {
        "apps/create-installation-access-token": 6,
        "apps/revoke-installation-access-token": 1,
        "checks/create": 1,
        "checks/list-for-ref": 1,
        "checks/update": 1,
        "git/create-commit": 1,
        "git/create-ref": 1,
        "git/create-tree": 1,
        "git/get-commit": 1,
        "git/get-ref": 1,
        "graphql": 1,
        "issues/create-comment": 1,
        "issues/get": 1,
        "issues/list-comments": 2,
        "issues/update-comment": 1,
        "pulls/create": 1,
        "pulls/list": 1,
        "reactions/create-for-issue-comment": 1,
        "repos/get": 3,
        "repos/get-collaborator-permission-level": 4,
        "repos/get-content": 1,
    },
    "answers": {
        "apps/create-installation-access-token": 2,
        "apps/revoke-installation-access-token": 1,
        "checks/create": 2,
        "checks/list-for-ref": 2,
        "checks/list-suites-for-ref": 1,
        "checks/update": 2,
        "git/create-commit": 1,
        "git/create-tree": 1,
        "git/get-commit": 1,
        "git/get-ref": 2,
        "git/update-ref": 1,
        "graphql": 3,
        "issues/create-comment": 1,
        "issues/get": 1,
        "issues/list-comments": 2,
        "issues/update-comment": 1,
        "pulls/create-reply-for-review-comment": 2,
        "pulls/get": 4,
        "pulls/list-review-comments": 3,
        "pulls/list-reviews": 1,
        "repos/get": 3,
        "repos/get-collaborator-permission-level": 3,
    },
}
# Of some five hundred rows about forty are in make test: prime to the number of ways, so that all of them are met.
STRIDE = 13
# What was found by this table: a failure after the push made the bot take its own commit for somebody else's.
ALWAYS = {
    ("opens", "checks/update", 0, "500"),
    ("opens", "issues/update-comment", 0, "403 secondary"),
    ("answers", "git/update-ref", 0, "502 after it was done"),
    ("answers", "pulls/create-reply-for-review-comment", 1, "500"),
}
# Nothing depends on them, and where they fail nothing is said.
ORNAMENTS = ("reactions/", "checks/", "apps/revoke")


def rows() -> Iterator[ParameterSet]:
    number = 0
    for task, calls in CALLS.items():
        for operation, count in calls.items():
            for before in range(count):
                for way in WAYS:
                    quick = number % STRIDE == 0 or (task, operation, before, way) in ALWAYS
                    marks = [] if quick else [pytest.mark.slow]
                    yield pytest.param(task, operation, before, way, marks=marks)
                    number += 1


@pytest.mark.parametrize("task", CALLS)
async def test_the_calls_of_a_task_are_those_that_are_tested(task: str, tmp_path: Path) -> None:
    async with a_scene(tmp_path, Way(Failure)) as scene:
        await getattr(scene, task)()
        assert dict(sorted(scene.recorded.items())) == CALLS[task]
        assert_conforms(scene.stage.local.log)


@pytest.mark.parametrize(("task", "operation", "before", "way"), list(rows()))
async def test_one_result_one_pull_request_and_an_honest_end(
    task: str, operation: str, before: int, way: str, tmp_path: Path
) -> None:
    async with a_scene(tmp_path, WAYS[way]) as scene:
        done = await getattr(scene, task)(operation, before)
        assert_conforms(scene.stage.local.log)
        if WAYS[way].passing or operation.startswith(ORNAMENTS):
            await went_well(scene, task, done)
            if operation == "checks/update" and not WAYS[way].passing:
                await still_under_way(scene, done)
        else:
            await ended_honestly(scene, task, operation, done)


async def went_well(scene: Scene, task: str, done: Task) -> None:
    """As if nothing had failed."""
    assert scene.stage.pulls() == [scene.pull]
    found = await expected(scene.stage, done, scene.pull, updated=task == "answers")
    assert done.ending == "changed"
    assert said_on(scene, task) == [found.result]
    assert scene.stage.file(scene.branch) == b"# Hello!\n"
    if task == "answers":
        assert replies(scene) == [found.reply(root.id, line) for root, line in zip(scene.roots, LINES, strict=True)]


async def still_under_way(scene: Scene, done: Task) -> None:
    """A check run that GitHub calls not there, and all the same shows, is one that nobody can end."""
    found = await expected(scene.stage, done, scene.pull, updated=len(scene.stage.jobs) > 1)
    (check,) = [one for one in scene.stage.reader.checks(scene.stage.repository) if one.words.conclusion is None]
    assert check.words in (running(done.task_id), replace(found.check, conclusion=None))


async def ended_honestly(scene: Scene, task: str, operation: str, done: Task) -> None:
    """GitHub has said twice that something is not there. What is said is so, and nothing is left as under way."""
    said, pulls = said_on(scene, task), scene.stage.pulls()
    if done.ending == "refused" or await scene.stage.store.outcome(done.task_id) is None:
        assert said == []  # no agent has run: he may not, or the thread takes no word
        assert scene.stage.jobs == [] or task == "answers"
        return
    if operation == "issues/update-comment":  # then somebody has deleted it: the result is a comment of its own
        left, *said = said
        assert left == status(done, fetching())
    found = await expected(scene.stage, done)
    if done.work.pull is not None and done.work.aim is not None:
        pull, aside = scene.stage.repository.issues[done.work.pull], Why(done.work.aim.aside)
        updated = done.work.aim.pull is not None
        found = await expected(scene.stage, done, pull, updated=updated, aside=aside)
        assert (aside is Why.NONE) == (len(pulls) == 1)
    elif done.work.refused:
        assert len(pulls) == (task == "answers")
        notes = refusal_note(404, "scripted failure", "/agent"), permission_lost("alice", "/agent")
        found = next((one for one in map(found.with_note, notes) if [one.result] == said), found)
    assert said == [found.result]


def said_on(scene: Scene, task: str) -> list[str]:
    return scene.stage.said_on(scene.pull if task == "answers" else scene.stage.issue)


def replies(scene: Scene) -> list[str]:
    assert scene.pull.pull is not None
    return [one.body for one in scene.pull.pull.comments if one.by_app]
