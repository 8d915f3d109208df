from __future__ import annotations

from typing import Any

import pytest

from bot.tasks import Command, Verb
from bot.triggers.check_run import external_id, parse
from tests.bot.triggers import reading

RERUN, PRESSED = "check_run.rerequested", "check_run.requested_action"


def test_re_run_and_the_buttons_lead_back_to_the_thread() -> None:
    found = reading.asked(parse, RERUN)
    assert (found.command, found.thread, found.trigger) == (Command(verb=Verb.RETRY), 2, "check")
    assert reading.asked(parse, PRESSED).command == Command(verb=Verb.CANCEL)
    again = reading.asked(parse, PRESSED, requested_action__identifier="again")
    assert again.command == Command(verb=Verb.RETRY)
    thirteen = reading.asked(parse, RERUN, check_run__external_id=external_id("0123456789", 13))
    assert (thirteen.thread, thirteen.is_pull_request) == (13, True)
    assert thirteen.head_sha is not None
    issue = reading.asked(parse, RERUN, check_run__external_id=external_id("0123456789", 13, issue=True))
    assert (issue.thread, issue.is_pull_request, issue.head_sha) == (13, False, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"check_run__app__id": 5}, "not a check of ours"),
        ({"check_run__app": None}, "not a check of ours"),
        ({"check_run__external_id": ""}, "not a check of ours"),
        ({"check_run__external_id": "x:y"}, "not a check of ours"),
        ({"check_run__external_id": "a:1:2"}, "not a check of ours"),
        ({"check_run__external_id": "a:1:issues"}, "not a check of ours"),
        ({"sender__type": "Bot"}, "not done by a person"),
        ({"action": "created"}, "nothing is done on this action"),
    ],
)
def test_a19_what_is_no_request(changes: dict[str, Any], reason: str) -> None:
    assert reading.reason(parse, RERUN, **changes) == reason


def test_a_button_that_is_not_ours_does_nothing() -> None:
    assert reading.reason(parse, PRESSED, requested_action__identifier="evil") == "not a button of ours"
    assert reading.reason(parse, PRESSED, requested_action=...) == "not a button of ours"


@pytest.mark.parametrize("name", [RERUN, PRESSED])
def test_w17_no_change_of_a_payload_raises_anything_but_that_it_is_none(name: str) -> None:
    reading.survives(parse, name)
