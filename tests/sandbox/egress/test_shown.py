"""A client's words where people read them."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.egress import shown


@settings(deadline=None)  # a busy machine is no fault of the code
@given(st.text(max_size=400))
def test_a_clients_words_are_harmless_when_shown(text: str) -> None:
    for words in (shown.host(text), shown.path(text), shown.method(text)):
        assert re.fullmatch(r"[!-~ ]{0,256}", words)
        assert not set(words) & set("<>\"`'") - {"'"}
