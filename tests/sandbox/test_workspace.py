"""The words of a fetch that failed."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from sandbox import PrepareFailed, Secrets
from sandbox.workspace import WORDS_CHARACTERS, _told, fetch_words


def test_the_words_of_git_hold_no_credential() -> None:
    given = Secrets(fetch_token=SecretStr("ghs_secret"))
    words = fetch_words({"error": "it is private", "stderr": "fatal: ghs_secret in url"}, given)
    assert "ghs_secret" not in words
    assert "it is private" in words
    assert "fatal: ***" in words


def test_the_words_of_git_are_bounded_and_never_empty() -> None:
    assert len(fetch_words({"stderr": "x" * 100_000}, Secrets())) < WORDS_CHARACTERS + 100
    assert "no reason was given" in fetch_words({}, Secrets())


def test_an_earlier_result_that_does_not_fit_is_no_failure_of_the_fetch() -> None:
    answer = {"error": "The earlier result no longer fits the commit: a: patch does not apply", "unfit": True}
    assert fetch_words(answer, Secrets()) == "The earlier result no longer fits the commit: a: patch does not apply."


@pytest.mark.parametrize("told", [None, [], "x", {"CLAUDE.md": 1}, {"CLAUDE.md": "no base64!"}])
def test_instructions_that_make_no_sense_end_the_preparation(told: object) -> None:
    """Taken for none, the agent would read the checkout's own."""
    with pytest.raises(PrepareFailed, match="could not be read"):
        _told({"told": told} if told is not None else {})
    assert _told({"told": {"CLAUDE.md": "b25l"}}) == {"CLAUDE.md": b"one"}
    assert _told({"told": {}}) == {}
