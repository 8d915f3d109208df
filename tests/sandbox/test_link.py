"""The line to an egress: what it says is waited for with a bound, whatever it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from sandbox import AgentSettings, Gateway, GitHost, Job, Limits, Proxy, Secrets, Settings, Setup, Unreachable, presets
from sandbox.egress.orders import parse
from sandbox.engine import STDERR, STDOUT
from sandbox.link import EgressFailed, Link, first_line


class Scripted:
    """An attached stream: gives what was put in, then its end or an error."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[tuple[int, bytes] | Exception | None] = asyncio.Queue()
        self.written: list[bytes] = []

    async def write(self, data: bytes) -> None:
        self.written.append(data)

    async def read(self) -> tuple[int, bytes] | None:
        piece = await self.pieces.get()
        if isinstance(piece, Exception):
            raise piece
        return piece


@pytest.fixture
async def stream() -> Scripted:
    return Scripted()


@pytest.fixture
async def link(stream: Scripted) -> AsyncIterator[Link]:
    made = Link(stream)
    yield made
    made.close()


async def test_an_event_in_pieces_is_seen(stream: Scripted, link: Link) -> None:
    for piece in (b'nonsense\n{"seq":1,"ev', b'ent":"rea', b'dy"}\n[1]\n{"event":{}}\n'):
        stream.pieces.put_nowait((STDOUT, piece))
    await link.event("ready", 5)
    await link.event("ready", 5)


async def test_what_is_said_on_stderr_is_no_event(stream: Scripted, link: Link) -> None:
    stream.pieces.put_nowait((STDERR, b'{"event":"ready"}\n'))
    with pytest.raises(EgressFailed, match="not ready after"):
        await link.event("ready", 0.05)


async def test_its_end_is_told_with_its_last_words(stream: Scripted, link: Link) -> None:
    stream.pieces.put_nowait((STDOUT, b'{"seq":1,"event":"fatal","words":"the policy is no object"}\n'))
    stream.pieces.put_nowait(None)
    with pytest.raises(EgressFailed, match="it ended: the policy is no object"):
        await link.event("ready", 5)


async def test_a_broken_connection_ends_the_wait(stream: Scripted, link: Link) -> None:
    stream.pieces.put_nowait(Unreachable("broke"))
    with pytest.raises(EgressFailed, match="it ended"):
        await link.event("ready", 5)


async def test_an_endless_line_takes_no_memory_and_hides_nothing_after_it(stream: Scripted, link: Link) -> None:
    for _ in range(50):
        stream.pieces.put_nowait((STDOUT, b"x" * 65_536))
    stream.pieces.put_nowait((STDOUT, b'\n{"event":"ready"}\n'))
    await link.event("ready", 5)


async def test_an_order_is_one_line(stream: Scripted, link: Link) -> None:
    await link.send({"do": "drop-fetch"})
    assert stream.written == [b'{"do": "drop-fetch"}\n']


def job(**more: Any) -> Job:
    return Job(name="t", prompt="p", source=None, **more)


def test_the_first_line_holds_policy_and_secrets_and_nothing_else(tmp_path: Path) -> None:
    settings = Settings(
        state_dir=tmp_path,
        gateway=Gateway(base_url="https://m.example/v1", key=SecretStr("K"), header="authorization"),
        git_host=GitHost(base_url="https://git.example"),
        proxy=Proxy(url="http://proxy.example:3128", user="u", password=SecretStr("P")),
    )
    line = first_line(settings, job(), "octo/hello", Secrets(fetch_token=SecretStr("T")))
    assert line["secrets"] == {"model": "K", "fetch": "T", "proxy": "P"}
    assert line["policy"]["git"]["repository"] == "octo/hello"
    assert line["policy"]["model"]["header"] == "authorization"
    assert not {"K", "T", "P"} & set(strings(line["policy"]))
    assert first_line(settings, job(), None, Secrets())["policy"]["git"] is None
    assert first_line(settings, job(), None, Secrets())["secrets"]["fetch"] == ""


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def test_where_no_agent_runs_neither_model_nor_key_is_given(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path, gateway=Gateway(key=SecretStr("K")))
    line = first_line(settings, job(), None, Secrets(), with_model=False)
    assert line["policy"]["model"] is None
    assert line["secrets"]["model"] == ""


def test_the_egress_understands_every_line_that_is_written(tmp_path: Path) -> None:
    own = AgentSettings(model="gpt-5", gateway=Gateway(base_url="https://o.example", apis=("openai-chat",)))
    settings = Settings(
        state_dir=tmp_path, agents={"claude": AgentSettings(), "codex": own}, proxy=Proxy(url="http://p")
    )
    for agent, host in (("claude", "api.anthropic.com"), ("codex", "o.example")):
        task = job(agent=agent, limits=Limits(cost_usd=2))
        rules, _ = parse(json.dumps(first_line(settings, task, "o/r", Secrets())).encode())
        assert rules.model is not None
        assert rules.model.host == host
        assert rules.budget is not None
        assert (rules.budget.cost_usd, rules.budget.prices is None) == (2, False)


def test_what_the_operator_allows_is_told_and_nothing_where_he_allows_nothing(tmp_path: Path) -> None:
    nothing, _ = parse(json.dumps(first_line(Settings(state_dir=tmp_path), job(), None, Secrets())).encode())
    assert (dict(nothing.general.allowed), nothing.general.setup) == ({}, False)
    settings = Settings(state_dir=tmp_path, allowed=presets.parse("npm, lan.test:8443", private=["lan.test:8443"]))
    task = job(limits=Limits(wall_seconds=900, fetch_seconds=60), setup=Setup(seconds=40))
    rules, _ = parse(json.dumps(first_line(settings, task, None, Secrets(), setup=True)).encode())
    assert [place.grammar for place in rules.general.allowed.values()] == ["npm", "plain"]
    assert ("lan.test", 8443) in rules.general.allowed
    assert (rules.general.setup, rules.general.seconds) == (True, 1000)


def test_a_bound_on_cost_for_a_model_of_unknown_price_is_refused_in_words(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path)
    with pytest.raises(ValueError, match="the price of the model mystery-1 is not known"):
        first_line(settings, job(model="mystery-1", limits=Limits(cost_usd=2)), None, Secrets())
    assert first_line(settings, job(model="mystery-1"), None, Secrets())["policy"]["budget"]["prices"] is None


def test_a_job_may_have_less_of_what_the_operator_allows_and_never_more(tmp_path: Path) -> None:
    settings = Settings(state_dir=tmp_path, allowed=presets.parse("npm, pypi, mirror.example.org:8443"))

    def hosts(destinations: tuple[str, ...] | None) -> list[str]:
        line = first_line(settings, job(destinations=destinations), None, Secrets(), setup=True)
        rules, _ = parse(json.dumps(line).encode())
        assert rules.general is not None
        return [host for host, _ in rules.general.allowed]

    every = hosts(None)
    assert len(every) == 4
    assert hosts(("mirror.example.org:8443",)) == ["mirror.example.org"]
    assert hosts(("pypi",)) == every[1:3]
    assert hosts(("npm", "evil.example.org", "mirror.example.org")) == every[:1]
    assert hosts(()) == []
