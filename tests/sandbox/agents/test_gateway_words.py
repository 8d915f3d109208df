"""What a gateway's refusal means, in words."""

from __future__ import annotations

import pytest

from sandbox.agents.gateway_words import MAX_QUOTE_CHARS, by_status, quoting


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "refused the key (401)"),
        (402, "no credits left (402)"),
        (403, "does not let this key use that model (403)"),
        (404, "does not know the model (404)"),
        (413, "too large for the model gateway (413)"),
        (429, "rate limit was reached (429)"),
        (500, "The model gateway failed (500)"),
        (502, "The model gateway failed (502)"),
        (529, "overloaded (529)"),
        (400, "refused the request (400)"),
        (302, "refused the request (302)"),
    ],
)
def test_every_status_has_a_sentence_that_names_it(status: int, words: str) -> None:
    assert words in by_status(status)


def test_what_the_agent_said_is_quoted_on_one_line_and_bounded() -> None:
    assert quoting("It failed.", " a\n b\t") == "It failed. The agent said: a b"
    assert quoting("It failed.", " \n") == "It failed."
    assert len(quoting("", "x" * 9999)) <= MAX_QUOTE_CHARS + len(" The agent said: ")
