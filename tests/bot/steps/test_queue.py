"""The waiting tasks show their position, and move up."""

from __future__ import annotations

from bot.demo.github import Failure
from bot.steps.progress import SHORTEST
from tests.bot.stage import Stage


async def three_in_one_thread(stage: Stage) -> list[str]:
    """The first runs, two wait; their sandboxes' names."""
    stage.sandbox.automatic = None
    for _ in range(3):
        await stage.ask()
    await stage.until(lambda: stage.sandbox.counts()["wait"] >= 1)
    await stage.local.until(lambda: len([c for c in stage.said if "Queued" in c]) == 2)
    return [f"t{task.task_id}" for task in await stage.tasks()]


def positions(stage: Stage) -> list[str]:
    return [body.split("\n")[0] for body in stage.said if "Queued" in body]


async def test_waiting_tasks_show_their_position_and_one_runs_at_a_time(stage: Stage) -> None:
    names = await three_in_one_thread(stage)
    assert "1 task is ahead" in positions(stage)[0]
    assert "2 tasks are ahead" in positions(stage)[1]

    stage.sandbox.end(names[0])
    await stage.until(lambda: names[1] in stage.sandbox.boxes)
    stage.clock.time += SHORTEST
    await stage.runner.step()
    await stage.local.await_comment(lambda c: c.by_app and "1 task is ahead" in c.body)
    assert len(positions(stage)) == 1

    for name in names[1:]:
        await stage.until(lambda name=name: name in stage.sandbox.boxes)  # type: ignore[misc]
        await stage.so(lambda name=name: stage.sandbox.boxes[name].phase == "running")  # type: ignore[misc]
        stage.sandbox.end(name)
    await stage.settle()
    assert [task.ending for task in await stage.tasks()] == ["changed"] * 3
    assert stage.sandbox.running_at_most == 1
    assert len(stage.said) == 3


async def test_position_is_not_shown_more_often_than_every_15_seconds(stage: Stage) -> None:
    names = await three_in_one_thread(stage)
    edits = sum(e.operation == "issues/update-comment" for e in stage.local.log)
    stage.sandbox.end(names[0])
    await stage.until(lambda: names[1] in stage.sandbox.boxes)
    await stage.so(lambda: stage.sandbox.boxes[names[1]].phase == "running")
    third = [e for e in stage.local.log if e.operation == "issues/update-comment"][edits:]
    assert not any("number 1" in str(e.json()) or "Next" in str(e.json()) for e in third)
    await stage.close()
    await stage.open()


async def test_waiting_task_whose_comment_was_never_made_gets_one(stage: Stage) -> None:
    """The server died between letting a task in and telling its asker."""
    stage.sandbox.automatic = None
    await stage.ask()
    await stage.until(lambda: stage.sandbox.counts()["wait"] >= 1)
    await stage.ask()
    _, new = await stage.tasks()
    (new,) = await stage.store.claim("dead", stage.caps, frozenset({(await stage.tasks())[0].task_id}))
    await stage.store.admit(new, stage.caps)
    stage.clock.time += 31
    for _ in range(2):
        await stage.runner.step()
        await stage.so(lambda: "positions" not in stage.runner._beside)
        stage.clock.time += SHORTEST
    assert len(positions(stage)) == 1


async def test_position_that_could_not_be_shown_is_shown_later(stage: Stage) -> None:
    names = await three_in_one_thread(stage)
    await stage.local.await_comment(lambda c: "Working" in c.body)
    stage.sandbox.end(names[0])
    await stage.until(lambda: names[1] in stage.sandbox.boxes)
    await stage.so(lambda: stage.sandbox.boxes[names[1]].phase == "running")
    failure = stage.local.fail(Failure("issues/update-comment", 502, times=2))
    stage.clock.time += SHORTEST
    await stage.until(lambda: failure.hits > 0)
    stage.local.failures.clear()
    stage.clock.time += SHORTEST
    await stage.until(lambda: "1 task is ahead" in "".join(positions(stage)))
