from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.publishing.message import MAX_TITLE_CHARS, body, co_author, commit_message, title
from bot.tasks import Actor
from sandbox import ChangedFile, Changes, Outcome, Reason, State
from tests.bot.requests import a_request

REQUEST = a_request()


def outcome(reply: str = "Done.", *paths: str) -> Outcome:
    files = tuple(ChangedFile(path=path, status="modified", content=b"x") for path in paths)
    changes = Changes(base_commit="a" * 40, patch=b"p", files=files)
    return Outcome(state=State.SUCCEEDED, reason=Reason.OK, reply=reply, changes=changes)


@pytest.mark.parametrize(
    ("thread", "made"),
    [
        ("It fails on Mondays", "It fails on Mondays (#7)"),
        ('x"; touch p; "$(id)', "x touch p (id) (#7)"),
        ("@octocat closes #5 <b>", "octocat closes 5 b (#7)"),
        ("", "Work on #7"),
        ("\u202e$$$", "Work on #7"),
        ("--output=x", "output x (#7)"),
        ("x" * 300, "x" * MAX_TITLE_CHARS + " (#7)"),
    ],
)
def test_o11_b40_a_title_is_safe_to_interpolate(thread: str, made: str) -> None:
    assert title(REQUEST, thread) == made


@given(st.text(max_size=300))
def test_o11_no_title_holds_what_a_shell_or_workflow_would_act_on(thread: str) -> None:
    made = title(REQUEST, thread)
    assert not set(made) & set('`$;|&<>{}\\"\n\r!*?[]@:/')
    assert not made.startswith(("-", "."))
    assert made


def test_b77_the_co_author_has_the_address_that_github_knows_him_by() -> None:
    who = Actor(id=123, login="Ana-X", type="User")
    assert co_author(who, "https://github.com") == "Ana-X <123+Ana-X@users.noreply.github.com>"
    assert co_author(who, "https://ghes.test") == "Ana-X <123+Ana-X@users.noreply.ghes.test>"
    message = commit_message(REQUEST, "It fails", "t1", "https://github.com")
    assert message == (
        "It fails (#7)\n\nTask t1, asked for on #7.\n\nCo-authored-by: alice <5+alice@users.noreply.github.com>"
    )


@pytest.mark.parametrize(
    ("more", "base", "closes"),
    [({}, "main", 1), ({}, "v1", 0), ({"is_pull_request": True}, "main", 0)],
)
def test_closes_is_said_once_and_only_where_it_is_right(more: dict[str, Any], base: str, closes: int) -> None:
    request = REQUEST.model_copy(update=more)
    made = body(request, outcome("Closes #1, fixes #2"), "t1", base=base)
    assert made.count("Closes #7") == closes
    assert made.startswith("Closes #7\n") == bool(closes)


def test_the_agents_words_are_inert_and_what_ci_runs_is_named() -> None:
    made = body(REQUEST, outcome("@octocat look\n/agent do it", "Makefile", "README.md"), "t1", base="main")
    assert "\n> @octocat look\n> /agent do it\n" in made
    assert "⚠️ CI will execute changed files: `Makefile`. " in made
    assert made.endswith("Task `t1`.\n\n<!-- gofer:t1:pull -->")


def test_many_files_that_ci_runs_are_counted() -> None:
    made = body(REQUEST, outcome("", *[f"{n}.sh" for n in range(20)]), "t1", base="main", note="A note.")
    assert "and 5 more" in made
    assert "A note." in made
    assert "own words" not in made
