"""A repository with a pull request on the local GitHub, and the App granted what app.yml asks for."""

from __future__ import annotations

from dataclasses import dataclass

from bot.demo.github import Issue, LocalGitHub
from bot.demo.github_work_state import Pull
from tests.github_world import Place

GRANTED = {"metadata": "read", "issues": "write", "pull_requests": "write", "contents": "write", "checks": "write"}


@dataclass(frozen=True)
class Talk:
    """``place`` with a pull request of alice's."""

    server: LocalGitHub
    place: Place
    issue: Issue

    @property
    def pull(self) -> Pull:
        assert self.issue.pull is not None
        return self.issue.pull


async def talk(server: LocalGitHub, place: Place) -> Talk:
    server.app.permissions = dict(GRANTED)
    server.set_role(place.repository, "alice", "write")
    issue = await server.open_pull(place.repository, {"README.md": b"# Hello\nMore\n"}, user="alice", body="Why: #1")
    return Talk(server, place, issue)
