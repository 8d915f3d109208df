from __future__ import annotations

from typing import Any

import pytest

from bot.tasks import Command, Mistake, Slip, Verb
from bot.triggers.review import parse
from tests.bot.triggers import reading

SUBMITTED = "pull_request_review.submitted"
BOT = {"id": 9, "login": "gofer[bot]", "type": "Bot"}


def asked(**changes: Any) -> Any:
    return reading.asked(parse, SUBMITTED, **changes)


def test_a_command_in_a_review_brings_its_threads() -> None:
    found = asked()
    assert found.command == Command(verb=Verb.RUN, prompt="fix it")
    assert (found.trigger, found.review_id, found.thread) == ("review", 237895671, 2)
    assert found.head_sha == "ec26c3e57ca3a959ca5aad62de7213c562f8c821"


@pytest.mark.parametrize("state", ["changes_requested", "CHANGES_REQUESTED"])
@pytest.mark.parametrize("body", ["Please look again.", None])
def test_b10_changes_requested_of_a_program_ask_without_a_command(state: str, body: str | None) -> None:
    found = asked(review__state=state, review__body=body, pull_request__user=BOT)
    assert found.command == Command(verb=Verb.RUN)


@pytest.mark.parametrize(
    "changes",
    [
        {"review__state": "changes_requested"},
        {"review__state": "approved", "pull_request__user": BOT},
        {"review__state": "commented", "pull_request__user": BOT},
        {"review__state": "changes_requested", "pull_request__user": None},
    ],
)
def test_any_other_review_without_a_command_asks_for_nothing(changes: dict[str, Any]) -> None:
    assert reading.reason(parse, SUBMITTED, review__body="no", **changes) == (
        "no command, and no changes are asked for of a program"
    )


def test_a_mistake_in_a_review_is_answered() -> None:
    found = asked(review__body="please (/agent fix it)")
    assert found.mistake == Mistake(slip=Slip.PLACE, found="/agent fix it)")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"action": "dismissed"}, "nothing is done on this action"),
        ({"review__user": None}, "its author has no account any more"),
        ({"review__user__type": "Bot", "sender__type": "Bot"}, "not written by a person"),
        ({"installation": ...}, "not sent for an installation of the app"),
    ],
)
def test_a04_what_is_no_request(changes: dict[str, Any], reason: str) -> None:
    assert reading.reason(parse, SUBMITTED, **changes) == reason


def test_b22_b7_an_edit_asks_only_where_no_command_was() -> None:
    edited = {"action": "edited", "changes": {"body": {"from": "/agnet fix it"}}}
    assert asked(**edited).command == Command(verb=Verb.RUN, prompt="fix it")
    same = {"action": "edited", "changes": {"body": {"from": "/agent fix it!"}}}
    assert reading.reason(parse, SUBMITTED, **same) == "a command was there before the edit"
    assert reading.reason(parse, SUBMITTED, action="edited") == "the text was not changed"


def test_w17_no_change_of_a_payload_raises_anything_but_that_it_is_none() -> None:
    reading.survives(parse, SUBMITTED)
