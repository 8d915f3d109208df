"""A task goes on from an earlier result: real agent, real engine, in this process and through a runner."""

from __future__ import annotations

from pathlib import Path

import docker
import pytest

from bot.demo import scenarios
from sandbox import Limits, Outcome, PrepareFailed, Reason, State
from tests.engine import Images
from tests.local_sandbox import bundle, local_sandbox, settings_for
from tests.sandbox.inside.bases import git

pytestmark = pytest.mark.engine

FILES = {"README.md": b"# Here\n", "old.txt": b"old\n", "run.sh": b"#!/bin/sh\n"}
FIRST = "echo one > new.txt; rm old.txt; chmod +x run.sh; printf '\\0\\377' > raw.bin; ln -s new.txt link"
# What the second one's git shows before it goes on.
SECOND = "git diff --name-status > seen.txt; git log --format=%s >> seen.txt; echo two >> new.txt; rm raw.bin"


async def test_the_earlier_work_is_there_and_the_final_diff_holds_all_of_it(
    docker_client: docker.DockerClient, engine_host: str, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    settings = settings_for(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")
    source = bundle(tmp_path, FILES)
    async with local_sandbox(docker_client, settings) as world:
        first = await world.run(told(FIRST), source)
        going_on = source.model_copy(update={"patch": patch_of(first)})
        second = await world.run(told(SECOND), going_on)
        with pytest.raises(PrepareFailed, match=r"^The earlier result no longer fits the commit") as unfit:
            await world.run(told("true"), going_on.model_copy(update={"patch": patch_of(first) * 2}))
        with pytest.raises(PrepareFailed, match="is larger than the 100 bytes allowed"):
            await world.run(told("true"), going_on, Limits(patch_bytes=100))
    assert unfit.value.reason is Reason.FETCH_FAILED
    assert held(first) == {
        b"new.txt": ("added", "100644", b"one\n"),
        b"old.txt": ("deleted", "", None),
        b"run.sh": ("modified", "100755", b"#!/bin/sh\n"),
        b"raw.bin": ("added", "100644", b"\0\xff"),
        b"link": ("added", "120000", b"new.txt"),
    }
    seen = b"A\tlink\nA\tnew.txt\nD\told.txt\nA\traw.bin\nM\trun.sh\nStart\n"
    assert held(second) == {
        b"new.txt": ("added", "100644", b"one\ntwo\n"),
        b"old.txt": ("deleted", "", None),
        b"run.sh": ("modified", "100755", b"#!/bin/sh\n"),
        b"link": ("added", "120000", b"new.txt"),
        b"seen.txt": ("added", "100644", seen),
    }
    assert second.changes is not None
    assert first.changes is not None
    assert second.changes.base_commit == first.changes.base_commit
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    (fresh / "bundle").write_bytes(source.bundle or b"")
    git(fresh, "clone", "-q", "bundle", "clone")
    git(fresh / "clone", "apply", "--index", "-", stdin=patch_of(second))
    assert (fresh / "clone" / "new.txt").read_text() == "one\ntwo\n"


def told(script: str) -> str:
    return f"Work. {scenarios.marker(scenarios.shell(script))}"


def patch_of(outcome: Outcome) -> bytes:
    assert outcome.state is State.SUCCEEDED, outcome.error
    assert outcome.changes is not None
    assert outcome.changes.patch is not None
    return outcome.changes.patch


def held(outcome: Outcome) -> dict[bytes, tuple[str, str, bytes | None]]:
    """Status, mode and bytes by path."""
    assert outcome.changes is not None
    return {file.raw_path: (file.status, file.new_mode, file.content) for file in outcome.changes.files}
