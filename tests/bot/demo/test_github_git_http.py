"""Cloning from the local GitHub with real git: who may, and that it is whole."""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.demo.github import Failure, File, LocalGitHub, Repository
from sandbox import spawn
from tests.bot.demo.bare import token_for
from tests.github_world import FakeTime, Place


async def git(folder: Path, *arguments: str) -> tuple[int, str]:
    """Git as the demo's user has it, without any configuration."""
    process = await asyncio.create_subprocess_exec(
        "git",
        *arguments,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


def header(token: str, user: str = "x-access-token") -> str:
    return "http.extraHeader=Authorization: Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()


FILES: dict[str | bytes, bytes | File] = {
    "README.md": b"# Hello\n",
    "bin/run": File(b"#!/bin/sh\n", "100755"),
    "link": File(b"README.md", "120000"),
    'odd "name"\n': b"odd\n",
    b"latin-\xe9": b"\xff\x00binary\n",
}


@pytest.fixture
def repository(github_world: LocalGitHub) -> Repository:
    return github_world.add_repository("octo", "files", FILES)


async def test_a_public_repository_is_cloned_without_a_token(
    github_world: LocalGitHub, repository: Repository, tmp_path: Path
) -> None:
    code, output = await git(tmp_path, "clone", "--depth", "1", github_world.clone_url("octo", "files"), "to")
    assert code == 0, output
    clone = tmp_path / "to"
    assert (clone / "README.md").read_bytes() == b"# Hello\n"
    assert os.access(clone / "bin/run", os.X_OK)
    assert (clone / "link").readlink() == Path("README.md")
    assert (clone / 'odd "name"\n').read_bytes() == b"odd\n"
    assert (clone / os.fsdecode(b"latin-\xe9")).read_bytes() == b"\xff\x00binary\n"
    assert (await git(clone, "rev-parse", "HEAD"))[1].strip() == github_world.head(repository)


async def test_a10_an_old_commit_can_be_fetched_by_its_id_after_the_branch_has_moved(
    github_world: LocalGitHub, repository: Repository, tmp_path: Path
) -> None:
    old = github_world.head(repository)
    new = github_world.commit(repository, {"README.md": b"# Moved\n"})
    assert old is not None
    assert old != new == github_world.head(repository)
    await git(tmp_path, "init", "-q", "to")
    url = github_world.clone_url("octo", "files")
    code, output = await git(tmp_path / "to", "fetch", "--depth", "1", "--filter=blob:none", url, old)
    assert code == 0, output
    assert (await git(tmp_path / "to", "rev-parse", "FETCH_HEAD"))[1].strip() == old


async def test_the_same_files_give_the_same_commit(github_world: LocalGitHub, repository: Repository) -> None:
    again = github_world.add_repository("octo", "again", FILES)
    assert github_world.head(again) == github_world.head(repository)


async def test_a_private_repository_needs_a_token_for_its_contents(
    github_world: LocalGitHub, fake_time: FakeTime, place: Place, tmp_path: Path
) -> None:
    secret = Place(github_world, name="secret", private=True)
    url = github_world.clone_url("octo", "secret")
    good = await token_for(github_world, fake_time, secret, {"contents": "read"})
    tries = {
        "anonymous": [],
        "other": ["-c", header(await token_for(github_world, fake_time, place, {"contents": "read"}))],
        "issues": ["-c", header(await token_for(github_world, fake_time, secret, {"issues": "write"}))],
        "user": ["-c", header(good, "octo")],
        "bearer": ["-c", f"http.extraHeader=Authorization: Bearer {good}"],
        "nonsense": ["-c", "http.extraHeader=Authorization: Basic ???"],
    }
    for name, options in tries.items():
        code, output = await git(tmp_path, *options, "clone", url, name)
        assert code != 0, name
        assert not (tmp_path / name).exists(), output
    code, output = await git(tmp_path, "-c", header(good), "clone", url, "to")
    assert code == 0, output
    fake_time.advance(minutes=61)
    assert (await git(tmp_path, "-c", header(good), "clone", url, "late"))[0] != 0


async def test_a_push_is_refused(github_world: LocalGitHub, fake_time: FakeTime, place: Place, tmp_path: Path) -> None:
    token = await token_for(github_world, fake_time, place, {"contents": "read"})
    before = github_world.head(place.repository)
    await git(tmp_path, "clone", github_world.clone_url("octo", "hello"), "to")
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    await git(tmp_path / "to", *identity, "commit", "--allow-empty", "-m", "mine")
    for options in ([], ["-c", header(token)]):
        code, _ = await git(tmp_path / "to", *options, "push", "origin", "HEAD")
        assert code != 0
    assert github_world.head(place.repository) == before


async def test_a_large_clone_is_streamed(github_world: LocalGitHub, tmp_path: Path) -> None:
    content = os.urandom(8 * 2**20)
    github_world.add_repository("octo", "large", {"blob": content})
    code, output = await git(tmp_path, "clone", github_world.clone_url("octo", "large"), "to")
    assert code == 0, output
    assert (tmp_path / "to/blob").read_bytes() == content


async def test_a_clone_that_is_broken_off_leaves_no_process(github_world: LocalGitHub, repository: Repository) -> None:
    async with aiohttp.ClientSession() as session:
        url = github_world.clone_url("octo", "files") + "/git-upload-pack"
        headers = {"Content-Type": "application/x-git-upload-pack-request"}

        async def endless() -> Any:
            yield b"0011command=fetch"
            await asyncio.Event().wait()

        request = spawn(session.post(url, data=endless(), headers=headers).__aenter__(), name="endless")
        await github_world.until(lambda: any(e.operation == "git/git-upload-pack" for e in github_world.log))
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
    async with asyncio.timeout(5):
        await github_world.stop()


async def test_git_failures_can_be_scripted(github_world: LocalGitHub, place: Place, tmp_path: Path) -> None:
    github_world.fail(Failure("git/git-upload-pack", 503))
    url = github_world.clone_url("octo", "hello")
    assert (await git(tmp_path, "clone", url, "to"))[0] != 0
    assert (await git(tmp_path, "clone", url, "to"))[0] == 0


async def test_the_clone_url_is_the_public_hosts(tmp_path: Path) -> None:
    server = LocalGitHub(tmp_path)
    await server.start(public_host="host.docker.internal")
    port = server.url.rpartition(":")[2]
    assert server.clone_url("o", "r") == f"http://host.docker.internal:{port}/o/r.git"
    assert server.url == f"http://127.0.0.1:{port}"
    await server.stop()


async def test_it_listens_on_a_second_address_too(tmp_path: Path) -> None:
    server = LocalGitHub(tmp_path)
    await server.start(also=("127.0.0.2",))
    server.add_repository("octo", "hello", {"a": b"a"})
    url = server.clone_url("octo", "hello").replace("127.0.0.1", "127.0.0.2")
    assert (await git(tmp_path, "clone", url, "to"))[0] == 0
    await server.stop()
    await server.stop()
