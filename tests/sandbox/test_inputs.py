"""What a sandbox is told: files of root's, for reading, in folders that are there before them."""

from __future__ import annotations

import io
import json
import tarfile

import pytest

from sandbox.agents import AGENTS, Run
from sandbox.inputs import archive, for_agent, for_fetch, for_instructions
from sandbox.job import Attachment, Job, Limits, Source


def entries(data: bytes) -> list[tuple[str, int, int, int, bool]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [(e.name, e.uid, e.gid, e.mode, e.isdir()) for e in tar.getmembers()]


def test_inputs_belong_to_root_and_are_for_reading() -> None:
    data = archive({"prompt": b"\xff\x00", "home/.codex/config.toml": b"x"})
    assert entries(data) == [
        ("home", 0, 0, 0o555, True),
        ("home/.codex", 0, 0, 0o555, True),
        ("prompt", 0, 0, 0o444, False),
        ("home/.codex/config.toml", 0, 0, 0o444, False),
    ]
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        content = tar.extractfile("prompt")
        assert content is not None
        assert content.read() == b"\xff\x00"


def test_the_agent_is_told_its_prompt_and_the_fetch_its_request() -> None:
    source = Source(url="https://github.com/o/r", bundle=b"pack")
    job = Job(name="t", prompt="do it", source=source)
    assert for_agent(job, AGENTS["claude"], Run(model="m"))["prompt"] == b"do it"
    assert not [path for path in for_agent(job, AGENTS["claude"], Run(model="m")) if path.startswith("attachments")]
    fetch = for_fetch(source, None, Limits())
    assert fetch.keys() == {"fetch.json", "bundle"}
    assert fetch["bundle"] == b"pack"


def test_b86_attachments_lie_beside_the_prompt() -> None:
    job = Job(name="t", prompt="look", source=None, attachments=(Attachment(name="image-1.png", data=b"\x89PNG"),))
    assert for_agent(job, AGENTS["claude"], Run(model="m"))["attachments/image-1.png"] == b"\x89PNG"


def test_an_earlier_result_and_a_commits_instructions_are_asked_of_the_fetch() -> None:
    source = Source(url="https://github.com/o/r", patch=b"diff", instructions="a" * 40)
    fetch = for_fetch(source, "o/r", Limits())
    assert fetch["patch"] == b"diff"
    assert json.loads(fetch["fetch.json"])["instructions"] == "a" * 40
    assert "patch" not in for_fetch(Source(url="https://github.com/o/r"), "o/r", Limits())


@pytest.mark.parametrize("name", AGENTS)
def test_copies_of_instructions_are_there_under_their_own_names_for_every_agent(name: str) -> None:
    given = {"CLAUDE.md": b"one", ".claude/CLAUDE.md": b"two", "AGENTS.md": b"three"}
    files = for_instructions(AGENTS[name], given)
    assert {path: files[f"instructions/{path}"] for path in given} == given
    assert {path.partition("/")[0] for path in files} <= {"instructions", "home"}
    assert for_instructions(AGENTS[name], {}) == {}
