"""The bodies of the API that are not values of `sandbox.job` already. Pure."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from sandbox.job import Frozen, Job, Outcome, Secrets, State

# Git's own exit status for what is fatal, which is all that a clone can end with here.
GIT_FATAL = 128

REPOSITORY_FORM = '{"url": "https://HOST/OWNER/REPO", "ref": "BRANCH OR TAG", "commit": "FULL ID", "token": "…"}'
JOB_FORM = '{"job": {"name": "…", "prompt": "…", "source": {…}}, "secrets": {"fetch_token": "…"}}'


class Repository(Frozen):
    """What to clone. ``commit`` wins over ``ref``; ``token`` reads this one repository and is kept nowhere."""

    url: str = Field(max_length=2_048)
    ref: str | None = Field(default=None, min_length=1, max_length=255)
    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")
    token: SecretStr | None = Field(default=None, min_length=1, max_length=1_024)


class Cloned(Frozen):
    """How git ended, and what it said."""

    exitCode: int
    stdout: str = ""
    stderr: str = ""


class Task(Frozen):
    """The state of the last task of a sandbox."""

    state: Literal["none", "running", "succeeded", "failed", "lost"]
    result: str | None = None
    """The agent's final reply, of a task that succeeded."""
    error: str | None = None
    """In words, of one that failed or is lost."""

    def shown(self) -> str:
        return self.model_dump_json(exclude_none=True)


class SnapshotTaken(Frozen):
    """``size``: bytes on the operator's disk."""

    snapshotId: str
    size: int


class Order(Frozen):
    """A whole task as the bot gives it."""

    job: Job
    secrets: Secrets = Secrets()


class Sandboxes(Frozen):
    """The names of all of this runner's sandboxes."""

    sandboxes: tuple[str, ...]


class ErrorAnswer(Frozen):
    """Every error. ``error`` is for people, ``code`` for programs; ``reason`` is there with ``prepare_failed``."""

    error: str
    code: str
    reason: str | None = None


def task_of(outcome: Outcome) -> Task:
    """What `GET …/task` says of a task that has ended."""
    if outcome.state is State.SUCCEEDED:
        return Task(state="succeeded", result=outcome.reply)
    return Task(state=outcome.state.value, error=outcome.error)
