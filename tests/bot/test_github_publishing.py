from __future__ import annotations

import base64
from typing import Any

import pytest

from bot.demo import github_git_objects as objects
from bot.demo.github import Failure, LocalGitHub
from bot.github import BranchMoved, BranchProtected, CommitSpec, GitHub, GitHubRefused, GitHubUnavailable, TreeEntry
from bot.github_publishing import MAX_BLOBS
from tests.bot.conversing import Talk, talk
from tests.github_world import Place, sent

ENTRIES = (
    TreeEntry(path="README.md", text="# Hello\n\u00e9\n"),
    TreeEntry(path="a/run.sh", mode="100755", text="#!/bin/sh\n"),
    TreeEntry(path="logo.bin", data=b"\x00\xff"),
    TreeEntry(path="link", mode="120000", text="a/run.sh"),
)


@pytest.fixture
async def ready(github_world: LocalGitHub, place: Place) -> Talk:
    return await talk(github_world, place)


async def committed(client: GitHub, t: Talk, *entries: TreeEntry) -> str:
    parent = t.server.head(t.place.repository) or ""
    spec = CommitSpec(
        message="Do it\n\nCo-authored-by: x <1+x@users.noreply.github.com>", parent=parent, entries=entries
    )
    return await client.publishing.commit(t.place.where, spec)


async def test_b55_a_commit_is_signed_by_github_and_holds_modes_links_and_binaries(
    github_client: GitHub, ready: Talk
) -> None:
    repository = ready.place.repository
    sha = await committed(github_client, ready, *ENTRIES)
    assert sha in ready.server.state.verified
    tree = {item["path"]: item["mode"] for item in objects.read_tree(repository.git_dir, sha, recursive=True)}
    assert tree == {
        "README.md": "100644", "a": "040000", "a/run.sh": "100755", "link": "120000", "logo.bin": "100644",
    }  # fmt: skip
    assert objects.file_at(repository.git_dir, sha, "logo.bin") == b"\x00\xff"
    assert sent(ready.server, "git/create-blob") == 1


async def test_a_file_is_removed(github_client: GitHub, ready: Talk) -> None:
    sha = await committed(github_client, ready, TreeEntry(path="README.md"), TreeEntry(path="x", text="x"))
    assert objects.file_at(ready.place.repository.git_dir, sha, "README.md") is None


async def test_more_binaries_than_github_likes_are_refused_before_any_call(github_client: GitHub, ready: Talk) -> None:
    many = [TreeEntry(path=f"{number}", data=b"x") for number in range(MAX_BLOBS + 1)]
    with pytest.raises(ValueError, match="51 binary files"):
        await committed(github_client, ready, *many)
    assert sent(ready.server, "git/create-blob") == 0


async def test_a_branch_is_made_once_and_moves_forward_only(github_client: GitHub, ready: Talk) -> None:
    where, client = ready.place.where, github_client.publishing
    one = await committed(github_client, ready, TreeEntry(path="x", text="1"))
    await client.set_branch(where, "agent/1-a", one, expected=None)
    await client.set_branch(where, "agent/1-a", one, expected=None)
    assert await client.branch_head(where, "agent/1-a") == one
    assert sent(ready.server, "git/create-ref") == 1
    two = await client.commit(where, CommitSpec(message="m", parent=one, entries=(TreeEntry(path="x", text="2"),)))
    await client.set_branch(where, "agent/1-a", two, expected=one)
    with pytest.raises(BranchMoved, match="it is at"):
        await client.set_branch(where, "agent/1-a", one, expected=one)
    with pytest.raises(BranchMoved, match="not there any more"):
        await client.set_branch(where, "agent/9-z", two, expected=one)


async def test_v02_a_branch_of_ours_that_was_not_seen_at_first_is_there_all_the_same(
    github_client: GitHub, ready: Talk
) -> None:
    where, client = ready.place.where, github_client.publishing
    one = await committed(github_client, ready, TreeEntry(path="x", text="1"))
    await client.set_branch(where, "agent/1-a", one, expected=None)
    ready.server.fail(Failure("git/get-ref", 404))
    await client.set_branch(where, "agent/1-a", one, expected=None)
    two = await client.commit(where, CommitSpec(message="m", parent=one, entries=(TreeEntry(path="x", text="2"),)))
    ready.server.fail(Failure("git/get-ref", 404))
    await client.set_branch(where, "agent/1-a", two, expected=one)
    assert await client.branch_head(where, "agent/1-a") == two


async def test_b70_somebody_was_quicker_between_the_look_and_the_write(github_client: GitHub, ready: Talk) -> None:
    where, client = ready.place.where, github_client.publishing
    one = await committed(github_client, ready, TreeEntry(path="x", text="1"))
    for words in ("Update is not a fast forward", "Reference already exists"):
        body = b'{"message": "%s"}' % words.encode()
        ready.server.fail(Failure("git/create-ref", 422, body=body))
        with pytest.raises(BranchMoved, match=words):
            await client.set_branch(where, "agent/1-b", one, expected=None)


@pytest.mark.parametrize(
    "words",
    [
        "GH006: Protected branch update failed for refs/heads/x.",
        "GH013: Repository rule violations found",
        "by ruleset",
    ],
)
async def test_b113_a_rule_that_keeps_the_branch_is_told_apart(words: str, github_client: GitHub, ready: Talk) -> None:
    one = await committed(github_client, ready, TreeEntry(path="x", text="1"))
    ready.server.fail(Failure("git/create-ref", 422, body=b'{"message": "%s"}' % words.encode()))
    with pytest.raises(BranchProtected):
        await github_client.publishing.set_branch(ready.place.where, "x", one, expected=None)


async def test_b74_any_other_refusal_stays_githubs(github_client: GitHub, ready: Talk) -> None:
    one = await committed(github_client, ready, TreeEntry(path="x", text="1"))
    words = (
        b"refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows`"
    )
    ready.server.fail(Failure("git/create-ref", 422, body=b'{"message": "%s"}' % words))
    with pytest.raises(GitHubRefused, match="refusing to allow"):
        await github_client.publishing.set_branch(ready.place.where, "x", one, expected=None)


async def test_b82_a_branch_that_was_made_in_spite_of_a_502_is_not_made_again(
    github_client: GitHub, ready: Talk
) -> None:
    one = await committed(github_client, ready, TreeEntry(path="x", text="1"))
    ready.server.fail(Failure("git/create-ref", 502, after_effect=True))
    await github_client.publishing.set_branch(ready.place.where, "agent/1-c", one, expected=None)
    assert ready.server.head(ready.place.repository, "agent/1-c") == one
    assert sent(ready.server, "git/create-ref") == 1


async def opened(client: GitHub, t: Talk, branch: str = "agent/1-a", **more: Any) -> Any:
    if t.server.head(t.place.repository, branch) is None:
        sha = await committed(client, t, TreeEntry(path="x", text="1"))
        await client.publishing.set_branch(t.place.where, branch, sha, expected=None)
    fields: dict[str, Any] = {"branch": branch, "base": "main", "title": "T", "body": "B", "draft": True} | more
    return await client.publishing.open_pull(t.place.where, **fields)


async def test_one_pull_request_a_branch_whatever_github_answers(github_client: GitHub, ready: Talk) -> None:
    ready.server.fail(Failure("pulls/create", 502, after_effect=True))
    first = await opened(github_client, ready)
    assert (first.draft, first.by_us, first.head.ref) == (True, True, "agent/1-a")
    assert await opened(github_client, ready) == first
    assert sent(ready.server, "pulls/create") == 1


async def test_a_draft_that_the_plan_does_not_have_is_a_ready_one(github_client: GitHub, ready: Talk) -> None:
    ready.place.repository.drafts = False
    assert (await opened(github_client, ready)).draft is False


async def test_the_description_can_be_replaced(github_client: GitHub, ready: Talk) -> None:
    pull = await opened(github_client, ready)
    await github_client.publishing.update_pull(ready.place.where, pull.number, body="New")
    assert ready.place.repository.issues[pull.number].body == "New"


async def test_a_file_is_read_from_the_default_branch_or_a_commit(github_client: GitHub, ready: Talk) -> None:
    where = ready.place.where
    assert await github_client.publishing.file(where, "README.md") == b"# Hello\n"
    assert await github_client.publishing.file(where, "README.md", ready.pull.sha) == b"# Hello\nMore\n"
    assert await github_client.publishing.file(where, ".github/gofer.yml") is None


async def test_a_file_that_is_too_large_is_told(github_client: GitHub, ready: Talk) -> None:
    ready.server.commit(ready.place.repository, {"big": b"x" * 70_000})
    with pytest.raises(GitHubRefused, match="larger than 65,536"):
        await github_client.publishing.file(ready.place.where, "big")


async def test_a_folder_or_an_answer_of_another_shape_is_no_file(github_client: GitHub, ready: Talk) -> None:
    ready.server.fail(Failure("repos/get-content", 200, body=b"[]"))
    assert await github_client.publishing.file(ready.place.where, "docs") is None
    ready.server.fail(Failure("repos/get-content", 200, body=b'{"type": "file"}'))
    with pytest.raises(GitHubUnavailable):
        await github_client.publishing.file(ready.place.where, "x")
    body = b'{"type": "symlink", "size": 1, "content": "%s"}' % base64.b64encode(b"/etc/passwd")
    ready.server.fail(Failure("repos/get-content", 200, body=body))
    assert await github_client.publishing.file(ready.place.where, "link") is None


async def test_b113_protection_is_asked_before_and_unknown_is_no(github_client: GitHub, ready: Talk) -> None:
    where, client = ready.place.where, github_client.publishing
    assert await client.may_push(where, "topic")
    ready.place.repository.protected.add("topic")
    assert not await client.may_push(where, "topic")
    ready.server.fail(Failure("graphql", 200, body=b'{"data": null, "errors": [{"type": "X", "message": "no"}]}'))
    assert not await client.may_push(where, "main")
