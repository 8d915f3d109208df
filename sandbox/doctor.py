"""``gofer doctor`` looks: the engine, the images, the pairings, and then real sandboxes in which a probe is the agent.

A sandbox of the doctor's is one as every task has it (store, egress, container, outcome), so what is found is what
tasks get. Nothing is left behind.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from sandbox import PrepareFailed, Unreachable, findings
from sandbox.agents import AGENTS, Agent, Reader, Run
from sandbox.engine import Engine
from sandbox.engines.docker import DockerEngine
from sandbox.findings import Finding, failed, ok, warning
from sandbox.gateways import pairing
from sandbox.images.context import read_files
from sandbox.images.plan import INPUTS_LABEL, RECIPES, all_inputs
from sandbox.images.root import DEFAULT_ROOT
from sandbox.job import AgentName, Handle, Job, Limits, Outcome, Phase, Progress, Secrets, Source, Usage
from sandbox.opening import DEFAULT_RUNTIME
from sandbox.settings import Api, Destination, Settings

CAP_BYTES = 32 * 2**20
LIMITS = Limits(workspace_bytes=CAP_BYTES, workspace_inodes=2_000, wall_seconds=180, memory_bytes=2**30)
WAIT_SECONDS = 10.0
# The probe's report: six tools' last words, and a page of a gateway's.
MAX_REPORT_BYTES = 256 * 2**10


async def examine(settings: Settings, *, offline: bool = False) -> AsyncIterator[Finding]:
    """Findings, each as soon as it is there. ``offline``: nothing beyond the engine's machine is asked."""
    try:
        engine = await DockerEngine.open(settings.docker_host)
    except Unreachable as error:
        yield failed("engine", f"{settings.docker_host} does not answer: {error}", "start Docker, or set its address")
        return
    try:
        async for finding in _ground(engine, settings):
            yield finding
    finally:
        await engine.close()
    yield findings.allowed(settings)
    inside = True
    for name, agent in _offered(settings).items():
        async for finding in _agent(settings, name, agent, inside=inside, offline=offline):
            yield finding
        inside = False


async def _ground(engine: Engine, settings: Settings) -> AsyncIterator[Finding]:
    host = await engine.host()
    yield ok("engine", f"version {host.version or 'unknown'}, {host.cpus} processors")
    runtime = settings.runtime or DEFAULT_RUNTIME
    if runtime in host.runtimes:
        yield ok("runtime", runtime)
    else:
        known = ", ".join(sorted(host.runtimes))
        yield failed("runtime", f"the engine has no {runtime}; it has {known}", "install it, or set another")
    wanted = await _wanted(engine)
    for kind in sorted({"base", "egress", *(agent.image for agent in _offered(settings).values())}):
        yield await _image(engine, settings, kind, wanted)


async def _wanted(engine: Engine) -> Mapping[str, str]:
    """The inputs that each image should have been made from; empty where that cannot be told."""
    root = await engine.image(DEFAULT_ROOT)
    try:
        files = {name: read_files(recipe) for name, recipe in RECIPES.items()}
    except OSError:
        return {}  # installed without the project's own folder of images
    return all_inputs(files, root) if root is not None else {}


async def _image(engine: Engine, settings: Settings, kind: str, wanted: Mapping[str, str]) -> Finding:
    subject, tag = f"image {kind}", f"{settings.image_prefix}/{kind}:latest"
    found = await engine.look_at_image(tag)
    if found is None:
        return failed(subject, f"{tag} is missing", f"python -m sandbox.images build {kind}")
    if kind not in wanted:
        return ok(subject, f"{tag} is there; whether it is current cannot be told from here")
    if dict(found.labels).get(INPUTS_LABEL) != wanted[kind]:
        return warning(subject, f"{tag} was built from other files than are here now", "make images")
    return ok(subject, f"{tag} is current")


def _offered(settings: Settings) -> dict[AgentName, Agent]:
    names: Sequence[AgentName] = ("claude", "codex", "opencode", "pi")
    offered = {name: AGENTS[name] for name in names if settings.for_agent(name) is not None}
    first = settings.default_agent
    return {**({first: offered[first]} if first in offered else {}), **offered}


async def _agent(
    settings: Settings, name: AgentName, agent: Agent, *, inside: bool, offline: bool
) -> AsyncIterator[Finding]:
    """One agent: does it fit its gateway, and what does a probe in its place see. ``inside``: look at the container
    and the tools too, which are the same for every agent."""
    gateway, own = settings.gateway_for(name), settings.for_agent(name)
    model = own.model if own is not None else agent.default_model
    try:
        api = pairing(agent, gateway)
    except ValueError as error:
        yield failed(f"agent {name}", str(error), "give it another gateway")
        return
    yield ok(f"agent {name}", f"{model}, by {api} at the gateway {gateway.name}")
    place = settings.allowed[0] if settings.allowed and inside and not offline else None
    if offline and not inside:
        return
    given = {"cap": CAP_BYTES, "ask": None if offline else question(api, model), "place": _address(place)}
    try:
        report = await _probed(settings, name, Probe(agent, {**given, "inside": inside}))
    except (PrepareFailed, Unreachable, RuntimeError, ValueError) as error:
        yield failed("sandbox", f"one could not be made: {findings.shown(str(error))}", "see deploy/operator.md")
        return
    for finding in _told(report, inside=inside, place=place):
        yield finding
    if not offline:
        yield findings.gateway(f"gateway {gateway.name}", _part(report, "ask"))


def _told(report: Mapping[str, Any], *, inside: bool, place: Destination | None) -> list[Finding]:
    if not inside:
        return []
    found = [*findings.container(_part(report, "look")), findings.workspace(_part(report, "fill"), CAP_BYTES)]
    if place is not None:
        said = _part(report, "tools")
        found += [
            findings.tool(name, said.get(name), place) for name in ("curl", "git", "node", "npm", "python", "pip")
        ]
    return found


def _part(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = report.get(name)
    return part if isinstance(part, dict) else {}


def _address(place: Destination | None) -> str | None:
    return None if place is None else f"https://{findings.place_name(place)}"


def question(api: Api, model: str) -> dict[str, Any]:
    """A few tokens' worth: whether key, model and way are right."""
    if api == "openai-responses":
        return {"path": "/v1/responses", "body": {"model": model, "max_output_tokens": 16, "input": "Say ok."}}
    asked = [{"role": "user", "content": "Say ok."}]
    path = "/v1/messages" if api == "anthropic-messages" else "/v1/chat/completions"
    limit = "max_tokens" if api == "anthropic-messages" else "max_completion_tokens"
    return {"path": path, "body": {"model": model, limit: 16, "messages": asked}}


async def _probed(settings: Settings, name: AgentName, probe: Probe) -> Mapping[str, Any]:
    """The probe's report, of one whole life of a sandbox."""
    from sandbox.service import open_local

    service = await open_local(settings, agents={name: probe})
    job = Job(name=f"doctor-{secrets.token_hex(4)}", agent=name, prompt="probe", source=repository(), limits=LIMITS)
    handle = Handle(name=job.name)
    try:
        try:
            await service.prepare(job, Secrets())
            await service.start(handle)
            while (await service.wait(handle, WAIT_SECONDS)).phase is Phase.RUNNING:
                pass
            return report_of(await service.outcome(handle))
        finally:
            await service.remove(handle)
    finally:
        await service.close()


def report_of(outcome: Outcome) -> Mapping[str, Any]:
    """Raises ``RuntimeError`` where the probe said nothing."""
    try:
        report = json.loads(outcome.reply)
    except ValueError:
        report = None
    if not isinstance(report, dict):
        raise RuntimeError(outcome.error or "the probe told nothing")
    return report


def repository() -> Source:
    """One empty commit as a git bundle, made by hand: the host's git is not needed."""
    tree = hashlib.sha1(b"tree 0\0").hexdigest()  # noqa: S324 - git's own names
    body = f"tree {tree}\nauthor Gofer <> 0 +0000\ncommitter Gofer <> 0 +0000\n\ndoctor\n".encode()
    commit = hashlib.sha1(b"commit %d\0" % len(body) + body).hexdigest()  # noqa: S324
    # kinds of object in a pack: 1 a commit, 2 a tree; four bits of the length, then seven at a time
    pack = b"PACK" + (2).to_bytes(4, "big") + (2).to_bytes(4, "big")
    pack += bytes([0x80 | 1 << 4 | len(body) & 15, len(body) >> 4]) + zlib.compress(body)
    pack += bytes([2 << 4]) + zlib.compress(b"")
    pack += hashlib.sha1(pack).digest()  # noqa: S324
    return Source(url="doctor", bundle=f"# v2 git bundle\n{commit} HEAD\n\n".encode() + pack)


@dataclass(frozen=True)
class Probe:
    """``sandbox.agents.agent.Agent``: the probe in place of a CLI, in its image."""

    agent: Agent
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.agent.name

    @property
    def image(self) -> str:
        return self.agent.image

    @property
    def apis(self) -> tuple[Api, ...]:
        return self.agent.apis

    @property
    def default_model(self) -> str:
        return self.agent.default_model

    def command(self, run: Run) -> list[str]:
        text = resources.files("sandbox").joinpath("probe.py").read_text()
        return ["/usr/bin/python3", "-I", "-c", text, json.dumps(self.given)]

    def environment(self, run: Run) -> dict[str, str]:
        return {}

    def home(self, run: Run) -> Mapping[str, bytes]:
        return {}

    def instructions(self, given: Mapping[str, bytes]) -> Mapping[str, bytes]:
        return {}

    def prompt(self, text: str) -> bytes:
        return text.encode()

    def reader(self) -> Reader:
        return ProbeReader()


class ProbeReader:
    """The probe's one line is its reply."""

    refused, bad_lines, notes, usage, progress = False, 0, (), Usage(), Progress()

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, chunk: bytes) -> None:
        self._data += chunk[: MAX_REPORT_BYTES - len(self._data)]

    def finish(self) -> None:
        """All is there already."""

    @property
    def reply(self) -> str:
        lines = [line for line in bytes(self._data).splitlines() if line.startswith(b'{"gofer_doctor"')]
        return lines[-1].decode("utf-8", "replace") if lines else ""

    @property
    def final(self) -> bool:
        return bool(self.reply)

    @property
    def error(self) -> str:
        return ""
