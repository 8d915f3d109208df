from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.tasks import Actor, Command, Mistake, Slip, Verb
from bot.triggers.asking import EDIT_WINDOW, Asker, Before, Changes, Text, asker, digest, edit, person
from bot.triggers.shape import App, Context, Ignored, Installation, User

CONTEXT = Context("d", "/agent", "4711")
ALICE = User(id=5, login="alice", type="User")
INSTALLATION = Installation(id=9)
MADE = datetime(2026, 1, 1, tzinfo=UTC)
RUN = Command(verb=Verb.RUN, prompt="x")


def text(user: User | None = ALICE, app: App | None = None) -> Text:
    at = MADE.isoformat()
    return Text.model_validate(
        {"id": 1, "user": user, "created_at": at, "updated_at": at, "performed_via_github_app": app}
    )


def test_a_person_asks_through_an_installation() -> None:
    found = asker(text(), ALICE, INSTALLATION, CONTEXT)
    assert found == Asker(Actor(id=5, login="alice", type="User"), 9)
    assert person(ALICE, INSTALLATION) == found


@pytest.mark.parametrize(
    ("author", "sender", "app", "reason"),
    [
        (ALICE, ALICE, App(id=4711), "our own comment"),
        (None, ALICE, None, "its author has no account any more"),
        (ALICE, None, None, "its author has no account any more"),
        (ALICE, User(id=6, login="bob", type="User"), None, "sent by another than its author"),
        (
            User(id=5, login="a[bot]", type="Bot"),
            User(id=5, login="a[bot]", type="Bot"),
            None,
            "not written by a person",
        ),
    ],
)
def test_a04_a05_nobody_else_does(author: User | None, sender: User | None, app: App | None, reason: str) -> None:
    assert asker(text(author, app), sender, INSTALLATION, CONTEXT) == Ignored(reason)


def test_without_an_installation_there_is_nobody_to_act_for() -> None:
    assert person(ALICE, None) == Ignored("not sent for an installation of the app")


@pytest.mark.parametrize(
    ("before", "found", "after", "reason"),
    [
        (None, RUN, 1, "the text was not changed"),
        ("", Mistake(slip=Slip.EMPTY), 1, "a mistake is told once"),
        ("/agent y", RUN, 1, "a command was there before the edit"),
        ("", RUN, EDIT_WINDOW.total_seconds() + 1, "changed more than an hour after it was written"),
    ],
)
def test_b7_a07_what_an_edit_does_not_ask(
    before: str | None, found: Command | Mistake, after: float, reason: str
) -> None:
    changes = Changes() if before is None else Changes(body=Before.model_validate({"from": before}))
    assert edit(changes, found, MADE, MADE + timedelta(seconds=after), "/agent") == Ignored(reason)


def test_b7_a_typo_that_is_mended_asks() -> None:
    changes = Changes(body=Before.model_validate({"from": "/agnet x"}))
    assert edit(changes, RUN, MADE, MADE + EDIT_WINDOW, "/agent") is None


def test_the_same_words_have_the_same_digest() -> None:
    assert digest("a") == digest("a") != digest("b")
