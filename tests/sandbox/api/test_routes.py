"""The table of runner.md over real sockets, row by row."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox import Handle, Limits, PrepareFailed, Reason, Settings, Unreachable
from sandbox.api.asked import NAME_RULE
from sandbox.api.routes import MAX_REPOSITORY_BYTES
from sandbox.job import MAX_PROMPT_BYTES
from tests.sandbox.api.memory import DONE, PATCH, Served, served

REPOSITORY = b'{"url": "https://github.com/octo/hello"}'


@pytest.fixture
async def runner(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as running:
        yield running


async def told(runner: Served, method: str, path: str, body: bytes | None = None) -> tuple[int, str]:
    """Status and words of an error."""
    status, answer = await runner.answer(method, path, body)
    return status, json.loads(answer)["error"]


async def with_repository(runner: Served, name: str = "x") -> None:
    assert (await runner.answer("POST", f"/sandboxes/{name}/repository", REPOSITORY))[0] == 200


async def test_a_whole_life(runner: Served) -> None:
    status, body = await runner.answer("POST", "/sandboxes/x/repository", REPOSITORY)
    assert (status, json.loads(body)) == (200, {"exitCode": 0, "stdout": "", "stderr": "Cloning into 'workspace'...\n"})
    assert await runner.answer("GET", "/sandboxes/x/task") == (200, b'{"state":"none"}')
    assert await runner.answer("POST", "/sandboxes/x/task", b"do it") == (202, b'{"state":"running"}')
    assert await runner.answer("GET", "/sandboxes/x/task") == (200, b'{"state":"running"}')
    await runner.memory.end("x")
    assert await runner.answer("GET", "/sandboxes/x/task") == (200, b'{"state":"succeeded","result":"I did it."}')
    async with runner.call("GET", "/sandboxes/x/diff") as response:
        assert response.status == 200
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
        assert await response.read() == PATCH
    status, body = await runner.answer("GET", "/sandboxes/x/outcome")
    assert (status, json.loads(body)["reason"]) == (200, "ok")
    assert await runner.answer("POST", "/sandboxes/x/snapshot") == (200, b'{"snapshotId":"x-1","size":4096}')
    assert await runner.answer("POST", "/sandboxes/y/copy?from=x") == (204, b"")
    assert await runner.answer("GET", "/sandboxes") == (200, b'{"sandboxes":["x","y"]}')
    assert await runner.answer("DELETE", "/sandboxes/x") == (204, b"")
    assert await runner.answer("GET", "/sandboxes") == (200, b'{"sandboxes":["y"]}')


async def test_a_task_that_failed_tells_its_error(runner: Served) -> None:
    await with_repository(runner)
    await runner.answer("POST", "/sandboxes/x/task", b"do it")
    assert await runner.answer("DELETE", "/sandboxes/x/task") == (202, b"")
    assert await runner.answer("GET", "/sandboxes/x/task") == (200, b'{"state":"failed","error":"over"}')
    assert json.loads((await runner.answer("GET", "/sandboxes/x/outcome"))[1])["reason"] == "cancelled"


async def test_what_a_running_task_keeps_from_being_done(runner: Served) -> None:
    await with_repository(runner)
    await runner.answer("POST", "/sandboxes/x/task", b"do it")
    for method, path, body in [
        ("POST", "task", b"again"),
        ("POST", "repository", REPOSITORY),
        ("GET", "diff", None),
        ("GET", "outcome", None),
        ("POST", "snapshot", None),
    ]:
        status, answer = await runner.answer(method, f"/sandboxes/x/{path}", body)
        assert (status, json.loads(answer)["code"]) == (409, "busy"), path


async def test_what_needs_a_repository_or_a_task_says_so(runner: Served) -> None:
    assert await told(runner, "POST", "/sandboxes/x/task", b"do") == (
        409,
        "There is no repository in this sandbox yet.",
    )
    assert (await told(runner, "GET", "/sandboxes/x/diff"))[0] == 409
    assert await told(runner, "GET", "/sandboxes/x/outcome") == (409, "no task has run in this sandbox")
    assert await told(runner, "DELETE", "/sandboxes/x/task") == (409, "no task has run in this sandbox")
    assert (await told(runner, "POST", "/sandboxes/x/copy?from=y")) == (409, "There is no snapshot of that sandbox.")
    await with_repository(runner)
    await runner.answer("POST", "/sandboxes/x/snapshot")
    assert (await told(runner, "POST", "/sandboxes/x/copy?from=x"))[1].startswith("cannot copy")


async def test_two_starts_at_the_same_moment_one_wins(runner: Served) -> None:
    await with_repository(runner)
    starts = [runner.answer("POST", "/sandboxes/x/task", b"do it") for _ in range(10)]
    statuses = sorted(status for status, _ in await asyncio.gather(*starts))
    assert statuses == [202] + [409] * 9


@pytest.mark.parametrize(
    "url",
    ["git@github.com:o/r", "http://github.com/o/r", "https://evil.test/o/r", "https://u:p@github.com/o/r",
     "https://github.com/o", "https://github.com/o/r/tree/x", "file:///etc", "https://github.com:444/o/r", ""],
)  # fmt: skip
async def test_anything_but_a_repository_of_the_host_is_refused_with_the_form(runner: Served, url: str) -> None:
    status, words = await told(runner, "POST", "/sandboxes/x/repository", json.dumps({"url": url}).encode())
    assert status == 400
    assert '{"url": "https://HOST/OWNER/REPO"' in words
    assert runner.memory.calls == []


async def test_a_token_reaches_the_fetch_and_nothing_else(runner: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    body = json.dumps({"url": "https://github.com/o/r", "ref": "main", "token": "ghs_canary"}).encode()
    status, answer = await runner.answer("POST", "/sandboxes/x/repository", body)
    assert status == 200
    assert runner.memory.tokens == ["ghs_canary"]
    assert b"canary" not in answer
    assert "canary" not in caplog.text


async def test_where_git_failed_its_words_are_the_answer(runner: Served) -> None:
    runner.memory.trouble["fetch"] = PrepareFailed(Reason.FETCH_FAILED, "fatal: Remote branch x not found")
    status, body = await runner.answer("POST", "/sandboxes/x/repository", REPOSITORY)
    expected = {"exitCode": 128, "stdout": "", "stderr": "fatal: Remote branch x not found"}
    assert (status, json.loads(body)) == (502, expected)
    await with_repository_despite(runner)
    runner.memory.patch = None
    assert await told(runner, "GET", "/sandboxes/x/diff") == (502, "git failed")


async def with_repository_despite(runner: Served) -> None:
    runner.memory.trouble.clear()
    await with_repository(runner)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"  \n", 400),
        (b"\xff\xfe", 400),
        (b"x" * MAX_PROMPT_BYTES, 202),
        (b"x" * (MAX_PROMPT_BYTES + 1), 413),
    ],
)
async def test_prompts(runner: Served, body: bytes, status: int) -> None:
    await with_repository(runner)
    assert (await runner.answer("POST", "/sandboxes/x/task", body))[0] == status


async def test_a_body_that_never_ends_is_read_no_further_than_the_bound(runner: Served) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 65_536
            yield b"x" * 65_536

    url = f"{runner.server.url}/sandboxes/x/task"
    try:
        async with asyncio.timeout(20), runner.session.post(url, data=endless()) as response:
            assert response.status == 413
    except ConnectionError:
        pass  # cut off while it was still writing
    assert sent < 64 * 2**20
    assert "begin" not in runner.memory.calls


@pytest.mark.parametrize("name", ["A", "-a", "a-", "a" * 64, "a.b", "%41", "a%2Fb"])
@pytest.mark.parametrize("path", ["", "/task", "/nonsense"])
async def test_the_name_is_judged_first(runner: Served, name: str, path: str) -> None:
    assert await told(runner, "DELETE", f"/sandboxes/{name}{path}") == (400, NAME_RULE)
    assert runner.memory.calls == []


async def test_unknown_paths_and_methods(runner: Served) -> None:
    assert (await told(runner, "GET", "/sandboxes/x/files"))[0] == 404
    assert (await told(runner, "GET", "/"))[0] == 404
    assert (await told(runner, "GET", "/sandboxes/x/task/"))[0] == 404
    async with runner.call("PATCH", "/sandboxes/x/task") as response:
        assert response.status == 405
        assert response.headers["Allow"] == "DELETE, GET, POST"
    async with runner.call("HEAD", "/sandboxes/x/task") as response:
        assert response.status == 405


async def test_unknown_parameters_are_refused(runner: Served) -> None:
    await with_repository(runner)
    assert "wal_seconds" in (await told(runner, "POST", "/sandboxes/x/task?wal_seconds=1", b"do"))[1]
    assert (await told(runner, "POST", "/sandboxes/x/task?agent=pi", b"do"))[0] == 400
    assert (await told(runner, "POST", "/sandboxes/x/task?tokens=1&tokens=2", b"do"))[0] == 400
    assert (await told(runner, "GET", "/sandboxes/x/task?x=1"))[0] == 400
    assert (await told(runner, "POST", "/sandboxes/y/copy?from=BAD"))[1] == NAME_RULE
    assert (await told(runner, "POST", "/sandboxes/y/copy"))[1] == NAME_RULE
    assert (await told(runner, "DELETE", "/sandboxes/x/task?reason=ok"))[0] == 400


async def test_a_large_repository_body_is_refused(runner: Served) -> None:
    body = json.dumps({"url": "https://github.com/o/r", "ref": "x" * MAX_REPOSITORY_BYTES}).encode()
    assert (await runner.answer("POST", "/sandboxes/x/repository", body))[0] == 413


async def test_what_nobody_foresaw_is_in_the_log_only(runner: Served, caplog: pytest.LogCaptureFixture) -> None:
    runner.memory.trouble["status"] = RuntimeError("the cause")
    assert await told(runner, "GET", "/sandboxes/x/task") == (500, "sandbox request failed")
    assert "the cause" in caplog.text


async def test_an_engine_that_cannot_be_asked_is_503_and_never_absent(runner: Served) -> None:
    runner.memory.trouble["status"] = Unreachable("no answer in 60 s")
    for method, path in [("GET", "task"), ("GET", "outcome"), ("GET", "status"), ("DELETE", "task")]:
        status, words = await told(runner, method, f"/sandboxes/x/{path}")
        assert status == 503
        assert "no answer in 60 s" in words


async def test_a_task_may_lower_bounds_and_not_raise_them(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path, limits=Limits(wall_seconds=100))
    async with served(tmp_path, settings=settings) as runner:
        await with_repository(runner)
        status, words = await told(runner, "POST", "/sandboxes/x/task?wall_seconds=101", b"do")
        assert (status, words) == (400, "wall_seconds may be 100 at most; 101 was asked for")
        assert (await runner.answer("POST", "/sandboxes/x/task?wall_seconds=9&egress_bytes=1000", b"do"))[0] == 202
        job = runner.memory.boxes["x"].job
        assert job is not None
        assert (job.limits.wall_seconds, job.limits.egress_bytes) == (9, 1000)


async def test_the_bots_calls(runner: Served) -> None:
    job = {"name": "t1", "prompt": "do", "source": {"url": "https://github.com/o/r"}, "limits": {"wall_seconds": 10**6}}
    body = json.dumps({"job": job, "secrets": {"fetch_token": "ghs_canary"}}).encode()
    assert await runner.answer("PUT", "/sandboxes/t1/job", body) == (200, b'{"name":"t1"}')
    assert await runner.answer("PUT", "/sandboxes/t1/job", body) == (200, b'{"name":"t1"}')
    stored = runner.memory.boxes["t1"].job
    assert stored is not None
    assert stored.limits == Limits()
    assert runner.memory.tokens == ["ghs_canary"] * 2
    assert json.loads((await runner.answer("GET", "/sandboxes/t1/status"))[1])["phase"] == "ready"
    assert (await runner.answer("POST", "/sandboxes/t1/job/start"))[0] == 202
    assert json.loads((await runner.answer("GET", "/sandboxes/t1/status?seconds=0.01"))[1])["phase"] == "running"
    assert (await told(runner, "GET", "/sandboxes/t1/status?seconds=51"))[0] == 400
    assert (await told(runner, "GET", "/sandboxes/t1/status?seconds=nan"))[0] == 400
    assert await told(runner, "PUT", "/sandboxes/t2/job", body) == (400, "the job has another name than the path")
    runner.memory.trouble["prepare"] = PrepareFailed(Reason.DISK_FULL, "no space")
    status, answer = await runner.answer("PUT", "/sandboxes/t1/job", body)
    assert (status, json.loads(answer)) == (
        422,
        {"error": "no space", "code": "prepare_failed", "reason": "disk_full"},
    )


async def test_a_long_patch_arrives_whole_and_bytes_that_are_no_text_as_they_are(runner: Served) -> None:
    await with_repository(runner)
    runner.memory.patch = b"\xff" * 5_000_000
    async with runner.call("GET", "/sandboxes/x/diff") as response:
        assert response.headers["Content-Type"] == "text/plain"
        assert await response.read() == b"\xff" * 5_000_000


async def test_an_outcome_is_the_same_on_both_sides(runner: Served) -> None:
    await with_repository(runner)
    await runner.answer("POST", "/sandboxes/x/task", b"do")
    await runner.memory.end("x")
    _, body = await runner.answer("GET", "/sandboxes/x/outcome")
    assert type(DONE).model_validate_json(body) == DONE
    assert await runner.memory.outcome(Handle(name="x")) == DONE
