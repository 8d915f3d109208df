"""The face `sandbox.Sandbox` over a runner's HTTP API: another process, another user, or another host.

Whatever goes wrong on the way is ``Unreachable``, never "absent": a connection, a time-out, an answer that is not the
runner's, a token that it does not take. Redirects are never followed, answers are bounded and validated.
"""

from __future__ import annotations

import json
import logging
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from sandbox import Busy, NotThere, PrepareFailed, Unreachable
from sandbox.api.wire import ErrorAnswer, Sandboxes
from sandbox.client_http import SHORT_SECONDS, Answer, Wire, open_wire
from sandbox.job import Handle, Job, Outcome, Phase, Reason, Secrets, State, Status
from sandbox.settings import Settings

M = TypeVar("M", bound=BaseModel)

# Seconds of one status call that waits; the runner takes 50 at the most, and proxies cut what is silent for a minute.
WAIT_SECONDS: Final = 30.0
# Seconds that making a sandbox ready takes beside the fetch: images are there, volumes are made, a setup may run.
PREPARE_SECONDS: Final = 1_800.0
# Seconds for reading a work tree of the largest size and sending its patch.
OUTCOME_SECONDS: Final = 900.0

_log = logging.getLogger(__name__)


async def open_client(url: str, settings: Settings) -> Client:
    """Raises ``ValueError`` for a URL of another form, ``Unreachable`` where no runner answers, ``RuntimeError`` with
    what to do where it does not take our token."""
    if settings.runner is None:
        raise ValueError("a runner elsewhere needs a token")
    wire = open_wire(url, settings.runner)
    client = Client(wire)
    try:
        answer = await wire.ask("GET", "/sandboxes")
        if answer.status == 401:
            raise RuntimeError("the runner does not take our token: it must be one of the runner's own list")
        client.read(answer, Sandboxes)
    except BaseException:
        await client.close()
        raise
    return client


class Client:
    """See ``sandbox.Sandbox`` for the contract of every method."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def prepare(self, job: Job, secrets: Secrets) -> Handle:
        answer = await self._wire.ask(
            "PUT", f"/sandboxes/{job.name}/job", body=order(job, secrets), seconds=PREPARE_SECONDS
        )
        try:
            return self.read(answer, Handle)
        except Refusal as refused:  # the runner understood us, and will say the same to the same job again
            raise PrepareFailed(Reason.FETCH_FAILED, f"The runner refuses the task: {refused}") from None

    async def start(self, handle: Handle) -> None:
        _done(await self._wire.ask("POST", f"/sandboxes/{handle.name}/job/start"), 202)

    async def status(self, handle: Handle) -> Status:
        return self.read(await self._wire.ask("GET", f"/sandboxes/{handle.name}/status"), Status)

    async def wait(self, handle: Handle, seconds: float) -> Status:
        left = seconds
        while True:
            step = max(0.0, min(left, WAIT_SECONDS))
            path = f"/sandboxes/{handle.name}/status?seconds={step:g}"
            status = self.read(await self._wire.ask("GET", path, seconds=step + SHORT_SECONDS), Status)
            left -= WAIT_SECONDS
            if left <= 0 or status.phase in {Phase.EXITED, Phase.ABSENT}:
                return status

    async def outcome(self, handle: Handle) -> Outcome:
        path = f"/sandboxes/{handle.name}/outcome"
        answer = await self._wire.ask("GET", path, seconds=OUTCOME_SECONDS)
        if _code(answer) == "busy":
            await self.cancel(handle, Reason.CANCELLED)
            answer = await self._wire.ask("GET", path, seconds=OUTCOME_SECONDS)
        if _code(answer) == "no_task":
            return Outcome(state=State.LOST, reason=Reason.LOST, error="The sandbox is not there any more.")
        return self.read(answer, Outcome)

    async def cancel(self, handle: Handle, reason: Reason) -> None:
        answer = await self._wire.ask("DELETE", f"/sandboxes/{handle.name}/task?reason={reason.value}")
        if _code(answer) != "no_task":
            _done(answer, 202)

    async def remove(self, handle: Handle) -> None:
        _done(await self._wire.ask("DELETE", f"/sandboxes/{handle.name}"), 204)

    async def handles(self) -> tuple[Handle, ...]:
        answer = self.read(await self._wire.ask("GET", "/sandboxes"), Sandboxes)
        try:
            return tuple(Handle(name=name) for name in answer.sandboxes)
        except ValidationError:
            raise Unreachable("the runner answered with names that are none") from None

    async def close(self) -> None:
        await self._wire.close()

    def read(self, answer: Answer, kind: type[M]) -> M:
        """The value in a 200. Raises what the error stands for; ``Refusal`` for what is our own fault."""
        if answer.status != 200:
            raise trouble(answer)
        try:
            return kind.model_validate_json(answer.body)
        except ValidationError:
            raise Unreachable(f"the runner answered with what is no {kind.__name__}") from None


class Refusal(RuntimeError):
    """The runner understood the call and will not serve it."""


def order(job: Job, secrets: Secrets) -> bytes:
    """The body of a prepare call: what the job leaves open stays out, and is as the runner's operator has it.

    The one place where a secret is written out: it goes to the runner and nowhere else.
    """
    token = secrets.fetch_token
    plain = {"fetch_token": token.get_secret_value()} if token is not None else {}
    return json.dumps({"job": job.model_dump(mode="json", exclude_unset=True), "secrets": plain}).encode()


def trouble(answer: Answer) -> Exception:
    """What an error answer stands for."""
    try:
        error = ErrorAnswer.model_validate_json(answer.body)
    except ValidationError:
        return Unreachable(f"the runner answered {answer.status}, and not in its own words")
    match answer.status, error.code:
        case 422, "prepare_failed":
            reason = next((reason for reason in Reason if reason == error.reason), Reason.FETCH_FAILED)
            return PrepareFailed(reason, error.error)
        case 409, "busy":
            return Busy(error.error)
        case 409, "not_there":
            return NotThere(error.error)
        case ((400 | 413), _):
            return Refusal(error.error)
    return Unreachable(f"the runner: {error.error}")


def _done(answer: Answer, status: int) -> None:
    """A page of somebody else's with 200 is no deed done."""
    if answer.status != status:
        raise trouble(answer)


def _code(answer: Answer) -> str:
    """The word for programs in an error that is a conflict; empty otherwise."""
    if answer.status != 409:
        return ""
    try:
        return ErrorAnswer.model_validate_json(answer.body).code
    except ValidationError:
        return ""
