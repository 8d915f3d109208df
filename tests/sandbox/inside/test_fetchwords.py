"""Git's words become one sentence; unknown words are quoted."""

from __future__ import annotations

import pytest

from sandbox.inside.fetchwords import sentence


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("fatal: write error: No space left on device", "does not fit into the workspace"),
        ("fatal: unable to access 'http://127.0.0.1:9002/o/r.git/': The requested URL returned error: 404", "no such"),
        ("fatal: could not read Username for 'http://x': terminal prompts disabled", "asks for a password"),
        ("fatal: couldn't find remote ref refs/pull/9/head", "no branch or tag of the name x"),
        ("fetch-pack: unexpected disconnect while reading sideband packet\nfatal: early EOF", "broke"),
        ("fatal: something new", "git could not fetch the repository: fatal: something new"),
        ("", "no reason given"),
    ],
)
def test_known_words_have_a_sentence(words: str, text: str) -> None:
    assert text in sentence(words, "x", None)
