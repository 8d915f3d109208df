"""The bot's side: the face over a runner on a real socket, and over servers that are no runner."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from pydantic import SecretStr

from sandbox import (
    Busy,
    ChangedFile,
    Changes,
    Handle,
    Job,
    Limits,
    NotThere,
    Outcome,
    Phase,
    PrepareFailed,
    Reason,
    RunnerAccess,
    Sandbox,
    Secrets,
    Settings,
    Source,
    State,
    Unreachable,
    open_sandbox,
)
from sandbox import client as module
from sandbox.client import order
from tests.sandbox.api.memory import DONE, TOKEN, Memory, Served, served

X = Handle(name="x")
JOB = Job(name="x", prompt="do", source=Source(url="https://github.com/o/r"))


def settings_with(token: str = TOKEN, ca_pem: str = "") -> Settings:
    return Settings(state_dir=Path("/x"), runner=RunnerAccess(token=SecretStr(token), ca_pem=ca_pem))


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Sandbox]:
    sandbox = await open_sandbox(url, settings_with())
    try:
        yield sandbox
    finally:
        await sandbox.close()


@pytest.fixture(params=["tcp", "unix"])
async def both(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Served, Sandbox]]:
    """A runner and its client, each way."""
    listen = "127.0.0.1:0" if request.param == "tcp" else f"unix://{tmp_path}/api.sock"
    async with served(tmp_path, listen=listen) as runner, opened(runner.server.url) as sandbox:
        yield runner, sandbox


async def test_a_whole_life(both: tuple[Served, Sandbox]) -> None:
    runner, sandbox = both
    assert await sandbox.status(X) == await runner.memory.status(X)
    assert await sandbox.prepare(JOB, Secrets(fetch_token=SecretStr("ghs_canary"))) == X
    assert runner.memory.tokens == ["ghs_canary"]
    await sandbox.start(X)
    assert (await sandbox.status(X)).phase is Phase.RUNNING
    assert (await sandbox.wait(X, 0.01)).phase is Phase.RUNNING
    await runner.memory.end("x")
    assert (await sandbox.wait(X, 100)).phase is Phase.EXITED
    assert await sandbox.outcome(X) == DONE
    assert await sandbox.handles() == (X,)
    await sandbox.remove(X)
    assert await sandbox.handles() == ()


async def test_a_wait_ends_when_the_agent_does(both: tuple[Served, Sandbox]) -> None:
    runner, sandbox = both
    await sandbox.prepare(JOB, Secrets())
    await sandbox.start(X)
    waiting = asyncio.gather(sandbox.wait(X, 60))
    await runner.memory.called("wait")
    await runner.memory.end("x")
    async with asyncio.timeout(10):
        assert [status.phase for status in await waiting] == [Phase.EXITED]


async def test_an_outcome_that_is_asked_for_early_ends_the_task_first(both: tuple[Served, Sandbox]) -> None:
    _, sandbox = both
    await sandbox.prepare(JOB, Secrets())
    await sandbox.start(X)
    assert (await sandbox.outcome(X)).reason is Reason.CANCELLED


async def test_what_is_gone_is_lost_and_can_be_cancelled_and_removed_all_the_same(both: tuple[Served, Sandbox]) -> None:
    _, sandbox = both
    assert (await sandbox.outcome(X)).state is State.LOST
    await sandbox.cancel(X, Reason.CANCELLED)
    await sandbox.remove(X)


async def test_errors_keep_their_meaning(both: tuple[Served, Sandbox]) -> None:
    runner, sandbox = both
    for error in (PrepareFailed(Reason.DISK_FULL, "no space"), Busy("a task runs"), NotThere("no repository")):
        runner.memory.trouble["prepare"] = error
        with pytest.raises(type(error), match=str(error)) as caught:
            await sandbox.prepare(JOB, Secrets())
        if isinstance(caught.value, PrepareFailed):
            assert caught.value.reason is Reason.DISK_FULL
    for trouble in (Unreachable("hung"), RuntimeError("a surprise")):
        runner.memory.trouble = dict.fromkeys(("prepare", "status", "outcome", "remove", "handles"), trouble)
        for call in (sandbox.status(X), sandbox.outcome(X), sandbox.remove(X), sandbox.handles()):
            with pytest.raises(Unreachable):
                await call


async def test_a_job_that_the_runner_refuses_is_told_and_not_tried_for_ever(both: tuple[Served, Sandbox]) -> None:
    _, sandbox = both
    with pytest.raises(PrepareFailed, match="'codex' is not offered here; offered: claude"):
        await sandbox.prepare(JOB.model_copy(update={"agent": "codex"}), Secrets())


async def test_what_a_job_leaves_open_is_the_runners(tmp_path: Path) -> None:
    here = Settings(state_dir=tmp_path, limits=Limits(wall_seconds=77, tokens=5))
    async with served(tmp_path, settings=here) as runner, opened(runner.server.url) as sandbox:
        await sandbox.prepare(JOB.model_copy(update={"limits": Limits(tokens=9, pids=64)}), Secrets())
        job = runner.memory.boxes["x"].job
        assert job is not None
        assert (job.limits.wall_seconds, job.limits.tokens, job.limits.pids) == (77, 5, 64)


def test_the_order_holds_what_was_given_and_the_token() -> None:
    body = json.loads(order(JOB, Secrets(fetch_token=SecretStr("t"))))
    source = {"url": "https://github.com/o/r"}
    assert body == {"job": {"name": "x", "prompt": "do", "source": source}, "secrets": {"fetch_token": "t"}}
    bundle = JOB.model_copy(update={"source": Source(url="x", bundle=b"\xff\x00")})
    assert Job.model_validate(json.loads(order(bundle, Secrets()))["job"]).source == Source(url="x", bundle=b"\xff\x00")


async def test_a_token_that_is_not_the_runners_is_told_at_the_start_and_not_taken_for_absence_later(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as runner:
        with pytest.raises(RuntimeError, match="does not take our token"):
            await open_sandbox(runner.server.url, settings_with("x" * 40))
        with pytest.raises(ValueError, match="needs a token"):
            await open_sandbox(runner.server.url, Settings(state_dir=tmp_path))


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def something_else(handler: Handler) -> AsyncIterator[Sandbox]:
    """A client of a server that answers its first call as a runner would, and then with ``handler``."""
    first = True

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal first
        if first:
            first = False
            return web.json_response({"sandboxes": []})
        return await handler(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    site = web.AppRunner(app, shutdown_timeout=0.1)
    await site.setup()
    await web.TCPSite(site, "127.0.0.1", 0).start()
    try:
        async with opened(f"http://127.0.0.1:{site.addresses[0][1]}") as sandbox:
            yield sandbox
    finally:
        await site.cleanup()


async def html(_: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>", content_type="text/html")


async def not_found(_: web.Request) -> web.StreamResponse:
    return web.Response(status=404, text="not found")


async def absent_elsewhere(request: web.Request) -> web.StreamResponse:
    if request.path == "/elsewhere":
        return web.json_response({"phase": "absent"})
    raise web.HTTPFound("/elsewhere")


async def other_json(_: web.Request) -> web.StreamResponse:
    return web.json_response({"phase": "sleeping"})


async def cut_off(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def refused(_: web.Request) -> web.StreamResponse:
    return web.json_response({"error": "no", "code": "unauthorized"}, status=401)


async def test_the_largest_outcome_within_the_limits_comes_across(both: tuple[Served, Sandbox]) -> None:
    """A patch and contents as large as the defaults allow, none of whose bytes JSON could carry as they are."""
    runner, sandbox = both
    limits, noise = Limits(), bytes(range(256)) * 4096
    name = b"\xff" * 1_024
    held = [noise * (limits.content_bytes // 4 // len(noise))] * 4
    files = tuple(
        ChangedFile(path="\\xff" * 1_024, status="added", new_mode="100644", raw_path=name, content=one) for one in held
    )
    changes = Changes(base_commit="a" * 40, patch=noise * (limits.patch_bytes // len(noise)), files=files)
    await sandbox.prepare(JOB, Secrets())
    await sandbox.start(X)
    await runner.memory.end("x", DONE.model_copy(update={"changes": changes}))
    assert (await sandbox.outcome(X)).changes == changes


async def too_long(request: web.Request) -> web.StreamResponse:
    """What would be a status, were it not for all that comes after it."""
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b'{"phase": "absent"}')
    for _ in range(64):
        await response.write(b" " * 2**20)
    return response


@pytest.mark.parametrize("handler", [html, not_found, absent_elsewhere, other_json, cut_off, refused, too_long])
async def test_whatever_else_answers_is_never_taken_for_absent(
    handler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.client_http.MAX_ANSWER_BYTES", 2**20)
    async with something_else(handler) as sandbox:
        calls: list[Awaitable[object]] = [sandbox.status(X), sandbox.wait(X, 1), sandbox.outcome(X), sandbox.handles()]
        for call in (*calls, sandbox.start(X), sandbox.remove(X), sandbox.cancel(X, Reason.CANCELLED)):
            with pytest.raises(Unreachable) as caught:
                await call
            assert TOKEN not in repr(caught.value)
            assert caught.value.__cause__ is None


async def test_no_runner_at_all_is_unreachable(tmp_path: Path) -> None:
    for url in ("http://127.0.0.1:1", f"http+unix://{tmp_path}/none.sock", "https://127.0.0.1:1"):
        with pytest.raises(Unreachable, match="the runner cannot be asked"):
            await open_sandbox(url, settings_with())


async def test_an_answer_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    never = asyncio.Event()

    async def silent(_: web.Request) -> web.StreamResponse:
        await never.wait()
        return web.Response()

    monkeypatch.setattr(module, "SHORT_SECONDS", 0.1)
    async with something_else(silent) as sandbox, asyncio.timeout(20):
        with pytest.raises(Unreachable, match="no answer in time"):
            await sandbox.wait(X, 0)
        never.set()


async def test_a_memory_is_a_sandbox() -> None:
    face: Sandbox = Memory()
    assert isinstance(await face.outcome(X), Outcome)
