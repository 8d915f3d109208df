"""Reading the egress's log: facts from it, and no harm from anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.egress.meter import Breach
from sandbox.egress.report import MAX_BLOCKED, OTHERS, Following, Report, read
from sandbox.egress.usage import Used
from sandbox.job import Blocked


def lines(*facts: dict[str, Any]) -> list[bytes]:
    return [json.dumps({"seq": number, **fact}).encode() for number, fact in enumerate(facts, 1)]


def verdict(
    host: str = "evil.test", listener: str = "general", *, allowed: bool = False, path: str = "/x"
) -> dict[str, Any]:
    return {
        "event": "verdict", "allowed": allowed, "listener": listener, "method": "GET", "host": host, "path": path,
        "reason": f"{host} is not reachable", "status": 403,
    }  # fmt: skip


def answer(status: int = 200, *, complete: bool = True, listener: str = "model") -> dict[str, Any]:
    usage = {"input": 1, "cached": 20, "cache_write": 300, "output": 4000} if complete else None
    fact = {"event": "answer", "listener": listener, "status": status, "complete": complete, "bytes": 7}
    return {**fact, "usage": usage, "model": "m"}


def test_nothing_was_told() -> None:
    assert read([]) == Report()


def test_a_whole_life() -> None:
    report = read(
        lines(
            {"event": "ready"}, verdict("github.test", "git", allowed=True), {"event": "fetch-dropped"},
            verdict("api.test", "model", allowed=True), answer(), verdict(), verdict("other.test"), verdict(),
            verdict("api.test", "model", path="/v1/files?x=1"), verdict("github.test", "git"),
            answer(529, complete=False), answer(200, complete=False), answer(listener="git"),
        )
    )  # fmt: skip
    assert report == Report(
        ready=True,
        fetch_dropped=True,
        blocked=(
            Blocked(host="evil.test", count=2),
            Blocked(host="other.test", count=1),
            Blocked(host="api.test/v1/files", count=1),
        ),
        fetch_refused=("github.test is not reachable",),
        model_requests=1,
        model_answers=1,
        model_statuses=((200, 2), (529, 1)),
        used=Used(1, 20, 300, 4000),
    )  # fmt: skip


def test_lost_lines_are_counted() -> None:
    told = lines({"event": "ready"}, verdict(), verdict(), verdict())
    assert read([told[0], told[3]]).gaps == 2


def test_counted_verdicts_replace_one_another() -> None:
    more = [{"event": "more", "of": "verdict", "host": "evil.test", "count": count} for count in (1, 2, 4)]
    assert read(lines(verdict(), *more)).blocked == (Blocked(host="evil.test", count=5),)


def test_many_hosts_are_summed_up() -> None:
    report = read(lines(*(verdict(f"h{number}.test") for number in range(MAX_BLOCKED + 7))))
    assert len(report.blocked) == MAX_BLOCKED + 1
    assert report.blocked[-1] == Blocked(host=OTHERS, count=7)


def test_the_end_is_told() -> None:
    assert read(lines({"event": "fatal", "words": "no policy"})).fatal == "no policy"


GARBAGE = [
    b"\xff\xfe", b"null", b"[]", b"7", b'"ready"', b"{}", b'{"event": "ready"}', b'{"seq": 1}',
    b'{"seq": 1, "event": 7}', b'{"seq": 1, "event": "ready", "x": "' + b"y" * 5000,
    b'{"seq": true, "event": "ready"}', b'{"seq": "1", "event": "ready"}', b'{"seq": -1, "event": "ready"}',
    b'{"seq": 1e3, "event": "ready"}', b'{"seq": 1, "event": "unknown"}', b'{"seq": 1, "event": "__class__"}',
    b'{"seq": 9007199254740993, "event": "ready"}', b"[" * 100_000,
    b'{"seq": ' + b"9" * 5000 + b"}",
]  # fmt: skip


@pytest.mark.parametrize("line", GARBAGE, ids=range(len(GARBAGE)))
def test_a_line_that_is_not_ours_is_skipped_and_counted(line: bytes) -> None:
    report = read([line, *lines({"event": "ready"})])
    assert (report.bad_lines, report.ready) == (1, True)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = ["event", "allowed", "listener", "host", "path", "status", "complete", "count", "of", "words", "reason"]


@settings(deadline=None)  # a busy machine is no fault of the code
@given(
    st.lists(
        st.dictionaries(st.sampled_from(KEYS), VALUES | st.sampled_from(["verdict", "answer", "more", "fatal"])),
        max_size=6,
    )
)
def test_no_value_of_any_kind_raises(facts: list[dict[str, Any]]) -> None:
    report = read(lines(*facts))
    assert report.model_answers <= len(facts)
    json.dumps([blocked.model_dump() for blocked in report.blocked])


@settings(deadline=None)  # a busy machine is no fault of the code
@given(st.lists(st.binary(max_size=50), max_size=6))
def test_no_bytes_raise(given_lines: list[bytes]) -> None:
    assert read(given_lines).model_answers == 0


def test_what_answers_cost_is_summed_up_and_what_is_not_told_is_counted() -> None:
    untold = {**answer(), "usage": None}
    bad = [
        {**answer(), "usage": {"input": value, "cached": 0, "cache_write": 0, "output": 0}}
        for value in (-1, "1", 2**60)
    ]
    report = read(lines(answer(), answer(), untold, *bad))
    assert report.used == Used(2, 40, 600, 8000)
    assert report.untold == 4
    assert read(lines(untold)).used is None, "unknown is not zero"


def test_counting_tokens_is_no_question() -> None:
    paths = ("/v1/messages", "/v1/messages/count_tokens", "/v1/messages/count_tokens?beta=true")
    assert read(lines(*(verdict("m", "model", allowed=True, path=path) for path in paths))).model_requests == 1


def test_the_first_breach_is_told() -> None:
    breach = {"event": "breach", "of": "tokens", "limit": 5}
    assert read(lines(breach, {**breach, "of": "cost_usd"})).breach == Breach("tokens", 5)
    for bad in ({"of": "anything"}, {"limit": -1}, {"limit": "5"}, {"limit": None}, {"of": 1}):
        assert read(lines({**breach, **bad})).breach is None


def test_a_journal_that_is_followed_in_pieces_counts_each_line_once() -> None:
    whole = b"".join(line + b"\n" for line in lines(verdict("m", "model", allowed=True), answer(), answer()))
    for size in (1, 7, 10_000):
        following = Following()
        for start in (0, 0, whole.index(b"\n") + 1):
            following.again()
            for at in range(start, len(whole), size):
                following.feed(whole[at : at + size])
        assert following.report() == read(whole.splitlines())


def test_an_endless_line_takes_no_memory_and_hides_nothing_after_it() -> None:
    following = Following()
    for _ in range(100):
        following.feed(b"x" * 65_536)
        assert len(following._rest) < 10_000
    following.feed(b"\n" + lines(answer())[0] + b"\n")
    assert following.report().model_answers == 1
