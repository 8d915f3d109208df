"""The service's line to an egress container: secrets and orders in, journal lines out."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import SecretStr

from sandbox import Unreachable, presets
from sandbox.agents import AGENTS
from sandbox.background import spawn
from sandbox.engine import STDOUT, Engine, Stream
from sandbox.job import Job, Secrets
from sandbox.prices import price
from sandbox.settings import Gateway, GitHost, Settings

READY_SECONDS = 30.0  # mitmproxy takes 0.8 s; two starting on one busy core took 6 s
DROP_SECONDS = 10.0  # an order is obeyed at once
LINE_BYTES = 64 * 1024  # the journal's lines are 1 KiB at most; more than this is no journal
# So often may the same question be answered. An agent's whole conversation is in each question, so one that asks the
# same again has not heard the answer. Clients ask a broken stream's question again, few more than ten times.
SAME_REQUEST = 12
STDERR_CHARACTERS = 1_000  # kept for our own log, never shown: it may quote anything


class EgressFailed(Exception):
    """The egress did not come up, or went away; ``str()`` says what it said last, in its own constants."""


class Link:
    """Follows the journal for as long as it is open; what nobody waits for is dropped, so it never clogs."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._seen: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._over = asyncio.Event()
        self._fatal = ""
        self._pump = spawn(self._follow(), name="egress journal")

    async def send(self, line: dict[str, Any]) -> None:
        await self._stream.write(json.dumps(line).encode() + b"\n")

    async def event(self, name: str, seconds: float) -> None:
        """Return when the journal has had this event. Raises ``EgressFailed``."""
        seen = spawn(self._seen[name].wait(), name=f"egress {name}")
        over = spawn(self._over.wait(), name="egress over")
        try:
            await asyncio.wait({seen, over}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            seen.cancel()
            over.cancel()
        if self._seen[name].is_set():
            return
        if self._over.is_set():
            raise EgressFailed(f"it ended{': ' + self._fatal if self._fatal else ''}")
        raise EgressFailed(f"it was not {name} after {seconds:.0f} s")

    def close(self) -> None:
        self._pump.cancel()

    async def _follow(self) -> None:
        rest = b""
        try:
            while (piece := await self._stream.read()) is not None:
                channel, data = piece
                if channel != STDOUT:
                    continue
                *lines, rest = (rest + data).split(b"\n")
                rest = rest[:LINE_BYTES]
                for line in lines:
                    self._note(line)
        except Unreachable:
            pass  # told to whoever waits, as the end that it is
        finally:
            self._over.set()

    def _note(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
            event = entry["event"]
        except (ValueError, KeyError, TypeError):
            return
        if event == "fatal":
            self._fatal = str(entry.get("words", ""))
        if event in {"ready", "fetch-dropped", "setup-closed"}:
            self._seen[event].set()


@asynccontextmanager
async def linked(engine: Engine, container: str) -> AsyncIterator[Link]:
    """Attach to an egress that has not been started yet. Leaving the block leaves the egress running."""
    async with engine.attach(container) as stream:
        link = Link(stream)
        try:
            yield link
        finally:
            link.close()


def first_line(
    settings: Settings,
    job: Job,
    repository: str | None,
    secrets: Secrets,
    *,
    with_model: bool = True,
    setup: bool = False,
) -> dict[str, Any]:
    """Policy and secrets, as the egress takes them. ``repository`` is OWNER/REPO, None where nothing is fetched;
    ``with_model`` is False where no agent runs (a fetch or a setup alone): then no socket leads to a model.
    ``setup``: a setup phase has a socket of its own, until ``{"do": "close-setup"}``.

    Raises ``ValueError`` in words where a bound on cost cannot be held, because the model's price is not known.
    """
    gateway = settings.gateway_for(job.agent)
    token, proxy = secrets.fetch_token or SecretStr(""), settings.proxy
    key = gateway.key.get_secret_value() if with_model else ""
    return {
        "policy": {
            "model": _model(gateway) if with_model else None,
            "git": None if repository is None else _git(settings.git_host, repository),
            "general": _general(settings, job, setup=setup),
            "proxy": None if proxy is None else {"url": proxy.url, "user": proxy.user, "ca_pem": proxy.ca_pem},
            "budget": _budget(settings, job),
        },
        "secrets": {
            "model": key,
            "fetch": token.get_secret_value(),
            "proxy": "" if proxy is None else proxy.password.get_secret_value(),
        },
    }


def _model(gateway: Gateway) -> dict[str, Any]:
    return {
        "base_url": gateway.base_url,
        "header": gateway.header,
        "private": gateway.private,
        "ca_pem": gateway.ca_pem,
        "apis": list(gateway.apis),
        "oauth": gateway.oauth,
        "server_side": gateway.server_side,
    }


def _general(settings: Settings, job: Job, *, setup: bool) -> dict[str, Any]:
    """``seconds``: all that may pass while the certificate made at the egress's start is needed."""
    limits = job.limits
    allowed = settings.allowed if job.destinations is None else presets.among(job.destinations, settings.allowed)
    asked = job.setup.seconds if job.setup is not None else 0
    longest = max([asked, *(entry.seconds for entry in settings.setups.values())])
    return {
        "allowed": [place.model_dump(include={"host", "port", "private", "ca_pem", "grammar"}) for place in allowed],
        "setup": setup,
        "seconds": limits.fetch_seconds + longest + limits.wall_seconds,
    }


def _git(host: GitHost, repository: str) -> dict[str, Any]:
    return {
        "base_url": host.base_url,
        "private": host.private,
        "ca_pem": host.ca_pem,
        "repository": repository,
    }


def _budget(settings: Settings, job: Job) -> dict[str, Any]:
    limits, model = job.limits, model_of(settings, job)
    known = price(model)
    if limits.cost_usd is not None and known is None:
        raise ValueError(f"a bound on cost cannot be held: the price of the model {model} is not known")
    return {
        "model_requests": limits.model_requests,
        "tokens": limits.tokens,
        "cost_usd": limits.cost_usd,
        "egress_bytes": limits.egress_bytes,
        "same_request": SAME_REQUEST,
        "prices": None if known is None else known._asdict(),
    }


def model_of(settings: Settings, job: Job) -> str:
    """The model that the task asks for, or its agent's default."""
    own, agent = settings.for_agent(job.agent), AGENTS.get(job.agent)
    return job.model or (own.model if own is not None else "") or (agent.default_model if agent is not None else "")
