"""GitHub Enterprise Server: another host, another path for the API, a certificate authority of its own. One setting
says where it is, and everything follows: API, GraphQL, clones, links, addresses."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bot.app import Server, serving
from bot.demo.github import LocalGitHub
from tests.bot.eventually import eventually
from tests.bot.fake_sandbox import FakeSandbox
from tests.bot.results import changed
from tests.bot.served import config_for, opener_of
from tests.bot.verified import read_when_done
from tests.github_world import local_github
from tests.reader import Reader
from tests.sandbox.api.certificates import Paths, certificate


@asynccontextmanager
async def enterprise(folder: Path) -> AsyncIterator[tuple[LocalGitHub, Paths, Reader]]:
    """A GitHub whose certificate nobody knows, with its API under ``/api/v3``. In the end all that was said is read."""
    paths = certificate(folder / "ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(paths.certificate, paths.key)
    async with local_github(folder / "github", api_prefix="/api/v3", tls=context) as local:
        reader = Reader(local)
        yield local, paths, reader
        reader.all_is_read()


@asynccontextmanager
async def at_work(folder: Path, local: LocalGitHub, paths: Paths, sandbox: FakeSandbox) -> AsyncIterator[Server]:
    config = config_for(folder, local, github_api_url="", github_ca_file=paths.certificate)
    assert config.api_url == local.url
    async with serving(config, opener=opener_of(sandbox)) as server:
        await local.connect_webhook(f"{server.url}/webhook")
        yield server


async def test_the_whole_life_of_a_pull_request_on_a_server_of_one_s_own(tmp_path: Path) -> None:
    async with enterprise(tmp_path) as (local, paths, reader):
        repository = local.add_repository("octo", "repo", {"README.md": b"# Hello\n"}, roles={"alice": "write"})
        issue = local.add_issue(repository, "Say it louder")
        head = local.head(repository) or ""
        sandbox = FakeSandbox(automatic=changed(head, b"# Hello!\n"))
        async with at_work(tmp_path, local, paths, sandbox) as server:
            await local.comment(repository, issue, "alice", "/agent --pr say it louder")
            opened = await local.until(lambda: next((i for i in repository.issues.values() if i.pull), None))
            said = await local.await_comment(lambda one: one.by_app and f"#{opened.number}" in one.body)
            assert opened.pull is not None

            first = opened.pull.sha
            sandbox.automatic = changed(first, b"# HELLO!\n", "[1] It shouts now.")
            await local.review(repository, opened, "alice", comments=[("README.md", 1, "Louder, please.")])
            await local.until(lambda: opened.pull and opened.pull.sha != first)
            answer = await local.until(lambda: next((c for c in opened.pull.comments if c.by_app), None))  # type: ignore[union-attr]
            assert "It shouts now." in answer.body
            await local.until(lambda: any("Verdict" in c.body for c in local.bot_comments(opened)))
            await read_when_done(reader, local, server)

        host = urlsplit(local.git_url).netloc
        texts = [said.body, opened.body, answer.body, *(c.body for c in local.bot_comments(opened))]
        links = [link for text in texts for link in re.findall(r"https?://[^\s)>\"]+", text)]
        assert [link for link in links if urlsplit(link).netloc != host] == []
        assert "github.com" not in "\n".join(texts)
        message = await git(paths, "log", "-1", "--format=%B", cwd=repository.git_dir, ref=first)
        assert "@users.noreply.127.0.0.1>" in message
        assert {exchange.operation for exchange in local.log} >= {"graphql", "pulls/create", "git/create-commit"}
        assert all(exchange.operation for exchange in local.log)  # nothing was asked that is not there


async def test_what_is_cloned_is_the_server_s_and_its_own_authority_is_trusted(tmp_path: Path) -> None:
    async with enterprise(tmp_path) as (local, paths, reader):
        repository = local.add_repository("octo", "repo", {"README.md": b"# Hello\n"}, roles={"alice": "write"})
        sandbox = FakeSandbox()
        prepared: list[str] = []
        async with at_work(tmp_path, local, paths, sandbox) as server:
            issue = local.add_issue(repository)
            sandbox.hang.add("start")
            await local.comment(repository, issue, "alice", "/agent fix it")
            await local.until(lambda: sandbox.boxes or None)
            prepared += [box.job.source.url for box in sandbox.boxes.values() if box.job.source]
            sandbox.hang.clear()
            sandbox.changed.set()
            await local.await_comment(lambda one: one.by_app and "+new" in one.body)
            await read_when_done(reader, local, server)
        assert prepared == [f"{local.git_url}/octo/repo"]
        assert (local.head(repository) or "?") in await git(paths, "ls-remote", prepared[0])


async def git(paths: Paths, *words: str, cwd: Path | None = None, ref: str = "") -> str:
    """The real git, trusting this authority and no other."""
    process = await asyncio.create_subprocess_exec(
        "git", "-c", f"http.sslCAInfo={paths.certificate}", *words, *([ref] if ref else []),
        cwd=cwd, stdout=asyncio.subprocess.PIPE, env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )  # fmt: skip
    async with asyncio.timeout(30):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


async def test_an_authority_that_was_not_named_is_not_trusted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with enterprise(tmp_path) as (local, _, _):
        other = certificate(tmp_path / "other")
        async with at_work(tmp_path, local, other, FakeSandbox()):
            await eventually(lambda: any("certificate" in message for message in caplog.messages), 20)
        assert local.log == []
