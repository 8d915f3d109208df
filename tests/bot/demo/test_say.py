from __future__ import annotations

import pytest

from bot.demo import say


@pytest.mark.parametrize("text", ["", "one", " spaces  and\nnewlines \n", "a b c"])
def test_the_words_of_a_stream_are_the_text_again(text: str) -> None:
    assert "".join(say.words(text)) == text


def test_no_id_is_given_twice() -> None:
    assert say.new_id("msg_").startswith("msg_")
    assert len({say.new_id("x") for _ in range(100)}) == 100
