from __future__ import annotations

from typing import get_args

import pytest

from bot.check_words import ONCE_MORE, STOP, conclusion_of, dropped, ended, running
from bot.github_checks import MAX_SUMMARY_CHARS
from bot.jobs import not_prepared
from bot.result_comment import result
from bot.tasks import Ending
from bot.triggers.check_run import AGAIN, CANCEL
from sandbox import Reason
from tests.bot.fake_sandbox import CHANGED


@pytest.mark.parametrize("ending", get_args(Ending))
def test_every_ending_concludes(ending: Ending) -> None:
    assert conclusion_of(ending) in {"success", "failure", "neutral", "cancelled", "timed_out"}


def test_only_what_changed_or_needed_no_change_is_a_success() -> None:
    good = {ending for ending in get_args(Ending) if conclusion_of(ending) == "success"}
    assert good == {"changed", "no_change"}


@pytest.mark.parametrize("action", [STOP, ONCE_MORE])
def test_buttons_keep_to_githubs_bounds_and_are_those_that_the_trigger_knows(action: object) -> None:
    assert action in {STOP, ONCE_MORE}
    for one in (STOP, ONCE_MORE):
        assert (len(one.label) <= 20, len(one.description) <= 40, len(one.identifier) <= 20) == (True, True, True)
    assert (STOP.identifier, ONCE_MORE.identifier) == (CANCEL, AGAIN)


def test_while_it_runs_it_can_be_cancelled_and_has_no_conclusion() -> None:
    words = running("abc")
    assert (words.conclusion, words.actions) == (None, (STOP,))
    assert "abc" in words.summary
    assert running("abc", "Next in line.\n\n<!-- gofer:abc:status -->").summary == "Next in line."


def test_posted_result_is_short_and_says_where_the_rest_is() -> None:
    words = ended("abc", "changed", CHANGED, result("abc", CHANGED), posted=True)
    assert (words.title, words.conclusion, words.actions) == ("Changed", "success", (ONCE_MORE,))
    assert "+new" not in words.summary
    assert "I did it." in words.summary
    assert "in the conversation" in words.summary


def test_result_that_could_not_be_posted_is_whole_in_the_summary() -> None:
    words = ended("abc", "changed", CHANGED, result("abc", CHANGED), posted=False)
    assert "+new" in words.summary
    assert "gofer:abc" not in words.summary


def test_the_largest_comment_has_room() -> None:
    words = ended("abc", "changed", CHANGED, "x" * (MAX_SUMMARY_CHARS - 1), posted=False)
    assert len(words.summary) == MAX_SUMMARY_CHARS - 1
    words = ended("abc", "changed", CHANGED, "x" * (MAX_SUMMARY_CHARS + 1), posted=False)
    assert "too long" in words.summary


def test_what_never_ran_and_what_is_not_known_are_told_too() -> None:
    outcome = not_prepared(Reason.FETCH_FAILED, "words")
    assert ended("abc", "failed", outcome, "It failed.", posted=True).conclusion == "failure"
    assert ended("abc", "lost", None, "It is lost.", posted=True).title == "Lost"
    assert dropped("abc", "He may not.").conclusion == "neutral"
