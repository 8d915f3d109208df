"""The table of calls, and what each does over the face `sandbox.Workspaces`. Errors are the guard's to answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from pydantic import BaseModel
from pydantic_core import to_json

from sandbox import Busy, PrepareFailed, Workspaces
from sandbox.api import asked, choices, wire
from sandbox.api.asked import Refused
from sandbox.api.bodies import JOB_SECONDS, Bodies, send
from sandbox.api.openapi import description
from sandbox.api.sse import stream
from sandbox.job import MAX_PROMPT_BYTES, Handle, Outcome, Phase, Reason, Secrets, Source, Status
from sandbox.settings import Settings
from sandbox.source import repository

# Bytes of a repository call: a URL, a ref and a token.
MAX_REPOSITORY_BYTES: Final = 8_192
# Bytes of a job: a prompt, escaped, and a bundle of up to 48 MiB in base64. What is larger is given by its URL.
MAX_JOB_BYTES: Final = 64 * 2**20
# Seconds that a status call may wait for the agent's end: shorter than proxies wait for an answer.
MAX_WAIT_SECONDS: Final = 50.0
# The reasons that a caller may give for ending a task.
CANCEL_REASONS: Final = (Reason.CANCELLED, Reason.DEADLINE)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Routes:
    """``workspaces`` gives the open face, or raises ``Unreachable`` while there is none."""

    def __init__(self, workspaces: Callable[[], Workspaces], settings: Settings) -> None:
        self._workspaces = workspaces
        self._settings = settings
        self._bodies = Bodies()

    def table(self) -> list[tuple[str, str, Handler]]:
        """Method, path, handler. `openapi` describes the same; a test holds them equal."""
        one = "/sandboxes/{name:[^/]*}"
        return [
            ("GET", "/healthz", self.health),
            ("GET", "/openapi.json", self.openapi),
            ("GET", "/sandboxes", self.sandboxes),
            ("DELETE", one, self.remove),
            ("POST", f"{one}/repository", self.clone),
            ("POST", f"{one}/task", self.begin),
            ("GET", f"{one}/task", self.task),
            ("DELETE", f"{one}/task", self.cancel),
            ("GET", f"{one}/diff", self.diff),
            ("GET", f"{one}/outcome", self.outcome),
            ("GET", f"{one}/events", self.events),
            ("POST", f"{one}/snapshot", self.snapshot),
            ("POST", f"{one}/copy", self.copy),
            ("PUT", f"{one}/job", self.prepare),
            ("POST", f"{one}/job/start", self.start),
            ("GET", f"{one}/status", self.status),
        ]

    async def health(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text="ok\n")

    async def openapi(self, _: web.Request) -> web.StreamResponse:
        return web.json_response(description())

    async def sandboxes(self, request: web.Request) -> web.StreamResponse:
        asked.query(request.query.items(), ())
        handles = await self._workspaces().handles()
        return _json(wire.Sandboxes(sandboxes=tuple(handle.name for handle in handles)))

    async def remove(self, request: web.Request) -> web.StreamResponse:
        await self._workspaces().remove(_handle(request))
        return web.Response(status=204)

    async def clone(self, request: web.Request) -> web.StreamResponse:
        handle = _handle(request)
        words = f"the body is larger than {MAX_REPOSITORY_BYTES} bytes; send {wire.REPOSITORY_FORM}"
        wanted = asked.value(
            wire.Repository, await self._bodies.read(request, MAX_REPOSITORY_BYTES, words), wire.REPOSITORY_FORM
        )
        try:
            repository(wanted.url, self._settings.git_host)
        except ValueError as error:
            raise Refused(400, f"{error}; send {wire.REPOSITORY_FORM}") from None
        source = Source(url=wanted.url, ref=wanted.ref, commit=wanted.commit)
        try:
            fetched = await self._workspaces().fetch(
                handle, source, Secrets(fetch_token=wanted.token), self._settings.limits
            )
        except PrepareFailed as error:
            return _json(wire.Cloned(exitCode=wire.GIT_FATAL, stderr=str(error)), 502)
        return _json(wire.Cloned(exitCode=0, stderr=fetched.words))

    async def begin(self, request: web.Request) -> web.StreamResponse:
        name = _handle(request, choices.TASK_PARAMETERS).name
        query = dict(request.query)
        words = f"the prompt is longer than {MAX_PROMPT_BYTES} bytes"
        prompt = asked.prompt(await self._bodies.read(request, MAX_PROMPT_BYTES, words))
        await self._workspaces().begin(choices.task_job(name, prompt, query, self._settings))
        return _json(wire.Task(state="running"), 202)

    async def task(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(text=await self._task(_handle(request)))

    async def _task(self, handle: Handle) -> str:
        workspaces = self._workspaces()
        match (await workspaces.status(handle)).phase:
            case Phase.ABSENT:
                return wire.Task(state="none").shown()
            case Phase.EXITED if (outcome := await workspaces.ended(handle)) is not None:
                return wire.task_of(outcome).shown()
            case _:
                return wire.Task(state="running").shown()

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        handle = _handle(request, ("reason",))
        given = request.query.get("reason", Reason.CANCELLED.value)
        if given not in CANCEL_REASONS:
            raise Refused(400, f"the reason must be one of {', '.join(CANCEL_REASONS)}")
        workspaces = self._workspaces()
        if (await workspaces.status(handle)).phase is Phase.ABSENT:
            raise _no_task()
        await workspaces.cancel(handle, Reason(given))
        return web.Response(status=202)

    async def diff(self, request: web.Request) -> web.StreamResponse:
        changes = await self._workspaces().diff(_handle(request))
        if changes.patch is None:
            raise Refused(502, changes.refusal or "git could not make a diff of this workspace", "git_failed")
        return await send(request, changes.patch, _text_type(changes.patch))

    async def outcome(self, request: web.Request) -> web.StreamResponse:
        handle = _handle(request)
        workspaces = self._workspaces()
        phase = (await workspaces.status(handle)).phase
        if phase is Phase.ABSENT:
            raise _no_task()
        outcome: Outcome | None = await workspaces.ended(handle) if phase is Phase.EXITED else None
        if outcome is None:
            raise Refused(409, "the task has not ended yet; GET task tells when, DELETE task ends it", "busy")
        # Bytes at once: through a str the contents of all changed files would be held once more.
        return await send(request, to_json(outcome, bytes_mode="base64"), "application/json")

    async def events(self, request: web.Request) -> web.StreamResponse:
        handle = _handle(request)
        return await stream(request, self._workspaces().events(handle), lambda: self._task(handle))

    async def snapshot(self, request: web.Request) -> web.StreamResponse:
        taken = await self._workspaces().snapshot(_handle(request))
        return _json(wire.SnapshotTaken(snapshotId=taken.id, size=taken.size))

    async def copy(self, request: web.Request) -> web.StreamResponse:
        handle = _handle(request, ("from",))
        origin = asked.sandbox_name(request.query.get("from", ""))
        try:
            await self._workspaces().copy(handle, Handle(name=origin))
        except Busy as error:
            raise Refused(409, f"cannot copy: {error}", "busy") from None
        return web.Response(status=204)

    async def prepare(self, request: web.Request) -> web.StreamResponse:
        handle = _handle(request)
        words = f"the job is larger than {MAX_JOB_BYTES} bytes; give the repository by its URL"
        body = await self._bodies.read(request, MAX_JOB_BYTES, words, JOB_SECONDS)
        order = asked.value(wire.Order, body, wire.JOB_FORM)
        if order.job.name != handle.name:
            raise Refused(400, "the job has another name than the path")
        if len(order.job.prompt.encode()) > MAX_PROMPT_BYTES:
            raise Refused(413, f"the prompt is longer than {MAX_PROMPT_BYTES} bytes")
        await self._workspaces().prepare(choices.bounded(order.job, self._settings), order.secrets)
        return _json(handle)

    async def start(self, request: web.Request) -> web.StreamResponse:
        await self._workspaces().start(_handle(request))
        return _json(wire.Task(state="running"), 202)

    async def status(self, request: web.Request) -> web.StreamResponse:
        handle = _handle(request, ("seconds",))
        seconds = _seconds(request.query.get("seconds", "0"))
        workspaces = self._workspaces()
        status: Status = await (workspaces.wait(handle, seconds) if seconds else workspaces.status(handle))
        return _json(status)


def _handle(request: web.Request, parameters: tuple[str, ...] = ()) -> Handle:
    """The sandbox that the call is about. Its query may hold ``parameters`` and nothing else."""
    name = asked.sandbox_name(request.match_info["name"])
    asked.query(request.query.items(), parameters)
    return Handle(name=name)


def _json(value: BaseModel, status: int = 200) -> web.Response:
    return web.json_response(text=value.model_dump_json(exclude_none=isinstance(value, wire.Task)), status=status)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MAX_WAIT_SECONDS:
        raise Refused(400, f"seconds must be a number from 0 to {MAX_WAIT_SECONDS:.0f}")
    return seconds


def _text_type(patch: bytes) -> str:
    """A patch holds the bytes of its files, whatever they are."""
    try:
        patch.decode("utf-8")
    except UnicodeDecodeError:
        return "text/plain"
    return "text/plain; charset=utf-8"


def _no_task() -> Refused:
    return Refused(409, "no task has run in this sandbox", "no_task")
