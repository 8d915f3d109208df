from __future__ import annotations

from typing import Any

import pytest

from bot.tasks import Change, Command, Verb
from bot.triggers.labels import issues, pull_request
from tests.bot.triggers import reading


def test_a_label_on_an_issue_asks_with_the_labeller() -> None:
    found = reading.asked(issues, "issues.labeled", label__name="Agent")
    assert (found.trigger, found.label, found.command) == ("label", "Agent", Command(verb=Verb.RUN))
    assert (found.thread, found.is_pull_request, found.comment_id) == (1, False, None)
    assert found.sender.login == "Codertocat"


def test_a_label_on_a_pull_request_arrives_as_pull_request_and_pins_the_head() -> None:
    found = reading.asked(pull_request, "pull_request.labeled")
    assert (found.event, found.is_pull_request) == ("pull_request", True)
    assert found.head_sha is not None


def test_the_same_label_again_later_asks_again_and_a_replay_does_not() -> None:
    one = reading.asked(issues, "issues.labeled")
    assert one.content_key == reading.asked(issues, "issues.labeled").content_key
    later = reading.asked(issues, "issues.labeled", issue__updated_at="2030-01-01T00:00:00Z")
    other = reading.asked(issues, "issues.labeled", label__name="other")
    assert len({one.content_key, later.content_key, other.content_key}) == 3


@pytest.mark.parametrize("body", [None, "/agent do X", ...])
def test_b10_b13_the_issues_own_text_asks_for_nothing(body: Any) -> None:
    found = reading.asked(issues, "issues.labeled", issue__body=body)
    assert found.command.prompt == ""
    assert reading.reason(issues, "issues.opened", issue__body=body) == "nothing is done on this action"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"action": "unlabeled"}, "nothing is done on this action"),
        ({"sender__type": "Bot"}, "not done by a person"),
        ({"sender": None}, "its author has no account any more"),
        ({"installation": ...}, "not sent for an installation of the app"),
    ],
)
def test_a04_b31_what_is_no_request(changes: dict[str, Any], reason: str) -> None:
    assert reading.reason(issues, "issues.labeled", **changes) == reason


@pytest.mark.parametrize(
    ("name", "changes", "what"),
    [
        ("issues.locked", {}, "thread_locked"),
        ("issues.deleted", {}, "thread_gone"),
        ("issues.locked", {"action": "transferred"}, "thread_gone"),
    ],
)
def test_a13_b37_the_end_of_an_issue_ends_its_tasks(name: str, changes: dict[str, Any], what: str) -> None:
    found = reading.read(issues, name, **changes)
    assert isinstance(found, Change)
    assert (found.what, found.thread) == (what, 1)
    assert found.repository_id == 186853002


@pytest.mark.parametrize(
    ("trigger", "name"),
    [(issues, "issues.labeled"), (issues, "issues.locked"), (pull_request, "pull_request.labeled")],
)
def test_w17_no_change_of_a_payload_raises_anything_but_that_it_is_none(trigger: Any, name: str) -> None:
    reading.survives(trigger, name)
