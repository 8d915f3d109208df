from __future__ import annotations

from bot.demo.github import LocalGitHub
from bot.github import GitHub
from tests.github_world import Place


async def test_every_installation_is_listed_with_what_was_granted(
    github_world: LocalGitHub, github_client: GitHub, place: Place
) -> None:
    other = github_world.add_repository("acme", "tool", {})
    installation = github_world.state.installation_of(other)
    assert installation is not None
    await github_world.change_installation(installation, "suspend")
    first, second = await github_client.everywhere.installed()
    assert (first.account, first.suspended_at) == ("octo", None)
    assert first.id == place.where.installation_id
    assert first.permissions == github_world.app.permissions
    assert second.account == "acme"
    assert second.suspended_at is not None
