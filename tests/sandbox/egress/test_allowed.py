"""The count of one request's body."""

from __future__ import annotations

import pytest

from sandbox.egress.allowed import Allowed
from sandbox.egress.answer import Answer
from sandbox.egress.pool import TooLong
from sandbox.egress.reach import Upstream
from sandbox.egress.usage import Reader

UPSTREAM = Upstream("up.test", 443, True, "", False, "")


def test_a_body_up_to_its_bound_passes_and_the_piece_beyond_it_does_not() -> None:
    allowed = Allowed("model", UPSTREAM, 5, is_answer=True)
    allowed.count(b"123")
    allowed.count(b"45")
    with pytest.raises(TooLong, match="a body may have 5 bytes at most"):
        allowed.count(b"6")


def test_the_end_of_a_body_is_no_piece_of_it() -> None:
    """mitmproxy ends every body with an empty chunk."""
    allowed = Allowed("git", UPSTREAM, 0, is_answer=False)
    allowed.count(b"")
    with pytest.raises(TooLong):
        allowed.count(b"1")
    allowed.count(b"")


def test_an_answer_is_listened_to_only_where_it_is_one() -> None:
    allowed = Allowed("model", UPSTREAM, 5, api="openai-chat", is_answer=True)
    allowed.feed(b"x")
    allowed.answer, allowed.usage = Answer(200, "text/event-stream", "openai-chat"), Reader("openai-chat", "")
    allowed.feed(b"x")
    assert allowed.answer.count == 1
