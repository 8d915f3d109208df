"""What the sandbox is given: the prompt with what was said, frozen, and the commit that the work stands on."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from bot import context, jobs
from bot.asking import ISSUE_PROMPT
from bot.context import Trust
from bot.github import GitHubRefused
from bot.repo_rules import Rules
from bot.steps.repo import rules_of
from bot.steps.world import World, where_of
from bot.store import Task
from bot.threads import Head, Thread
from sandbox import Job, Source


@dataclass(frozen=True)
class Ground:
    """Where the work starts from."""

    source: Source
    head: Head | None = None


async def brief(world: World, task: Task) -> tuple[Task, Job]:
    """Freeze what the agent is told, once; then the job is the same whoever asks for it."""
    rules = await rules_of(world, task)
    if not task.work.prompt:
        task = await _frozen(world, task, rules)
    ground = await _ground(world, task)
    work, choice = task.work, task.work.choice
    named = work.asked.options if work.asked else task.request.command.options
    job = jobs.job_for(
        task.task_id,
        prompt=work.prompt,
        source=ground.source,
        limits=choice.limits if choice else world.rules.limits,
        # A runner elsewhere takes its own default where nobody has named an agent or a model.
        agent=choice.agent if choice and (world.rules.agent or named.agent or named.model) else None,
        model=choice.model if choice and (world.rules.model or named.agent or named.model) else None,
        setup=rules.setup,
    )
    return task, job


async def _frozen(world: World, task: Task, rules: Rules) -> Task:
    """Read the thread and write down what of it is told. A pull request's head is the one of the event."""
    request, where = task.request, where_of(task)
    thread = await world.github.threads.read(where, request.thread, is_pull_request=request.is_pull_request)
    authors = [said.author for said in thread.said if said.author is not None]
    trust = Trust(await world.github.writers(where, authors), everyone=rules.everyone_is_told)
    asked = task.work.asked or request.command
    told = context.tell(
        request, asked.prompt or ISSUE_PROMPT, thread, trust, secrets.token_hex(16), instructions=rules.instructions
    )
    work = task.work.model_copy(
        update={
            "prompt": told.text,
            "left_out": told.left_out,
            "threads": told.threads,
            "head": _pinned(thread, task),
            "thread_title": thread.title,
        }
    )
    return await world.store.set_work(task, work)


def _pinned(thread: Thread, task: Task) -> Head | None:
    """The head as it was when it was asked for, however it has moved since."""
    if thread.head is None or task.request.head_sha is None:
        return thread.head
    return thread.head.model_copy(update={"sha": task.request.head_sha})


async def _ground(world: World, task: Task) -> Ground:
    """A pull request's head; else our live pull request of the thread; else the earlier result on a fresh checkout."""
    request, head = task.request, task.work.head
    repository = request.repository
    url = f"{world.rules.github_url}/{repository.owner}/{repository.name}"
    if head is not None:
        trusted = head.repository_id == repository.id
        return Ground(
            Source(
                url=url,
                commit=head.sha,
                ref=f"refs/pull/{request.thread}/head",
                instructions=None if trusted else head.base_sha,
            ),
            head,
        )
    ours = await world.store.pull_of_thread(repository.id, request.thread)
    if ours is not None:
        try:
            pull = await world.github.threads.pull(where_of(task), ours.number)
        except GitHubRefused:
            pull = None
        if pull is not None and pull.state == "open":
            return Ground(Source(url=url, commit=ours.sha, ref=f"refs/pull/{ours.number}/head"))
        return Ground(Source(url=url, ref=_base(task)))
    return Ground(Source(url=url, ref=_base(task), patch=await _earlier(world, task)))


def _base(task: Task) -> str | None:
    base = task.work.choice.base if task.work.choice else None
    return f"refs/heads/{base}" if base else None


async def _earlier(world: World, task: Task) -> bytes | None:
    """The patch of the thread's last result, where this is no repetition of the task that made it."""
    request = task.request
    source = await world.store.with_result(request.repository.id, request.thread)
    if source is None or source.task_id == task.work.source_task:
        return None
    outcome = await world.store.outcome(source.task_id)
    return outcome.changes.patch if outcome and outcome.changes else None
