"""A result into the repository: what is opened, updated, put aside or refused, and what is said of it."""

from __future__ import annotations

import pytest

from bot.conversation_words import is_in
from bot.demo.github import Failure, Issue
from bot.demo.github_work_state import Pull
from sandbox import ChangedFile
from tests.bot.results import PATCH
from tests.bot.stage import Stage

WORKFLOW = ChangedFile(
    path=".github/workflows/ci.yml", status="added", new_mode="100644", raw_path=b".github/workflows/ci.yml",
    content=b"on: push\n",
)  # fmt: skip


async def opened(talk: Stage, words: str = "fix the typo") -> tuple[Issue, Pull]:
    """The pull request that the bot has opened for the issue."""
    await talk.say(f"/agent --pr {words}")
    await talk.settle()
    issue = talk.pulls()[-1]
    assert issue.pull is not None
    return issue, issue.pull


async def test_a_pull_request_is_opened_with_the_commit_and_said_on_the_issue(talk: Stage) -> None:
    talk.issue.title = "Typo in the README"
    base = talk.head()
    issue, pull = await opened(talk)
    task = await talk.the_task()
    assert pull.head_ref == f"agent/1-{task.task_id}"
    assert (pull.base_ref, pull.draft) == ("main", True)
    assert issue.title == "Typo in the README (#1)"
    assert issue.body.startswith("Closes #1\n")
    assert talk.file(pull.head_ref) == b"# Hello!\n"
    assert pull.sha in talk.local.state.verified
    assert talk.head() == base
    (said,) = talk.said
    assert f"Opened the draft pull request #{issue.number}" in said
    assert task.ending == "changed"
    kept = await talk.store.pull(talk.repository.id, issue.number)
    assert kept is not None
    assert (kept.thread, kept.sha) == (1, pull.sha)


async def test_ready_where_it_was_asked_for_or_drafts_are_off(talk: Stage) -> None:
    _, pull = await opened(talk, "--ready fix the typo")
    assert not pull.draft
    talk.repository.drafts = False
    second = talk.local.add_issue(talk.repository)
    await talk.say("/agent --pr fix it", issue=second)
    await talk.settle()
    assert [one.pull.draft for one in talk.pulls() if one.pull] == [False, False]


async def test_a_thread_without_a_title_has_a_pull_request_with_one(talk: Stage) -> None:
    talk.issue.title = "🔥"
    issue, _ = await opened(talk)
    assert issue.title == "Work on #1"


async def test_o11_branch_and_title_hold_no_text_of_an_agent_or_a_stranger(talk: Stage) -> None:
    talk.issue.title = "$(id) `x` ; rm -rf / @octo/team #7"
    talk.agent(reply="branch: agent/$(id)\ntitle: $(id)")
    issue, pull = await opened(talk)
    assert pull.head_ref == f"agent/1-{(await talk.the_task()).task_id}"
    assert not set(issue.title) & set("$`;@/")


async def test_b58_a_base_that_moved_meanwhile_is_what_the_commit_stands_on_all_the_same(talk: Stage) -> None:
    base = talk.head()
    talk.sandbox.automatic = None
    await talk.say("/agent --pr fix it")
    await talk.until(lambda: talk.sandbox.counts()["wait"] == 1)
    does = talk.sandbox.does
    assert does is not None
    (name,) = talk.sandbox.boxes
    found = does(talk.jobs[0])
    talk.local.commit(talk.repository, {"f": b"old\n", "README.md": b"# Other\n"})
    talk.sandbox.end(name, found)
    await talk.settle()
    (issue,) = talk.pulls()
    assert issue.pull is not None
    assert talk.head() != base
    assert found.changes is not None
    assert found.changes.base_commit == base
    assert talk.file(issue.pull.head_ref) == b"# Hello!\n"


async def test_b67_the_default_branch_is_the_one_of_now(talk: Stage) -> None:
    talk.sandbox.automatic = None
    await talk.say("/agent --pr fix it")
    await talk.until(lambda: talk.sandbox.counts()["wait"] == 1)
    assert talk.sandbox.does is not None
    found = talk.sandbox.does(talk.jobs[0])
    talk.local.commit(talk.repository, {"f": b"old\n"}, branch="trunk")
    talk.repository.default_branch = "trunk"
    talk.sandbox.end(next(iter(talk.sandbox.boxes)), found)
    await talk.settle()
    (issue,) = talk.pulls()
    assert issue.pull is not None
    assert issue.pull.base_ref == "trunk"
    assert issue.body.startswith("Closes #1\n")


async def test_b77_the_asker_is_co_author_by_the_address_that_github_knows(talk: Stage) -> None:
    _, pull = await opened(talk)
    alice = talk.local.state.user("alice")
    commit = next(e.json() for e in talk.local.log if e.operation == "git/create-commit")
    assert f"Co-authored-by: alice <{alice.id}+alice@users.noreply.127.0.0.1>" in commit["message"]
    assert not {"author", "committer"} & set(commit)
    assert pull.sha


async def test_g22_protected_files_are_listed_and_shown_and_open_nothing(talk: Stage) -> None:
    talk.agent(WORKFLOW)
    await talk.say("/agent --pr fix it")
    await talk.settle()
    assert talk.pulls() == []
    (said,) = talk.said
    assert "No pull request" in said
    assert "`.github/workflows/ci.yml`" in said
    assert "+# Hello!" in said
    assert not [e for e in talk.local.log if e.operation.startswith("git/create")]


async def test_what_the_repository_protects_is_protected_too(talk: Stage) -> None:
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"protected_paths: ['*.md']\n"})
    await talk.say("/agent --pr fix it")
    await talk.settle()
    assert talk.pulls() == []
    assert "README.md" in talk.said[0]


@pytest.mark.parametrize(
    ("operation", "status", "words"),
    [
        ("git/create-ref", 422, "GH013: Repository rule violations"),
        ("git/create-commit", 403, "Resource not accessible by integration"),
        ("pulls/create", 422, "refusing to allow a GitHub App to create or update workflow without `workflows`"),
    ],
)
async def test_b74_b89_what_github_refuses_is_told_and_kept_and_tried_again_by_retry(
    talk: Stage, operation: str, status: int, words: str
) -> None:
    refusing = talk.local.fail(Failure(operation, status, times=None, body=f'{{"message":"{words}"}}'.encode()))
    await talk.say("/agent --pr fix it")
    await talk.settle()
    (said,) = talk.said
    assert "No pull request" in said
    assert "`/agent retry` tries again" in said
    assert "+# Hello!" in said
    assert talk.pulls() == []
    talk.local.failures.remove(refusing)
    await talk.say("/agent retry")
    await talk.settle()
    assert len(talk.pulls()) == 1
    assert len(talk.jobs) == 1
    assert (await talk.last()).ending == "changed"


async def test_permission_that_was_lost_meanwhile_pushes_nothing_and_keeps_the_result(talk: Stage) -> None:
    talk.sandbox.automatic = None
    talk.local.set_role(talk.repository, "carol", "write")
    await talk.say("/agent --pr fix it")
    await talk.until(lambda: talk.sandbox.counts()["wait"] == 1)
    talk.local.set_role(talk.repository, "alice", "read")
    assert talk.sandbox.does is not None
    talk.sandbox.end(next(iter(talk.sandbox.boxes)), talk.sandbox.does(talk.jobs[0]))
    await talk.settle()
    assert talk.pulls() == []
    (said,) = talk.said
    assert "Nothing was pushed" in said
    assert "+# Hello!" in said
    await talk.say("/agent retry", user="carol")
    await talk.settle()
    assert len(talk.pulls()) == 1
    assert len(talk.jobs) == 1


async def test_a13_o14_a_repository_made_public_meanwhile_is_shown_nothing(talk: Stage) -> None:
    talk.repository.private = True
    talk.sandbox.automatic = None
    await talk.say("/agent fix it")
    await talk.until(lambda: talk.sandbox.counts()["wait"] == 1)
    assert talk.sandbox.does is not None
    found = talk.sandbox.does(talk.jobs[0])
    talk.repository.private = False
    talk.sandbox.end(next(iter(talk.sandbox.boxes)), found)
    await talk.settle()
    (said,) = talk.said
    assert "made public meanwhile" in said
    assert "I did it" not in said
    assert "# Hello!" not in said
    assert await talk.store.patch((await talk.the_task()).task_id) == PATCH


async def test_a13_an_archived_repository_takes_nothing_and_is_asked_for_nothing_twice(talk: Stage) -> None:
    talk.sandbox.automatic = None
    await talk.say("/agent --pr fix it")
    await talk.until(lambda: talk.sandbox.counts()["wait"] == 1)
    await talk.local.change_repository(talk.repository, "archived")
    await talk.beat()
    task = await talk.the_task()
    assert task.state == "done"
    assert talk.pulls() == []


async def test_a_follow_up_on_the_issue_goes_into_its_live_pull_request(talk: Stage) -> None:
    issue, pull = await opened(talk)
    before = pull.sha
    await talk.say("/agent and mention it in the docs")
    await talk.settle()
    source = talk.jobs[-1].source
    assert source is not None
    assert (source.commit, source.ref, source.patch) == (before, f"refs/pull/{issue.number}/head", None)
    assert len(talk.pulls()) == 1
    assert talk.head(pull.head_ref) != before
    assert f"Pushed to the draft pull request #{issue.number}" in talk.said[-1]
    kept = await talk.store.pull(talk.repository.id, issue.number)
    assert kept is not None
    assert kept.sha == talk.head(pull.head_ref)


async def test_a_diff_that_was_asked_for_in_so_many_words_is_pushed_nowhere(talk: Stage) -> None:
    _, pull = await opened(talk)
    before = talk.head(pull.head_ref)
    await talk.say("/agent --diff and mention it in the docs")
    await talk.settle()
    assert talk.head(pull.head_ref) == before
    assert "+# Hello!" in talk.said[-1]


@pytest.mark.parametrize("merge", [True, False])
async def test_b71_a_follow_up_after_the_end_of_the_pull_request_starts_from_the_base(talk: Stage, merge: bool) -> None:
    issue, _ = await opened(talk)
    await talk.local.close(talk.repository, issue, merge=merge)
    await talk.say("/agent --pr and mention it in the docs")
    await talk.settle()
    source = talk.jobs[-1].source
    assert source is not None
    assert (source.commit, source.ref, source.patch) == (None, None, None)
    assert len(talk.pulls()) == 2


@pytest.mark.parametrize(("ends", "words"), [("merge", "was merged"), ("close", "was closed"), ("delete", "not there")])
async def test_b71_what_ends_while_the_agent_works_gets_a_branch_of_its_own_and_is_not_revived(
    talk: Stage, ends: str, words: str
) -> None:
    issue, pull = await opened(talk)
    talk.sandbox.automatic = None
    await talk.say("/agent more", issue=issue)
    await talk.until(lambda: talk.sandbox.counts()["start"] == 2)
    found = talk.sandbox.does and talk.sandbox.does(talk.jobs[-1])
    assert found
    if ends == "delete":
        talk.local.delete_branch(talk.repository, pull.head_ref)
    else:
        await talk.local.close(talk.repository, issue, merge=ends == "merge")
    talk.sandbox.end(next(iter(talk.sandbox.boxes)), found)
    await talk.settle()
    assert len(talk.pulls()) == 2
    assert words in talk.said_on(issue)[-1]


async def test_b70_a_head_that_moved_meanwhile_is_left_alone_and_the_work_put_beside_it(talk: Stage) -> None:
    issue, pull = await opened(talk)
    talk.sandbox.automatic = None
    await talk.say("/agent more", issue=issue)
    await talk.until(lambda: talk.sandbox.counts()["start"] == 2)
    found = talk.sandbox.does and talk.sandbox.does(talk.jobs[-1])
    assert found
    theirs = await talk.local.push(talk.repository, issue, {"f": b"theirs\n"})
    talk.sandbox.end(next(iter(talk.sandbox.boxes)), found)
    await talk.settle()
    assert talk.head(pull.head_ref) == theirs
    second = talk.pulls()[-1]
    assert second.pull is not None
    assert second.pull.base_ref == pull.head_ref
    assert "pushed to the branch meanwhile" in talk.said_on(issue)[-1]


async def test_a10_a_head_that_moves_while_the_task_waits_is_not_the_one_worked_on(talk: Stage) -> None:
    issue = await talk.local.open_pull(talk.repository, {"f": b"new\n"}, user="alice")
    assert issue.pull is not None
    asked = issue.pull.sha
    talk.sandbox.automatic = None
    await talk.say("/agent first", issue=issue)
    await talk.until(lambda: talk.sandbox.counts()["start"] == 1)
    await talk.say("/agent look at it", issue=issue)
    await talk.until(lambda: any("Queued" in body for body in talk.said_on(issue)))
    await talk.local.push(talk.repository, issue, {"f": b"evil\n"})
    talk.agent()
    assert talk.sandbox.does is not None
    talk.sandbox.automatic = found = talk.sandbox.does(talk.jobs[0])
    talk.sandbox.end(next(iter(talk.sandbox.boxes)), found)
    await talk.settle()
    assert [job.source and job.source.commit for job in talk.jobs] == [asked, asked]


async def test_the_asker_s_own_branch_takes_the_commit_and_nobody_else_s_does(talk: Stage) -> None:
    talk.local.set_role(talk.repository, "carol", "write")
    issue = await talk.local.open_pull(talk.repository, {"f": b"new\n"}, user="alice", branch="topic")
    await talk.say("/agent --pr mend it", issue=issue)
    await talk.settle()
    mine = talk.head("topic")
    assert talk.file("topic") == b"# Hello!\n"
    assert await talk.store.pull(talk.repository.id, issue.number) is None
    await talk.say("/agent --pr mend it again", user="carol", issue=issue)
    await talk.settle()
    assert talk.head("topic") == mine
    (stacked,) = talk.pulls()
    assert stacked.pull is not None
    assert stacked.pull.base_ref == "topic"
    assert "nobody's branch but by his own wish" in talk.said_on(issue)[-1]


async def test_b113_a_protected_head_is_never_written_and_the_work_is_put_beside_it(talk: Stage) -> None:
    issue = await talk.local.open_pull(talk.repository, {"f": b"new\n"}, user="alice", branch="release")
    talk.repository.protected.add("release")
    before = talk.head("release")
    await talk.say("/agent --pr mend it", issue=issue)
    await talk.settle()
    assert talk.head("release") == before
    assert len(talk.pulls()) == 1
    assert "rules keep me from writing that branch" in talk.said_on(issue)[-1]


async def test_b68_a11_a_fork_gets_a_diff_the_base_s_instructions_and_no_push(talk: Stage) -> None:
    fork = talk.local.add_repository("mallory", "repo", {"f": b"old\n"})
    issue = await talk.local.open_pull(talk.repository, {"f": b"fork\n"}, user="mallory", fork=fork)
    assert issue.pull is not None
    await talk.say("/agent --pr mend it", issue=issue)
    await talk.settle()
    source = talk.jobs[-1].source
    assert source is not None
    assert (source.commit, source.instructions) == (issue.pull.sha, issue.pull.base_sha)
    assert talk.pulls() == []
    (said,) = talk.said_on(issue)
    assert "comes from a fork" in said
    assert "+# Hello!" in said
    assert not [e for e in talk.local.log if e.operation.startswith("git/create")]


async def test_b68_a_fork_that_is_gone_is_worked_on_by_its_head_here(stage: Stage) -> None:
    """Not held against GitHub's description, which does not know that a head's repository may be null."""
    talk = stage
    await talk.hear()
    talk.agent()
    fork = talk.local.add_repository("mallory", "repo", {"f": b"old\n"})
    issue = await talk.local.open_pull(talk.repository, {"f": b"fork\n"}, user="mallory", fork=fork)
    assert issue.pull is not None
    issue.pull.head_repository = None
    await talk.say("/agent mend it", issue=issue)
    await talk.settle()
    source = talk.jobs[-1].source
    assert source is not None
    assert (source.commit, source.ref) == (issue.pull.sha, f"refs/pull/{issue.number}/head")
    assert (await talk.last()).ending == "changed"


async def test_b79_a_token_that_died_before_the_push_is_made_anew(talk: Stage) -> None:
    talk.local.fail(Failure("git/create-tree", 401, times=1, body=b'{"message":"Bad credentials"}'))
    await opened(talk)
    assert len(talk.pulls()) == 1


@pytest.mark.parametrize(
    "operation", ["git/create-tree", "git/create-commit", "git/create-ref", "pulls/create", "issues/update-comment"]
)
async def test_b82_o13_a_call_that_failed_after_it_was_done_makes_nothing_twice(talk: Stage, operation: str) -> None:
    talk.local.fail(Failure(operation, 502, times=1, after_effect=True))
    await talk.say("/agent --pr fix it")
    await talk.settle()
    talk.clock.time += 61
    await talk.settle()
    assert len(talk.pulls()) == 1
    assert len(talk.said) == 1
    assert (await talk.the_task()).ending == "changed"


async def test_a_push_that_comes_between_ours_and_the_comment_about_it_changes_nothing_of_it(talk: Stage) -> None:
    talk.local.fail(Failure("issues/update-comment", 502, times=1))
    await talk.say("/agent --pr fix it")
    await talk.settle()
    (issue,) = talk.pulls()
    theirs = await talk.local.push(talk.repository, issue, {"f": b"theirs\n"})
    talk.clock.time += 61
    await talk.settle()
    assert talk.pulls() == [issue]
    assert issue.pull is not None
    assert talk.head(issue.pull.head_ref) == theirs
    (said,) = talk.said
    assert said.startswith(f"✅ **Opened the draft pull request #{issue.number}**")
    assert "meanwhile" not in said
    assert (await talk.the_task()).ending == "changed"


async def test_a_pull_request_of_ours_that_cannot_be_looked_at_is_named_all_the_same(talk: Stage) -> None:
    talk.local.fail(Failure("issues/update-comment", 502, times=1))
    await talk.say("/agent --pr fix it")
    await talk.settle()
    (issue,) = talk.pulls()
    talk.local.fail(Failure("pulls/get", 404, times=None))
    talk.clock.time += 61
    await talk.settle()
    assert talk.pulls() == [issue]
    assert is_in(issue.number) in talk.said[0]
