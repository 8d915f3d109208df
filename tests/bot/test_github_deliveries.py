from __future__ import annotations

from datetime import timedelta

from bot.demo.github import LocalGitHub
from bot.github import GitHub
from tests.github_world import FakeTime, Place, sent


async def test_b19_failed_deliveries_are_found_page_by_page_and_sent_again(
    github_world: LocalGitHub, github_client: GitHub, fake_time: FakeTime, place: Place
) -> None:
    await github_world.connect_webhook("http://127.0.0.1:9/nobody")
    await github_world.comment(place.repository, place.issue, "alice", "too old")
    fake_time.advance(days=4)
    since = fake_time()
    for number in range(150):
        await github_world.comment(place.repository, place.issue, "alice", f"{number}")
    for one in github_world.state.sent[1:-2]:
        one.status = 202
    failed = await github_client.missed.failed(since - timedelta(days=3))
    assert [one.guid for one in failed] == [one.guid for one in github_world.state.sent[-2:]]
    assert sent(github_world, "apps/list-webhook-deliveries") == 2
    await github_client.missed.again(failed[0].id)
    await github_world.until(lambda: len(github_world.deliveries) == 152)
    assert github_world.deliveries[-1].id == failed[0].guid


async def test_b19_one_that_was_taken_later_is_not_failed(
    github_world: LocalGitHub, github_client: GitHub, fake_time: FakeTime, place: Place
) -> None:
    await github_world.connect_webhook("http://127.0.0.1:9/nobody")
    since = fake_time()
    await github_world.comment(place.repository, place.issue, "alice", "x")
    await github_world.redeliver(github_world.deliveries[0])
    github_world.state.sent[-1].status = 202
    assert await github_client.missed.failed(since) == []
