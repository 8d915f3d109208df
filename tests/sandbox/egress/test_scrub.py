"""C05: secrets are masked wherever the chunks end, and nothing waits without need."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.egress.scrub import Scrubber

SECRETS = (b"sk-ant-0123456789", b"ghs_abab", b"abab-longer-abab")


@settings(deadline=None)  # a busy machine is no fault of the code
@given(
    st.lists(st.sampled_from([*SECRETS, b"sk-ant-", b"a", b"b", b"ghs_ab", b"\n", b"abab"]), max_size=12),
    st.lists(st.integers(1, 9), max_size=60),
)
def test_c05_no_secret_comes_out_and_no_length_changes(pieces: list[bytes], sizes: list[int]) -> None:
    text = b"".join(pieces)
    scrubber, out, rest = Scrubber(SECRETS), b"", text
    for size in sizes:
        out += scrubber.feed(rest[:size])
        rest = rest[size:]
    out += scrubber.feed(rest) + scrubber.finish()
    assert len(out) == len(text)
    assert not any(secret in out for secret in SECRETS)
    assert all(was == now or now == ord("*") for was, now in zip(text, out, strict=True))


def test_b100_only_what_could_begin_a_secret_waits() -> None:
    scrubber = Scrubber(SECRETS)
    assert scrubber.feed(b"data: token\n\n") == b"data: token\n\n"
    assert scrubber.feed(b"x sk-a") == b"x "
    assert scrubber.feed(b"dverb\n\n") == b"sk-adverb\n\n"


def test_what_waits_at_the_end_is_given_out() -> None:
    scrubber = Scrubber(SECRETS)
    assert scrubber.feed(b"sk-ant-") == b""
    assert scrubber.finish() == b"sk-ant-"
    assert scrubber.finish() == b""


def test_c05_a_secret_that_is_cut_off_by_the_end_is_masked_as_far_as_it_came() -> None:
    scrubber = Scrubber(SECRETS)
    assert scrubber.feed(b"key: sk-ant-012345678") == b"key: "
    assert scrubber.finish() == b"*" * 16
    assert scrubber.finish() == b""


def test_hits_are_counted() -> None:
    scrubber = Scrubber(SECRETS)
    scrubber.feed(SECRETS[0] + b" " + SECRETS[0])
    assert scrubber.whole(b"Basic " + SECRETS[1]) == b"Basic ********"
    assert scrubber.hits == 3


def test_an_empty_secret_masks_nothing() -> None:
    assert Scrubber((b"",)).feed(b"text") == b"text"
