from __future__ import annotations

from bot.demo.github import Failure, LocalGitHub
from bot.github import CheckAction, GitHub
from tests.bot.conversing import talk
from tests.github_world import Place

CANCEL = CheckAction(label="Cancel", description="Stop the task", identifier="cancel")


async def test_a_check_is_made_once_and_completed(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    t = await talk(github_world, place)
    checks = github_client.checks
    made = [
        await checks.create(
            place.where, sha=t.pull.sha, external_id="a:2", title="Working", summary="s", actions=[CANCEL]
        )
        for _ in range(2)
    ]
    assert made[0] == made[1] == place.repository.checks[0].id
    assert await checks.update(place.where, made[0] or 0, title="Done", summary="s", conclusion="success", actions=[])
    fields = place.repository.checks[0].fields
    assert (fields["status"], fields["conclusion"], fields["output"]["title"]) == ("completed", "success", "Done")
    again = await checks.create(place.where, sha=t.pull.sha, external_id="a:2", title="Again", summary="s", actions=[])
    assert again == made[0]  # a task has one; repeating it after a crash at the end makes no second


async def test_b82_a_check_made_by_a_call_that_failed_is_not_made_again(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    t = await talk(github_world, place)
    github_world.fail(Failure("checks/create", 502, after_effect=True))
    made = await github_client.checks.create(
        place.where, sha=t.pull.sha, external_id="a:2", title="T", summary="s", actions=[]
    )
    assert [check.id for check in place.repository.checks] == [made]


async def test_without_the_permission_the_feature_is_off(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    t = await talk(github_world, place)
    del github_world.app.permissions["checks"]
    made = await github_client.checks.create(
        place.where, sha=t.pull.sha, external_id="a:2", title="T", summary="s", actions=[]
    )
    assert made is None
    changed = await github_client.checks.update(place.where, 5, title="T", summary="s", conclusion=None, actions=[])
    assert not changed


async def test_switched_off_nothing_is_asked(github_world: LocalGitHub, github_client: GitHub, place: Place) -> None:
    t = await talk(github_world, place)
    github_client.checks.on = False
    asked = len(github_world.log)
    made = await github_client.checks.create(
        place.where, sha=t.pull.sha, external_id="a:2", title="T", summary="s", actions=[]
    )
    changed = await github_client.checks.update(place.where, 5, title="T", summary="s", conclusion=None, actions=[])
    assert not changed
    assert (made, len(github_world.log)) == (None, asked)


async def test_b76_held_are_workflows_of_actions_that_wait_for_somebody(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    t, held = await talk(github_world, place), github_client.checks.held
    assert not await held(place.where, t.pull.sha)
    github_world.conclude(place.repository, t.pull.sha, "success")
    github_world.conclude(place.repository, t.pull.sha, app="somebody-elses")
    github_world.conclude(place.repository, "a" * 40)
    assert not await held(place.where, t.pull.sha)
    github_world.conclude(place.repository, t.pull.sha)
    assert await held(place.where, t.pull.sha)
    github_client.checks.on = False
    assert not await held(place.where, t.pull.sha)


async def test_without_the_permission_nobody_knows_of_it(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    t = await talk(github_world, place)
    github_world.conclude(place.repository, t.pull.sha)
    del github_world.app.permissions["checks"]
    assert not await github_client.checks.held(place.where, t.pull.sha)
