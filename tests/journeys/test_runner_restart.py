"""The runner dies or is restarted under a bot that works on: unreachable is never absent, and the task goes on."""

from __future__ import annotations

from pathlib import Path

import docker
import pytest

from tests.engine import Images
from tests.journey import all_done, issue_in, server_in, world
from tests.journeys.test_restart import SLOW, working
from tests.ways import RUNNER, going

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.mark.parametrize("end", ["kill", "terminate"])
async def test_the_next_runner_goes_on_where_this_one_ended(
    end: str, docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    with going(RUNNER):
        async with world(docker_client, images, nothing_left_behind, tmp_path) as w, server_in(w) as server:
            assert w.runner is not None
            repository, issue = issue_in(w)
            await w.github.comment(repository, issue, "mona", f"/agent go slowly {SLOW}")
            await working(w, docker_client, nothing_left_behind)
            await (w.runner.kill() if end == "kill" else w.runner.terminate())
            await w.runner.start()
            result = await w.result(issue)
            assert "**Verdict: changed.**" in result.body
            assert "+++ b/BEGAN.md" in result.body
            assert len(w.github.bot_comments(issue)) == 1
            await all_done(server, 1)


async def test_a_bot_that_starts_before_its_runner_takes_webhooks_and_works_when_it_is_there(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    with going(RUNNER):
        async with world(docker_client, images, nothing_left_behind, tmp_path) as w:
            assert w.runner is not None
            await w.runner.terminate()
            async with server_in(w) as server:
                repository, issue = issue_in(w)
                await w.github.comment(repository, issue, "mona", "/agent write notes")
                assert w.github.deliveries[0].status == 202
                await w.runner.start()
                assert "+++ b/NOTES.md" in (await w.result(issue)).body
                await all_done(server, 1)
