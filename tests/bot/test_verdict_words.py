from __future__ import annotations

import pytest

from bot.verdict_words import counted, duration, verdict
from sandbox import Changes, Outcome, Reason, State

PATCH = Changes(base_commit="a" * 40, patch=b"diff --git a/x b/x\n")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3_599, "59 min 59 s"), (3_725, "1 h 2 min")],
)
def test_durations_are_written_for_people(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_one_of_a_thing_is_no_plural() -> None:
    assert [counted(number, "file") for number in (0, 1, 1_234)] == ["0 files", "1 file", "1,234 files"]


@pytest.mark.parametrize("reason", Reason)
@pytest.mark.parametrize("state", State)
def test_b88_a_task_that_did_not_succeed_is_never_called_done(state: State, reason: Reason) -> None:
    said = verdict(Outcome(state=state, reason=reason, changes=PATCH, reply="All done, success!"))
    assert ("Done" in said.headline) == (state is State.SUCCEEDED)
    assert (said.word == "changed") == (state is State.SUCCEEDED)
    assert state is State.SUCCEEDED or said.advice


def test_b62_no_change_is_said_when_the_patch_is_empty_whatever_the_agent_says() -> None:
    said = verdict(
        Outcome(
            state=State.SUCCEEDED,
            reason=Reason.OK,
            reply="I fixed it.",
            changes=PATCH.model_copy(update={"patch": b""}),
        )
    )
    assert said.word == "no change"


@pytest.mark.parametrize("changes", [None, PATCH.model_copy(update={"patch": None, "refusal": "why"})])
def test_changes_that_are_unknown_or_refused_are_not_called_none(changes: Changes | None) -> None:
    said = verdict(Outcome(state=State.SUCCEEDED, reason=Reason.OK, changes=changes))
    assert "no change" not in said.word
    assert said.advice


def test_every_reason_has_a_headline_of_its_own() -> None:
    heads = [
        verdict(Outcome(state=State.FAILED, reason=reason)).headline for reason in Reason if reason is not Reason.OK
    ]
    assert len(set(heads)) == len(heads)


def test_done_without_a_word_says_to_read_the_diff() -> None:
    said = verdict(Outcome(state=State.SUCCEEDED, reason=Reason.NO_REPLY, changes=PATCH))
    assert said.word == "changed"
    assert "read the diff" in said.advice


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Reason.BUDGET, "budget is used up"),
        (Reason.LOOP, "went round in circles"),
        (Reason.REFUSED, "Refused by the model"),
        (Reason.NO_REPLY, "without a word"),
    ],
)
def test_what_ended_it_is_in_the_headline(reason: Reason, words: str) -> None:
    assert words in verdict(Outcome(state=State.FAILED, reason=reason)).headline
