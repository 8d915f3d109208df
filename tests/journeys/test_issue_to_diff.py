"""The main job on real parts: a comment becomes a diff in a comment; and what becomes of what is not allowed."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import docker
import pytest

from bot.demo import scenarios
from tests.engine import Images
from tests.journey import all_done, issue_in, server_in, world

pytestmark = pytest.mark.engine


async def test_a_comment_becomes_a_diff(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    async with world(docker_client, images, nothing_left_behind, tmp_path) as w, server_in(w) as server:
        repository, issue = issue_in(w)
        asked = await w.github.comment(repository, issue, "mona", "/agent write notes")
        assert w.github.deliveries[0].status == 202
        result = await w.result(issue)
        assert "+++ b/NOTES.md" in result.body
        assert "+See NOTES.md." in result.body
        assert [reaction.content for reaction in asked.reactions] == ["eyes"]
        assert len(w.github.bot_comments(issue)) == 1
        heads = [text.splitlines()[0] for text in result.history]
        assert any("Preparing" in head for head in heads)
        assert any("Working" in head for head in heads)
        await all_done(server, 1)


async def test_a_private_repository_is_fetched_with_a_token_that_is_revoked(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    async with world(docker_client, images, nothing_left_behind, tmp_path) as w, server_in(w) as server:
        repository, issue = issue_in(w, private=True)
        await w.github.comment(repository, issue, "mona", "/agent write notes")
        assert "+++ b/NOTES.md" in (await w.result(issue)).body
        fetches = [e for e in w.github.log if e.operation.startswith("git/")]
        assert fetches
        assert {e.status for e in fetches} <= {200, 401}
        await all_done(server, 1)
    revoked = [e for e in w.github.log if e.method == "DELETE" and e.path.endswith("/installation/token")]
    assert revoked


async def test_a01_a_reader_starts_nothing(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    async with world(docker_client, images, nothing_left_behind, tmp_path) as w, server_in(w) as server:
        repository, issue = issue_in(w)
        await w.github.comment(repository, issue, "stranger", "/agent mine bitcoin")
        await all_done(server, 1)
        assert w.github.bot_comments(issue) == []
        assert w.model.questions == []
        assert not [e for e in w.github.log if e.operation.startswith("git/")]


async def test_help_is_answered_without_a_sandbox(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    async with world(docker_client, images, nothing_left_behind, tmp_path) as w, server_in(w) as server:
        repository, issue = issue_in(w)
        await w.github.comment(repository, issue, "mona", "/agent help")
        answer = await w.github.await_comment(lambda c: c.by_app and "/agent" in c.body, 20)
        assert "help" in answer.body
        await all_done(server, 1)
        assert w.model.questions == []


async def test_b62_no_change_is_said_with_the_agents_answer(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    async with world(docker_client, images, nothing_left_behind, tmp_path, "noop") as w, server_in(w) as server:
        repository, issue = issue_in(w)
        await w.github.comment(repository, issue, "mona", "/agent is it fine?")
        body = (await w.result(issue)).body
        assert "Nothing to do: it is as you want it already." in body
        assert "```diff" not in body
        await all_done(server, 1)


async def test_b53_the_whole_patch_is_kept_when_the_comment_is_too_short(
    docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    """B53: 65,536 characters are the limit; the diff is cut at file borders and `gofer patch` has all of it."""
    make = 'for n in 1 2 3 4; do seq -f "line %g of $n" 3000 > big$n.txt; done'
    async with world(docker_client, images, nothing_left_behind, tmp_path) as w, server_in(w) as server:
        repository, issue = issue_in(w)
        marker = scenarios.marker(scenarios.shell(make))
        await w.github.comment(repository, issue, "mona", f"/agent grow {marker}")
        body = (await w.result(issue)).body
        assert len(body) <= 65_536
        assert "gofer patch" in body
        await all_done(server, 1)
        task_id = body.rpartition("Task `")[2].partition("`")[0]
    patch = await printed(w.environment, "patch", task_id)
    for n in (1, 2, 3, 4):
        assert f"+line 3000 of {n}".encode() in patch


async def printed(environment: dict[str, str], *arguments: str) -> bytes:
    """What the ``gofer`` command prints."""
    gofer = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", *arguments, env=os.environ | environment, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await gofer.communicate()
    assert gofer.returncode == 0
    return out
