from __future__ import annotations

from bot.demo.github import LocalGitHub
from bot.github import GitHub
from tests.github_world import Place


async def test_texts_come_as_they_are_shown(github_world: LocalGitHub, github_client: GitHub, place: Place) -> None:
    url = github_world.upload(b"x", private=True)
    place.issue.body = f"![a]({url})"
    comment = await github_world.comment(place.repository, place.issue, "alice", f"<b> ![b]({url})")
    rendered = github_client.rendered
    assert await rendered.description(place.where, place.issue.number) == f'<img src="{url}?jwt=local" alt="a">'
    assert await rendered.comment(place.where, comment.id) == f'&lt;b&gt; <img src="{url}?jwt=local" alt="b">'
