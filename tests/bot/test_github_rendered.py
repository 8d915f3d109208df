from __future__ import annotations

from bot.demo.github import LocalGitHub
from bot.github import GitHub
from tests.github_world import Place
from tests.openapi.conform import assert_conforms


async def test_texts_come_as_they_are_shown(github_world: LocalGitHub, github_client: GitHub, place: Place) -> None:
    url = github_world.upload(b"x", private=True)
    place.issue.body = f"![a]({url})"
    comment = await github_world.comment(place.repository, place.issue, "alice", f"<b> ![b]({url})")
    rendered = github_client.rendered
    pull = await github_world.open_pull(place.repository, {"f": b"new\n"})
    line = await github_world.review_comment(place.repository, pull, "alice", f"![c]({url})")
    review = await github_world.review(place.repository, pull, "alice", body=f"![d]({url})")
    assert await rendered.description(place.where, place.issue.number) == f'<img src="{url}?jwt=local" alt="a">'
    assert await rendered.review_comment(place.where, line.id) == f'<img src="{url}?jwt=local" alt="c">'
    assert await rendered.review(place.where, pull.number, review.id) == f'<img src="{url}?jwt=local" alt="d">'
    assert_conforms(github_world.log)
    assert await rendered.comment(place.where, comment.id) == f'&lt;b&gt; <img src="{url}?jwt=local" alt="b">'
