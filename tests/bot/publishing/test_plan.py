from __future__ import annotations

from typing import Any

import pytest

from bot.github import PullInfo, RepositoryInfo
from bot.publishing.plan import Diff, Facts, Push, Why, binary, own_branch, plan
from bot.repo_rules import Choice
from bot.tasks import Actor, Request
from bot.threads import Head
from bot.work import Pull
from sandbox import ChangedFile, Changes, Limits, Outcome, Reason, State
from tests.bot.requests import a_request

BASE, HEAD, OTHER = "a" * 40, "b" * 40, "c" * 40
ASKER = Actor(id=5, login="alice", type="User")
REPOSITORY = RepositoryInfo(id=1, owner="octo", name="r", private=False, default_branch="main", archived=False)
FILE = ChangedFile(path="x.py", raw_path=b"x.py", status="modified", new_mode="100644", content=b"x")


def choice(result: str = "pr", **more: Any) -> Choice:
    told = {"agent": "claude", "model": "m", "limits": Limits(), "result": result, "draft": True}
    return Choice.model_validate(told | more)


def outcome(*files: ChangedFile, base: str = BASE, **more: Any) -> Outcome:
    changes = Changes(base_commit=base, patch=b"diff", files=files or (FILE,))
    return Outcome.model_validate({"state": State.SUCCEEDED, "reason": Reason.OK, "changes": changes} | more)


def head(**more: Any) -> Head:
    told = {"sha": HEAD, "ref": "topic", "repository_id": 1, "base_ref": "main", "base_sha": BASE, "author": ASKER}
    return Head.model_validate(told | more)


def info(number: int = 9, **more: Any) -> PullInfo:
    told = {
        "number": number, "state": "open", "merged": False, "draft": True, "locked": False, "title": "T", "url": "u",
        "head": head(), "by_us": True,
    }  # fmt: skip
    return PullInfo.model_validate(told | more)


OURS = Pull(repository_id=1, number=9, thread=7, branch="agent/7-old", sha=HEAD, task_id="old")


def decide(
    *, result: str = "pr", on: Head | None = None, found: Outcome | None = None, request: Request | None = None,
    extra: tuple[str, ...] = (), chosen: Choice | None = None, **facts: Any,
) -> Diff | Push:  # fmt: skip
    known = Facts(**({"repository": REPOSITORY} | facts))
    asked = request or a_request()
    return plan(asked, "t1", chosen or choice(result), found or outcome(), on, known, extra)


def test_a_result_of_an_issue_is_a_branch_of_our_own_on_the_commit_it_was_made_from() -> None:
    assert decide() == Push("agent/7-t1", BASE, None, "main")
    assert own_branch(a_request(thread=12), "abc") == "agent/12-abc"


def test_b67_the_base_is_the_default_branch_or_the_one_that_was_named() -> None:
    trunk = REPOSITORY.model_copy(update={"default_branch": "trunk"})
    assert decide(repository=trunk) == Push("agent/7-t1", BASE, None, "trunk")
    assert decide(chosen=choice(base="v1")) == Push("agent/7-t1", BASE, None, "v1")
    assert decide(chosen=choice(base="v1"), base_there=False) == Diff(Why.NO_BASE)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (outcome(state=State.FAILED, reason=Reason.DEADLINE), Why.NOT_DONE),
        (outcome(state=State.LOST, reason=Reason.LOST), Why.NOT_DONE),
        (outcome(changes=None), Why.NOT_DONE),
        (outcome(changes=Changes(base_commit=BASE, patch=None, refusal="no")), Why.NOT_DONE),
        (outcome(changes=Changes(base_commit=BASE, patch=b"")), Why.NO_CHANGE),
    ],
)
def test_b62_b89_what_did_not_succeed_or_change_anything_opens_nothing(found: Outcome, why: Why) -> None:
    assert decide(found=found) == Diff(why)


def test_a_diff_is_a_diff_unless_it_answers_a_review_of_our_own() -> None:
    assert decide(result="diff") == Diff(Why.ASKED)
    assert decide(result="diff", on=head(), pull=info(), target=HEAD) == Diff(Why.ASKED)
    answered = decide(result="diff", on=head(), pull=info(), ours=OURS, target=HEAD)
    assert answered == Push("topic", HEAD, HEAD, "main", 9)


def test_g22_protected_files_are_named_and_open_nothing() -> None:
    workflow = FILE.model_copy(update={"path": ".github/workflows/ci.yml", "raw_path": b".github/workflows/ci.yml"})
    assert decide(found=outcome(FILE, workflow)) == Diff(Why.PROTECTED, (".github/workflows/ci.yml",))
    assert decide(extra=("*.py",)) == Diff(Why.PROTECTED, ("x.py",))


def test_b56_what_no_commit_can_hold_is_named() -> None:
    bad = FILE.model_copy(update={"path": "caf\\xe9", "raw_path": b"caf\xe9"})
    found = decide(found=outcome(bad))
    assert isinstance(found, Diff)
    assert (found.why, found.paths[0][:9]) == (Why.UNPUBLISHABLE, "caf\\xe9: ")


def test_too_many_binaries_open_nothing() -> None:
    many = [FILE.model_copy(update={"path": f"{n}", "raw_path": b"%d" % n, "content": b"\xff"}) for n in range(51)]
    assert decide(found=outcome(*many)) == Diff(Why.BINARIES)
    assert isinstance(decide(found=outcome(*many[:50])), Push)
    assert not binary(FILE)
    assert binary(FILE.model_copy(update={"content": b"a\0b"}))


def test_an_archived_repository_takes_nothing() -> None:
    assert decide(repository=REPOSITORY.model_copy(update={"archived": True})) == Diff(Why.ARCHIVED)


def test_one_live_pull_request_a_thread_is_updated() -> None:
    follow_up = outcome(base=HEAD)
    live: dict[str, Any] = {"pull": info(), "ours": OURS, "found": follow_up}
    assert decide(target=HEAD, **live) == Push("agent/7-old", HEAD, HEAD, "main", 9)
    fresh = Push("agent/7-t1", HEAD, None, "main")
    assert decide(target=OTHER, **live) == Push("agent/7-t1", HEAD, None, "main", aside=Why.MOVED)
    assert decide(target=None, **live) == Push("agent/7-t1", HEAD, None, "main", aside=Why.DELETED)
    assert decide(target=HEAD, pull=info(state="closed"), ours=OURS, found=follow_up) == fresh


def test_a_result_made_from_another_commit_never_lands_on_our_branch() -> None:
    found = decide(target=HEAD, pull=info(), ours=OURS, found=outcome(base=BASE))
    assert found == Push("agent/7-t1", BASE, None, "main", aside=Why.MOVED)


def test_b68_a11_a_fork_gets_a_diff() -> None:
    for repository in (2, None):
        assert decide(on=head(repository_id=repository), pull=info(), target=HEAD) == Diff(Why.FORK)


@pytest.mark.parametrize(
    ("facts", "on", "expected"),
    [
        pytest.param({"target": HEAD}, {}, Push("topic", HEAD, HEAD, "main", 9), id="the asker's own branch"),
        pytest.param(
            {"target": HEAD},
            {"author": Actor(id=6, login="bob", type="User")},
            Push("agent/7-t1", HEAD, None, "topic", aside=Why.NOT_THEIRS),
            id="somebody else's",
        ),
        pytest.param({"target": OTHER}, {}, Push("agent/7-t1", HEAD, None, "topic", aside=Why.MOVED), id="b70 moved"),
        pytest.param({"target": None}, {}, Push("agent/7-t1", HEAD, None, "main", aside=Why.DELETED), id="deleted"),
        pytest.param(
            {"target": HEAD, "pull": info(merged=True, state="closed")},
            {},
            Push("agent/7-t1", HEAD, None, "main", aside=Why.MERGED),
            id="b71 merged",
        ),
        pytest.param(
            {"target": HEAD, "pull": info(state="closed")},
            {},
            Push("agent/7-t1", HEAD, None, "main", aside=Why.CLOSED),
            id="b71 closed",
        ),
        pytest.param(
            {"target": HEAD, "may_push": False},
            {},
            Push("agent/7-t1", HEAD, None, "topic", aside=Why.RULED),
            id="b113 protected",
        ),
        pytest.param(
            {"target": HEAD},
            {"ref": "main"},
            Push("agent/7-t1", HEAD, None, "main", aside=Why.RULED),
            id="b113 the default branch, whatever the rights",
        ),
    ],
)
def test_where_work_on_a_pull_request_goes(facts: dict[str, Any], on: dict[str, Any], expected: Push) -> None:
    assert decide(on=head(**on), **({"pull": info()} | facts)) == expected


def test_no_plan_writes_the_default_branch_or_expects_nothing_of_a_branch_that_is_not_ours() -> None:
    for author in (ASKER, None):
        for target in (HEAD, OTHER, None):
            for may in (True, False):
                for pull in (info(), info(state="closed"), info(merged=True, state="closed"), None):
                    for ref in ("topic", "main"):
                        found = decide(on=head(author=author, ref=ref), target=target, may_push=may, pull=pull)
                        assert isinstance(found, Push)
                        assert found.branch != "main"
                        assert found.expected is not None or found.branch.startswith("agent/")
