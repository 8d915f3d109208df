"""A pull request on the local GitHub, and a token that may do everything with it."""

from __future__ import annotations

import pytest

from bot.demo.github import Issue, LocalGitHub
from tests.bot.demo.bare import token_for
from tests.github_world import FakeTime, Place

ALL = {"issues": "write", "pull_requests": "write", "contents": "write", "checks": "write"}


@pytest.fixture
async def token(github_world: LocalGitHub, fake_time: FakeTime, place: Place) -> str:
    """Everything that the App can be granted."""
    github_world.app.permissions = {"metadata": "read", **ALL}
    return await token_for(github_world, fake_time, place, ALL)


@pytest.fixture
async def pull(github_world: LocalGitHub, place: Place) -> Issue:
    return await github_world.open_pull(
        place.repository, {"README.md": b"# Hello\nMore\n", "new.txt": b"x\n"}, user="alice", title="More"
    )
