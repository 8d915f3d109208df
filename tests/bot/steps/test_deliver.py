"""The end of a task: one comment with the result, whatever happens on the way."""

from __future__ import annotations

from tests.bot.stage import Stage


async def test_whole_life_leaves_one_comment_with_the_diff_and_no_sandbox(stage: Stage) -> None:
    comment = await stage.ask()
    await stage.settle()

    task = await stage.the_task()
    assert (task.state, task.ending) == ("done", "changed")
    (said,) = stage.said
    assert "+new" in said
    assert stage.reactions(comment) == ["eyes"]
    assert stage.sandbox.boxes == {}
    assert await stage.store.patch(task.task_id) is not None
