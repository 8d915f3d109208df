from __future__ import annotations

import pytest

from bot.demo.github import Failure, LocalGitHub
from bot.demo.github_shapes import node_id
from bot.github import TO_WRITE_ISSUES, GitHub
from tests.bot.conversing import Talk, talk
from tests.github_world import Place, sent


@pytest.fixture
async def ready(github_world: LocalGitHub, place: Place) -> Talk:
    made = await talk(github_world, place)
    await github_world.review(place.repository, made.issue, "bob", comments=[("README.md", 1, "why?")])
    return made


async def test_b82_an_answer_on_a_review_thread_is_there_once(github_client: GitHub, ready: Talk) -> None:
    root = ready.pull.comments[0]
    ready.server.fail(Failure("pulls/create-reply-for-review-comment", 502, after_effect=True))
    where, number = ready.place.where, ready.issue.number
    first = await github_client.conversation.reply(where, number, root.id, "Done. <!-- m -->", "<!-- m -->")
    again = await github_client.conversation.reply(where, number, root.id, "Done. <!-- m -->", "<!-- m -->")
    assert first == again
    assert [one.body for one in ready.pull.comments if one.by_app] == ["Done. <!-- m -->"]


async def test_somebody_elses_copy_of_the_marker_is_not_ours(github_client: GitHub, ready: Talk) -> None:
    root = ready.pull.comments[0]
    await ready.server.review_comment(ready.place.repository, ready.issue, "mallory", "<!-- m -->", reply_to=root)
    await github_client.conversation.reply(ready.place.where, ready.issue.number, root.id, "x <!-- m -->", "<!-- m -->")
    assert sum(one.by_app for one in ready.pull.comments) == 1


async def test_an_answer_without_its_marker_is_a_mistake_of_ours(github_client: GitHub, ready: Talk) -> None:
    with pytest.raises(ValueError, match="marker"):
        await github_client.conversation.reply(ready.place.where, ready.issue.number, 1, "x", "<!-- m -->")


async def test_a_reaction_on_a_line(github_client: GitHub, ready: Talk) -> None:
    root = ready.pull.comments[0]
    for _ in range(2):
        await github_client.conversation.react(ready.place.where, root.id, "eyes")
    assert [one.content for one in root.reactions] == ["eyes"]


async def test_a_label_is_taken_off_and_fine_where_it_is_gone(github_client: GitHub, ready: Talk) -> None:
    issue = ready.place.issue
    issue.labels = ["Agent", "bug"]
    for _ in range(2):
        await github_client.conversation.remove_label(ready.place.where, issue.number, "agent", TO_WRITE_ISSUES)
    assert issue.labels == ["bug"]


async def test_comments_are_hidden_as_out_of_date(github_client: GitHub, ready: Talk) -> None:
    comment = await ready.server.comment(ready.place.repository, ready.place.issue, "alice", "old")
    ids = [node_id("IssueComment", comment.id)]
    await github_client.conversation.minimise(ready.place.where, ids, TO_WRITE_ISSUES)
    assert comment.minimised == "OUTDATED"
    assert sent(ready.server, "graphql") == 1


async def test_only_our_own_is_hidden_by_its_number(github_client: GitHub, ready: Talk) -> None:
    where, issue = ready.place.where, ready.place.issue
    theirs = await ready.server.comment(ready.place.repository, issue, "alice", "old")
    ours = await github_client.create_comment(where, issue.number, "x <!-- m -->", "<!-- m -->")
    for comment_id in (theirs.id, ours, 4):
        await github_client.conversation.outdate(where, comment_id, TO_WRITE_ISSUES)
    assert [comment.minimised for comment in issue.comments] == ["", "OUTDATED"]
