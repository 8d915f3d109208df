"""``gofer demo`` and ``gofer run`` as a newcomer types them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import docker
import pytest

from tests.engine import Images, labelled
from tests.local_sandbox import KEY, bundle, local_sandbox, settings_for

pytestmark = pytest.mark.engine

# On an idle machine it takes ten seconds; the tests' machine is rarely idle.
DEMO_SECONDS = 150


async def gofer(*arguments: str, seconds: float = DEMO_SECONDS, **environment: str) -> tuple[int, str, str]:
    """Exit status, stdout, stderr of the command; killed after ``seconds``."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        *arguments,
        env={k: v for k, v in os.environ.items() if k != "ANTHROPIC_API_KEY"} | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise
    return process.returncode or 0, out.decode(), err.decode()


async def test_the_demo_ends_with_the_diff_and_leaves_nothing(
    docker_client: docker.DockerClient, images: Images
) -> None:
    status, out, err = await gofer("demo")
    assert (status, err) == (0, "")
    assert "+See NOTES.md." in out
    assert "issue_comment -> 202" in out
    assert labelled(docker_client, "gofer-demo") == []


async def test_the_real_model_is_asked_only_with_a_key() -> None:
    status, _, err = await gofer("demo", "--real-model")
    assert status == 2
    assert "ANTHROPIC_API_KEY" in err


@pytest.mark.parametrize(("scenario", "expected"), [("ok", 0), ("noop", 3), ("401", 1)])
async def test_run_prints_the_diff_and_exits_as_documented(
    scenario: str,
    expected: int,
    engine_host: str,
    docker_client: docker.DockerClient,
    images: Images,
    nothing_left_behind: str,
    tmp_path: Path,
) -> None:
    bundle(tmp_path, {"README.md": b"# Here\n"})
    (repo,) = tmp_path.iterdir()  # noqa: ASYNC240
    settings = settings_for(engine_host, images.prefix, nothing_left_behind, tmp_path / "unused")
    async with local_sandbox(docker_client, settings, scenario=scenario) as local:
        status, out, err = await gofer(
            "run",
            "--repo",
            str(repo),
            "write notes",
            GOFER_STATE_DIR=str(tmp_path / "state"),
            GOFER_INSTANCE=nothing_left_behind,
            GOFER_IMAGE_PREFIX=images.prefix,
            GOFER_DOCKER_HOST=engine_host,
            GOFER_MODEL_URL=local.settings.gateway.base_url,
            GOFER_MODEL_PRIVATE="true",
            GOFER_MODEL_KEY=KEY.get_secret_value(),
        )
    assert status == expected, err
    assert ("+++ b/NOTES.md" in out) == (expected == 0)
    assert "preparing the workspace" in err
    assert KEY.get_secret_value() not in out + err


async def test_run_says_what_is_wrong_with_a_path_that_is_no_repository(tmp_path: Path) -> None:
    arguments = ("run", "--repo", str(tmp_path), "x")
    status, out, err = await gofer(*arguments, GOFER_MODEL_KEY="x", GOFER_STATE_DIR=str(tmp_path))
    assert (status, out) == (2, "")
    assert "is not a git repository" in err
