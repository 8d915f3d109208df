from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.permissions import Decision, Facts, Refusal, Role, Served, decide, role_of
from bot.tasks import Actor, Command, Repository, Request, Verb


def request(sender_type: str = "User", login: str = "ana") -> Request:
    return Request(
        delivery_id="d",
        content_key="k",
        event="issue_comment",
        installation_id=1,
        repository=Repository(id=2, owner="o", name="r", private=False, default_branch="main"),
        thread=3,
        is_pull_request=False,
        comment_id=4,
        sender=Actor(id=5, login=login, type=sender_type),
        command=Command(verb=Verb.RUN, prompt="x"),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def facts(permission: str | None = "write", *, installation: bool = True, served: bool = True) -> Facts:
    return Facts(permission=permission, installation_serves_repository=installation, served=served)


@pytest.mark.parametrize("role", ["write", "maintain", "admin"])
def test_b28_who_may_push_may_ask_whatever_the_webhook_says_of_him(role: str) -> None:
    assert decide(request(), facts(role)) == Decision(allowed=True)


@pytest.mark.parametrize("role", ["read", "triage", "none"])
def test_a01_b29_who_may_only_read_is_refused(role: str) -> None:
    assert decide(request(), facts(role)) == Decision(allowed=False, reason=Refusal.NO_WRITE)


def test_a02_no_answer_of_the_permission_api_is_a_no() -> None:
    assert decide(request(), facts(None)) == Decision(allowed=False, reason=Refusal.COULD_NOT_ASK)


@pytest.mark.parametrize("word", ["", "Write", "WRITE", "owner", "security-team", "true", "admin\n"])
def test_b34_a_word_that_is_no_role_is_a_no(word: str) -> None:
    assert decide(request(), facts(word)) == Decision(allowed=False, reason=Refusal.UNKNOWN_ROLE)


@pytest.mark.parametrize("kind", ["Bot", "Organization", "Mannequin", "", "user"])
def test_a04_b32_a_bot_is_refused_even_with_write(kind: str) -> None:
    decision = decide(request(kind, "evil[bot]"), facts("admin"))
    assert decision == Decision(allowed=False, reason=Refusal.NOT_A_USER)
    assert decision.silent


def test_w19_a_repository_of_another_installation_is_refused() -> None:
    decision = decide(request(), facts("admin", installation=False))
    assert decision == Decision(allowed=False, reason=Refusal.WRONG_INSTALLATION)
    assert decision.silent


def test_admin_of_a_repository_that_is_not_served_is_refused() -> None:
    decision = decide(request(), facts("admin", served=False))
    assert decision == Decision(allowed=False, reason=Refusal.NOT_SERVED)
    assert decision.silent


def test_one_combination_of_facts_in_forty_eight_per_role_is_allowed() -> None:
    allowed = [
        (role, installation, served, kind)
        for role in (None, "none", "read", "triage", "write", "maintain", "admin", "custom")
        for installation in (True, False)
        for served in (True, False)
        for kind in ("User", "Bot")
        if decide(request(kind), facts(role, installation=installation, served=served)).allowed
    ]
    assert allowed == [(role, True, True, "User") for role in ("write", "maintain", "admin")]


def test_the_scale_is_ordered_as_github_orders_it() -> None:
    names = ["none", "read", "triage", "write", "maintain", "admin"]
    assert [role_of(name) for name in names] == sorted(Role)


def test_served_names_owners_and_repositories_whatever_their_case() -> None:
    served = Served.parse("Octo-Org, someone/One.Repo\n")
    assert served.serves("octo-org", "anything")
    assert served.serves("SomeOne", "one.repo")
    assert not served.serves("someone", "other")
    assert not served.serves("octo-org-evil", "x")
    assert not served.serves("octo", "org")
    assert Served.parse(["a/b"]).serves("a", "B")


def test_an_empty_list_serves_nobody() -> None:
    assert not Served.parse("").serves("o", "r")
    assert not Served().serves("", "")


@pytest.mark.parametrize("entry", ["*", "owner/*", "https://github.com/o", "o/r/x", "/r", "o/", "ö"])
def test_a_slip_in_the_list_is_told(entry: str) -> None:
    with pytest.raises(ValueError, match="neither an owner"):
        Served.parse([entry])
