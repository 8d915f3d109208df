"""The face of the sandbox half: all that `bot` may use.

`bot` imports from here only. Everything that crosses is JSON in and out (`sandbox.job`), so that the same face can
be served by another process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from sandbox import gateways, presets
from sandbox.background import spawn
from sandbox.egress.address import refusal as refused_address
from sandbox.findings import Finding, Health
from sandbox.job import (
    MAX_ATTACHMENT_BYTES,
    MAX_ATTACHMENTS,
    MAX_ATTACHMENTS_BYTES,
    MAX_PROMPT_BYTES,
    AgentName,
    Attachment,
    Blocked,
    Budget,
    ChangedFile,
    Changes,
    Fetched,
    Handle,
    Job,
    Limits,
    Outcome,
    Phase,
    Progress,
    Reason,
    Secrets,
    Setup,
    Snapshot,
    Source,
    State,
    Status,
    Usage,
)
from sandbox.settings import (
    AgentSettings,
    Api,
    ApiSettings,
    Destination,
    Gateway,
    GitHost,
    Proxy,
    RunnerAccess,
    Settings,
)

__all__ = [
    "MAX_ATTACHMENTS",
    "MAX_ATTACHMENTS_BYTES",
    "MAX_ATTACHMENT_BYTES",
    "MAX_PROMPT_BYTES",
    "AgentName",
    "AgentSettings",
    "Api",
    "ApiSettings",
    "Attachment",
    "Blocked",
    "Budget",
    "Busy",
    "ChangedFile",
    "Changes",
    "Destination",
    "Fetched",
    "Finding",
    "Gateway",
    "GitHost",
    "Handle",
    "Health",
    "Job",
    "Limits",
    "NotThere",
    "Outcome",
    "Phase",
    "PrepareFailed",
    "Progress",
    "Proxy",
    "Reason",
    "RunnerAccess",
    "Sandbox",
    "Secrets",
    "ServedApi",
    "Settings",
    "Setup",
    "Snapshot",
    "Source",
    "State",
    "Status",
    "Unreachable",
    "Usage",
    "Workspaces",
    "check_pairing",
    "check_sandbox_url",
    "default_model",
    "examine",
    "gateways",
    "handle_for",
    "host_address",
    "open_sandbox",
    "presets",
    "refused_address",
    "serve_api",
    "spawn",
    "uninstall",
]


class Unreachable(Exception):
    """The engine (or the runner) could not be asked. It says nothing about the sandbox: ask again."""


class PrepareFailed(Exception):
    """The sandbox could not be made ready; what was made of it has been removed. ``str()`` is for the user."""

    def __init__(self, reason: Reason, words: str) -> None:
        super().__init__(words)
        self.reason = reason


class Busy(Exception):
    """A task runs (or is being made ready) in this sandbox; ``str()`` says so in words."""


class NotThere(Exception):
    """The sandbox, its repository or its snapshot is not there; ``str()`` says which, and what to do first."""


class Sandbox(Protocol):
    """One life: prepare, start, wait, outcome, remove. Every call is safe to repeat and to make after a restart.

    Calls for different sandboxes may run at the same time; for one sandbox, one caller at a time (the bot's lease).
    Any call may raise ``Unreachable``.

    A sandbox may outlive a task (``Workspaces``): a later ``prepare`` whose job has no source works on what is there.
    Between tasks nothing runs.
    """

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        """Make workspace, way out and checkout; no agent runs yet.

        A half-made sandbox of this name is removed first; one that is ready or running is left as it is, and so is one
        whose task has ended, unless ``job`` has no source: then it is the next task there (``NotThere`` where there is
        no workspace, ``Busy`` while another task runs). Raises ``PrepareFailed`` with words for the user; a workspace
        that was there before stays.
        """
        ...

    async def start(self, handle: Handle) -> None:
        """Start the agent and return at once. Does nothing where it has been started before."""
        ...

    async def status(self, handle: Handle) -> Status:
        """Look. Also ends what is over: past the deadline, or silent long after its final event, it is killed.

        A workspace in which no task has been begun is ``ABSENT``: there is no task.
        """
        ...

    async def wait(self, handle: Handle, seconds: float) -> Status:
        """As ``status``, but return only after ``seconds``, or earlier when the agent has ended."""
        ...

    async def outcome(self, handle: Handle) -> Outcome:
        """Kill what still runs, read the work tree, judge. The answer is stored: asking again gives the same.

        A sandbox that is gone altogether is ``State.LOST``.
        """
        ...

    async def cancel(self, handle: Handle, reason: Reason) -> None:
        """Write the intent down, then kill. ``outcome`` then reports ``reason`` with the work so far."""
        ...

    async def remove(self, handle: Handle) -> None:
        """Remove containers, volumes, loop devices and state of this sandbox; fine where some are gone."""
        ...

    async def handles(self) -> tuple[Handle, ...]:
        """Every sandbox of this instance of which anything is left, half-made ones included."""
        ...

    async def close(self) -> None:
        """Let go of connections and threads. Sandboxes run on."""
        ...


class Workspaces(Sandbox, Protocol):
    """Sandboxes that outlive a task: what the runner's HTTP API serves beside ``Sandbox``. Same rules."""

    async def fetch(self, handle: Handle, source: Source, secrets: Secrets, limits: Limits) -> Fetched:
        """Fill the workspace from ``source`` and leave nothing running; what was in it before is replaced.

        Raises ``PrepareFailed`` with git's words, ``Busy`` while a task runs.
        """
        ...

    async def begin(self, job: Job) -> None:
        """The next task in a workspace that is there: record it and return at once; it is made ready, started, watched
        and collected by this very service, whoever asks or not. ``job.source`` is None.

        Of two calls at the same time one wins and the other raises ``Busy``. Raises ``NotThere`` without a workspace,
        ``PrepareFailed`` for an agent or a model that is not offered.
        """
        ...

    async def ended(self, handle: Handle) -> Outcome | None:
        """As ``outcome``, and ends nothing: None while the present task runs, which another caller may have begun."""
        ...

    async def diff(self, handle: Handle) -> Changes:
        """All that changed since the fetch, whether or not a task has run. Raises ``NotThere``, ``Busy``, and
        ``PrepareFailed`` in words where the work tree could not be read."""
        ...

    async def snapshot(self, handle: Handle) -> Snapshot:
        """Save the workspace as it is now, in place of an earlier snapshot of it, which counts until this one is whole.
        It outlives another fetch, and goes with ``remove``. Raises ``NotThere``, ``Busy``, and ``PrepareFailed`` in
        words where the disk has no room."""
        ...

    async def copy(self, handle: Handle, origin: Handle) -> None:
        """Make the workspace of ``handle`` from the snapshot of ``origin``; it has no task then.

        Raises ``Busy`` where ``handle`` is there already, ``NotThere`` where the snapshot is not, or is damaged.
        """
        ...

    def events(self, handle: Handle) -> AsyncIterator[Status]:
        """Every change of ``status``, the present one first; ends after the task's end. Raises ``Unreachable``."""
        ...


def handle_for(name: str) -> Handle:
    """The handle a job of this name will have; known before anything is made, so it can be stored first."""
    return Handle(name=name)


async def open_sandbox(url: str, settings: Settings) -> Sandbox:
    """Open the face named by ``url``: ``local:`` runs the Docker engine in this process, ``http+unix:///PATH``,
    ``https://HOST[:PORT]`` and ``http://127.0.0.1:PORT`` are a runner elsewhere (``settings.runner`` has its token).

    Raises ``ValueError`` for another form, ``Unreachable`` where the engine or the runner does not answer, and
    ``RuntimeError`` with what to do where an image is missing or the runner does not take the token.
    """
    if url == "local:":
        from sandbox.service import open_local

        return await open_local(settings)
    check_sandbox_url(url)
    from sandbox.client import open_client

    return await open_client(url, settings)


def default_model(agent: str) -> str:
    """The model of an agent for which the operator names none. Raises ``KeyError`` for an agent that is none."""
    from sandbox.agents import AGENTS

    return AGENTS[agent].default_model


def check_pairing(agent: AgentName, gateway: Gateway) -> None:
    """Raises ``ValueError`` with a sentence where an agent and a gateway do not speak the same."""
    from sandbox.agents import AGENTS

    gateways.pairing(AGENTS[agent], gateway)


def check_sandbox_url(url: str) -> None:
    """Raises ``ValueError`` with the forms that `open_sandbox` knows. Asks nobody."""
    if url == "local:":
        return
    from sandbox.client_http import check_url

    check_url(url)


class ServedApi(Protocol):
    """The runner's HTTP API while it is served."""

    @property
    def url(self) -> str:
        """Where it listens, as `open_sandbox` takes it."""
        ...

    async def failed(self) -> Exception:
        """Why it cannot work as it is set up, when that shows itself (``str()`` says what to do); never returns
        otherwise."""
        ...


def serve_api(settings: Settings, api: ApiSettings) -> AbstractAsyncContextManager[ServedApi]:
    """Serve the API over the engine of ``settings`` until the block is left; sandboxes run on.

    It listens at once and says 503 until the engine answers. Raises ``ValueError`` with what to do where listening,
    tokens or TLS files are not as they must be.
    """
    from sandbox.api.serving import serving
    from sandbox.service import open_local

    return serving(settings, api, lambda: open_local(settings))


def examine(settings: Settings, *, offline: bool = False) -> AsyncIterator[Finding]:
    """What `gofer doctor` finds, one thing after the other: engine, images, a real sandbox, gateways, destinations.

    ``offline``: nothing beyond the engine's machine is asked. Raises ``Unreachable`` where the engine goes away.
    """
    from sandbox.doctor import examine as look

    return look(settings, offline=offline)


async def host_address(settings: Settings) -> str:
    """The address of this machine at which only containers of the engine reach it. For servers of `gofer demo`.

    Raises ``Unreachable`` where no engine answers.
    """
    from sandbox.engines.docker import DockerEngine

    engine = await DockerEngine.open(settings.docker_host)
    try:
        return await engine.bridge_address()
    finally:
        await engine.close()


async def uninstall(settings: Settings) -> None:
    """Remove every sandbox of ``settings.instance``, and what belongs to the instance itself: network and store.

    Nothing else of this instance may be under way. Safe to repeat. Raises ``Unreachable`` where the engine does not
    answer; what was removed until then is gone.
    """
    from sandbox.service import open_local

    service = await open_local(settings)
    try:
        for handle in await service.handles():
            await service.remove(handle)
        await service.uninstall()
    finally:
        await service.close()
