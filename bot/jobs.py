"""The only file that speaks both languages: a task becomes a sandbox's job, an outcome becomes an ending. Pure."""

from __future__ import annotations

import re

from bot.tasks import Ending
from sandbox import Attachment, Job, Limits, Outcome, Reason, Setup, Source, State

# A sandbox's name starts with a letter, so that nobody takes it for a container's id.
NAME_PREFIX = "t"
_TASK_NAME = re.compile(NAME_PREFIX + "[0-9a-f]{10}", re.ASCII)


def sandbox_name(task_id: str) -> str:
    """The name of a task's sandbox, from our own id and never from anybody's text."""
    return f"{NAME_PREFIX}{task_id}"


def names_a_task(name: str) -> bool:
    """Whether a sandbox of this name was made for some task: ``gofer run`` makes others on the same engine."""
    return _TASK_NAME.fullmatch(name) is not None


def job_for(
    task_id: str,
    *,
    prompt: str,
    source: Source,
    limits: Limits,
    model: str | None = None,
    agent: str | None = None,
    setup: Setup | None = None,
    destinations: tuple[str, ...] | None = None,
    attachments: tuple[Attachment, ...] = (),
) -> Job:
    """What the sandbox is asked to do.

    Without ``agent`` it stays open which one works: a runner elsewhere takes its own default. ``destinations`` None:
    all that the operator allows.
    """
    chosen = {} if agent is None else {"agent": agent}
    fields = {
        "name": sandbox_name(task_id),
        "model": model,
        "prompt": prompt,
        "setup": setup,
        "destinations": destinations,
        "attachments": attachments,
    }
    return Job.model_validate({**fields, **chosen, "source": source, "limits": limits})


def fetched_from(job: Job, github_url: str, owner: str, name: str) -> Job:
    """The same job for the repository under another name."""
    if job.source is None:
        return job
    return job.model_copy(update={"source": job.source.model_copy(update={"url": f"{github_url}/{owner}/{name}"})})


def ending_of(outcome: Outcome) -> Ending:
    """One word for the database. "Changed" is what the patch says, never what the agent says."""
    if outcome.state is State.LOST:
        return "lost"
    if outcome.reason is Reason.DEADLINE:
        return "timed_out"
    if outcome.reason is Reason.CANCELLED:
        return "cancelled"
    if outcome.state is not State.SUCCEEDED or outcome.changes is None or outcome.changes.patch is None:
        return "failed"
    return "changed" if outcome.changes.patch else "no_change"


def not_prepared(reason: Reason, words: str) -> Outcome:
    """The outcome of a task whose agent never ran."""
    return Outcome(state=State.FAILED, reason=reason, error=words)


def never_ran(outcome: Outcome) -> bool:
    """Whether it is one of ``not_prepared``: no time, no exit, no files."""
    return (
        outcome.state is State.FAILED
        and outcome.duration_seconds == 0.0
        and outcome.exit_code is None
        and outcome.changes is None
    )
