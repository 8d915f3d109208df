"""The words of a fetch that failed."""

from __future__ import annotations

from pydantic import SecretStr

from sandbox import Secrets
from sandbox.workspace import WORDS_CHARACTERS, fetch_words


def test_the_words_of_git_hold_no_credential() -> None:
    given = Secrets(fetch_token=SecretStr("ghs_secret"))
    words = fetch_words({"error": "it is private", "stderr": "fatal: ghs_secret in url"}, given)
    assert "ghs_secret" not in words
    assert "it is private" in words
    assert "fatal: ***" in words


def test_the_words_of_git_are_bounded_and_never_empty() -> None:
    assert len(fetch_words({"stderr": "x" * 100_000}, Secrets())) < WORDS_CHARACTERS + 100
    assert "no reason was given" in fetch_words({}, Secrets())
