"""Standard input: one line of policy and secrets, then orders that can only take away."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.egress.credentials import Outgoing
from sandbox.egress.journal import Journal
from sandbox.egress.orders import MAX_LINE_BYTES, Orders, first_line, parse
from tests.sandbox.egress.policies import POLICY
from tests.sandbox.egress.policies import line as policy_line

SECRETS = {"model": "CANARY-key-0123456789", "fetch": "", "proxy": ""}
POLICY_LINE = {"policy": policy_line(), "secrets": SECRETS}
DROP = b'{"do": "drop-fetch"}\n'
# An order through a pipe takes microseconds.
SECONDS = 10


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for fd in ends:
        os.close(fd)


def test_the_first_line_is_parted_from_what_follows(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"policy\n" + DROP)
    assert first_line(pipe[0], SECONDS) == (b"policy", DROP)


def test_no_first_line_in_time_is_no_start(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"half a li")
    with pytest.raises(ValueError, match="no policy on standard input"):
        first_line(pipe[0], 0)


def test_a_first_line_without_an_end_is_no_start() -> None:
    with open("/dev/zero", "rb") as endless, pytest.raises(ValueError, match="no policy"):
        first_line(endless.fileno(), SECONDS)


def test_a_policy_line_is_policy_and_credentials() -> None:
    rules, credentials = parse(json.dumps(POLICY_LINE).encode())
    assert rules == POLICY
    assert credentials.set_on("model", Outgoing("POST", "h", "/", ())) == ((b"x-api-key", SECRETS["model"].encode()),)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"CANARY-key-0123456789",
        b'["CANARY-key-0123456789"]',
        json.dumps({**POLICY_LINE, "more": 1}).encode(),
        json.dumps({**POLICY_LINE, "policy": "CANARY-key-0123456789"}).encode(),
        json.dumps({**POLICY_LINE, "secrets": "CANARY-key-0123456789"}).encode(),
        json.dumps({**POLICY_LINE, "secrets": {"model": "CANARY-key-0123456789"}}).encode(),
    ],
)
def test_an_unclear_line_is_refused_in_words_that_hold_nothing_of_it(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"^[^C]") as caught:
        parse(line)
    assert "CANARY" not in str(caught.value)


async def obeyed(pipe: tuple[int, int], rest: bytes, *pieces: bytes) -> tuple[int, list[dict[str, Any]]]:
    """How often fetching was dropped, and the log, once an order that follows the pieces has been reported."""
    out, into = os.pipe()
    dropped: list[None] = []
    loop, logged = asyncio.get_running_loop(), asyncio.Event()
    Orders(
        loop, pipe[0], rest, drop_fetch=lambda: dropped.append(None), close_setup=lambda: None, journal=Journal(into)
    )
    facts: list[dict[str, Any]] = []

    def read() -> None:
        facts.extend(json.loads(line) for line in os.read(out, MAX_LINE_BYTES).splitlines())
        if facts[-1]["event"] == "trouble":
            logged.set()

    loop.add_reader(out, read)
    try:
        for piece in (*pieces, b"the end\n"):
            os.write(pipe[1], piece)
        await asyncio.wait_for(logged.wait(), SECONDS)
    finally:
        loop.remove_reader(out)
        loop.remove_reader(pipe[0])
        os.close(out)
        os.close(into)
    return len(dropped), facts


async def test_an_order_that_came_with_the_first_line_is_obeyed_at_once(pipe: tuple[int, int]) -> None:
    """Nothing may come after it that would wake the reader."""
    dropped: list[None] = []
    loop = asyncio.get_running_loop()
    log = os.open(os.devnull, os.O_WRONLY)
    Orders(loop, pipe[0], DROP, drop_fetch=lambda: dropped.append(None), close_setup=lambda: None, journal=Journal(log))
    loop.remove_reader(pipe[0])
    os.close(log)
    assert len(dropped) == 1


async def test_an_order_is_reported_when_it_is_obeyed(pipe: tuple[int, int]) -> None:
    dropped, facts = await obeyed(pipe, DROP)
    assert dropped == 1
    assert [fact["event"] for fact in facts] == ["fetch-dropped", "trouble"]


async def test_an_order_in_two_pieces_is_obeyed_once(pipe: tuple[int, int]) -> None:
    dropped, _ = await obeyed(pipe, DROP[:5], DROP[5:])
    assert dropped == 1


@pytest.mark.parametrize(
    "order", [b"\xff\n", b'{"do": "allow-all"}\n', json.dumps(POLICY_LINE).encode() + b"\n", b"\n"]
)
async def test_an_unknown_order_is_reported_and_does_nothing(pipe: tuple[int, int], order: bytes) -> None:
    dropped, facts = await obeyed(pipe, order)
    assert dropped == 0
    assert {fact["event"] for fact in facts} == {"trouble"}
    assert "CANARY" not in json.dumps(facts)
