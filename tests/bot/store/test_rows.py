"""Rows to values and back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.store.rows import clean, cleaned, outcome_columns, outcome_of
from sandbox import ChangedFile, Changes, Outcome, Reason, State


@given(st.text(st.characters(exclude_categories=[])))
def test_b25_cleaned_text_can_be_stored_by_any_database(text: str) -> None:
    stored = clean(text)
    assert "\0" not in stored
    assert stored.encode("utf-8").decode("utf-8") == stored


def test_b25_keys_and_nested_values_are_cleaned() -> None:
    assert cleaned({"a\0": ["b\ud800", {"c": ("d\0", 1, None)}]}) == {"a": ["b", {"c": ["d", 1, None]}]}


def test_patch_bytes_survive_apart_from_the_outcome() -> None:
    patch = bytes(range(256))
    outcome = Outcome(
        state=State.SUCCEEDED,
        reason=Reason.OK,
        reply="done",
        changes=Changes(base_commit="a" * 40, patch=patch, notes=("look",)),
    )
    body, stored, contents = outcome_columns(outcome)
    assert (stored, contents) == (patch, None)
    assert outcome_of(body, stored) == outcome


def test_what_files_hold_survives_apart_from_the_outcome() -> None:
    file = ChangedFile(path="a", raw_path=b"\xff", status="added", content=b"\0held\xff")
    changes = Changes(base_commit="a" * 40, patch=b"p", files=(file,))
    outcome = Outcome(state=State.SUCCEEDED, reason=Reason.OK, changes=changes)
    body, patch, contents = outcome_columns(outcome)
    assert "held" not in body
    assert outcome_of(body, patch, contents) == outcome
    without = outcome_of(body, patch)  # a row of the time before they were kept
    assert without.changes is not None
    assert without.changes.files[0].content is None


def test_b25_nul_in_the_agents_words_does_not_stop_the_outcome() -> None:
    body, _, _ = outcome_columns(Outcome(state=State.FAILED, reason=Reason.EXIT, error="x\0y", reply="a\0"))
    assert outcome_of(body, None).error == "xy"


def test_absent_patch_is_not_an_empty_one() -> None:
    for patch in (None, b""):
        outcome = Outcome(state=State.FAILED, reason=Reason.EXIT, changes=Changes(base_commit="b", patch=patch))
        assert outcome_of(*outcome_columns(outcome)) == outcome
