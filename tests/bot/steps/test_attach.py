"""Images of a thread reach the agent as files, and those that do not are told."""

from __future__ import annotations

import pytest

from bot.attachments import MOST
from bot.demo.github import Failure, Issue, Repository
from sandbox import Job
from tests.bot.stage import Stage
from tests.github_world import sent
from tests.openapi.conform import assert_conforms

PNG = b"\x89PNG\r\n\x1a\n"
GIF = b"GIF89a"


async def told(stage: Stage) -> Job:
    """What the sandbox was given."""
    stage.sandbox.automatic = None
    await stage.until(lambda: bool(stage.sandbox.boxes) and stage.sandbox.counts()["wait"] >= 1)
    return next(iter(stage.sandbox.boxes.values())).job


async def test_b86_images_of_the_thread_lie_beside_the_work_tree_and_are_named(stage: Stage) -> None:
    stage.issue.user = stage.local.state.user("alice")
    stage.issue.body = f"It looks like this:\n\n![broken]({stage.local.upload(PNG + b'one')})"
    await stage.ask(f'fix it, see <img src="{stage.local.upload(GIF + b"two")}">')
    job = await told(stage)
    assert [(one.name, one.data) for one in job.attachments] == [
        ("image-1.gif", GIF + b"two"),
        ("image-2.png", PNG + b"one"),
    ]
    assert "/inputs/attachments/image-1.gif (from the request)" in job.prompt
    assert "/inputs/attachments/image-2.png (from the description)" in job.prompt
    assert [credential for _, credential in stage.local.uploads.asked] == [False, False]


async def test_b86_one_missing_and_one_login_page_are_told(stage: Stage) -> None:
    page, good = stage.local.upload(b"<html>Sign in</html>"), stage.local.upload(PNG)
    missing = f"{stage.local.git_url}/user-attachments/assets/none"
    await stage.ask(f"see ![]({page}) ![]({missing}) ![]({good})")
    await stage.settle()
    (said,) = stage.said
    assert "- an image in the request: GitHub answered 404" in said
    assert "- an image in the request: it is no image of a known kind" in said
    task = await stage.the_task()
    assert [one.name for one in task.work.pictures] == ["image-1.png"]


async def test_p11_addresses_that_are_not_github_s_are_never_asked(stage: Stage) -> None:
    await stage.ask(
        f"see ![](http://169.254.169.254/user-attachments/assets/1) ![]({stage.local.url}/app) ![](https://evil.example)"
    )
    job = await told(stage)
    assert job.attachments == ()
    assert stage.local.uploads.asked == []
    assert sent(stage.local, "apps/get-authenticated") == 0


async def test_only_images_of_people_whose_words_count_are_fetched(stage: Stage) -> None:
    await stage.local.comment(stage.repository, stage.issue, "bob", f"![]({stage.local.upload(PNG)})")
    await stage.ask("fix it")
    assert (await told(stage)).attachments == ()
    assert stage.local.uploads.asked == []


async def test_their_number_is_bounded_and_the_rest_is_told(stage: Stage) -> None:
    text = " ".join(f"![]({stage.local.upload(PNG)})" for _ in range(MOST + 3))
    await stage.ask(f"see {text}")
    await stage.settle()
    assert len((await stage.the_task()).work.pictures) == MOST
    assert len(stage.local.uploads.asked) == MOST
    (said,) = stage.said
    assert f"an image in the request: only {MOST} are fetched" in said


async def test_after_a_restart_they_are_there_again(stage: Stage) -> None:
    await stage.ask(f"see ![]({stage.local.upload(PNG + b'one')})")
    stage.sandbox.hang.add("prepare")
    await stage.until(lambda: stage.sandbox.counts()["prepare"] == 1)
    await stage.restart()
    stage.sandbox.hang.clear()
    stage.sandbox.changed.set()
    job = await told(stage)
    assert [one.data for one in job.attachments] == [PNG + b"one"]
    assert len(stage.local.uploads.asked) == 2


async def private(stage: Stage) -> tuple[Repository, Issue]:
    repository = stage.local.add_repository("octo", "secret", {}, private=True, roles={"alice": "write"})
    return repository, stage.local.add_issue(repository)


async def test_b86_those_of_a_private_repository_are_fetched_by_their_signed_address(stage: Stage) -> None:
    repository, issue = await private(stage)
    issue.user = stage.local.state.user("alice")
    issue.body = f"![]({stage.local.upload(PNG + b'body', private=True)})"
    url = stage.local.upload(PNG + b"asked", private=True)
    await stage.ask(f"see ![]({url})", repository=repository, issue=issue)
    job = await told(stage)
    assert [one.data for one in job.attachments] == [PNG + b"asked", PNG + b"body"]
    assert "jwt" not in job.prompt


async def private_pull(talk: Stage) -> tuple[Repository, Issue]:
    repository = talk.local.add_repository("octo", "secret", {"f": b"old\n"}, private=True, roles={"alice": "write"})
    return repository, await talk.local.open_pull(repository, {"f": b"new\n"}, user="alice")


async def test_b86_so_are_those_of_its_reviews_and_of_comments_on_its_files(talk: Stage) -> None:
    repository, issue = await private_pull(talk)
    lines = f"![]({talk.local.upload(PNG + b'line', private=True)})"
    body = f"![]({talk.local.upload(PNG + b'review', private=True)})"
    await talk.local.review_comment(repository, issue, "alice", lines)
    await talk.local.review(repository, issue, "alice", "COMMENTED", body=body)
    await talk.local.comment(repository, issue, "alice", "/agent fix it")
    job = await told(talk)
    assert {one.data for one in job.attachments} == {PNG + b"line", PNG + b"review"}
    assert "(from a comment on the files)" in job.prompt
    assert "(from a review)" in job.prompt
    assert "jwt" not in job.prompt
    assert_conforms(talk.local.log)


@pytest.mark.parametrize("by", ["review_comment", "review"])
async def test_b86_and_those_of_a_request_that_was_made_there(talk: Stage, by: str) -> None:
    repository, issue = await private_pull(talk)
    words = f"/agent fix ![]({talk.local.upload(PNG + b'asked', private=True)})"
    if by == "review":
        await talk.local.review(repository, issue, "alice", "COMMENTED", body=words)
    else:
        await talk.local.review_comment(repository, issue, "alice", words)
    job = await told(talk)
    assert [one.data for one in job.attachments] == [PNG + b"asked"]
    assert "image-1.png (from the request)" in job.prompt
    assert (sent(talk.local, "pulls/get-review"), sent(talk.local, "pulls/get-review-comment")) == (
        (1, 0) if by == "review" else (0, 1)
    )


async def test_what_is_repeated_has_the_images_of_the_request_that_it_repeats(talk: Stage) -> None:
    repository, issue = await private_pull(talk)
    words = f"/agent fix ![]({talk.local.upload(PNG + b'asked', private=True)})"
    await talk.local.review_comment(repository, issue, "alice", words)
    await talk.settle()
    await talk.local.comment(repository, issue, "alice", "/agent retry")
    await talk.settle()
    assert [[one.data for one in job.attachments] for job in talk.jobs] == [[PNG + b"asked"]] * 2


@pytest.mark.parametrize("status", [404, 503])
async def test_a_text_that_is_not_rendered_costs_its_images_and_no_more(stage: Stage, status: int) -> None:
    repository, issue = await private(stage)
    stage.local.fail(Failure("issues/get-comment", status, times=None))
    url = stage.local.upload(PNG, private=True)
    await stage.ask(f"see ![]({url})", repository=repository, issue=issue)
    await stage.settle()
    task = await stage.the_task()
    assert (task.ending, task.work.pictures) == ("changed", ())
    assert "an image in the request: GitHub answered 404" in task.work.left_out


async def test_switched_off_nothing_is_fetched(stage: Stage) -> None:
    object.__setattr__(stage.runner.world, "images", None)
    await stage.ask(f"see ![]({stage.local.upload(PNG)})")
    job = await told(stage)
    assert (job.attachments, stage.local.uploads.asked) == ((), [])
    assert "/inputs/attachments" not in job.prompt
