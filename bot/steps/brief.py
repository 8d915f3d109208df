"""What the sandbox is given: the prompt with what was said, frozen, and the commit that the work stands on."""

from __future__ import annotations

import secrets

from bot import attachments, context, jobs
from bot.asking import ISSUE_PROMPT, about
from bot.context import Trust
from bot.repo_rules import Rules
from bot.steps.attach import again, gather
from bot.steps.ground import source, stand
from bot.steps.repo import rules_of
from bot.steps.world import World, where_of
from bot.store import Task
from bot.threads import Said, Thread
from sandbox import Attachment, Job


async def brief(world: World, task: Task) -> tuple[Task, Job]:
    """Freeze what the agent is told, once; then the job is the same whoever asks for it."""
    rules = await rules_of(world, task)
    if not task.work.prompt:
        task, files = await _frozen(world, task, rules)
    else:
        files = await again(world, task)
    work, choice = task.work, task.work.choice
    agent, model = _who_works(world, task)
    job = jobs.job_for(
        task.task_id,
        prompt=work.prompt,
        source=await source(world, task),
        limits=choice.limits if choice else world.rules.limits,
        agent=agent,
        model=model,
        setup=rules.setup,
        destinations=rules.destinations,
        attachments=files,
    )
    return task, job


def _who_works(world: World, task: Task) -> tuple[str | None, str | None]:
    """Agent and model. None: a runner elsewhere takes its own default, where nobody has named another."""
    choice, operator = task.work.choice, world.rules.operator
    if choice is None:
        return None, None
    named = (task.work.asked or task.request.command).options
    usual = (operator.default_agent, operator.agents.get(operator.default_agent, ("",))[0])
    meant = bool(named.agent or named.model) or (choice.agent, choice.model) != usual
    return choice.agent if world.rules.agent or meant else None, choice.model if world.rules.model or meant else None


async def _frozen(world: World, task: Task, rules: Rules) -> tuple[Task, tuple[Attachment, ...]]:
    """Read the thread and write down what of it is told, and what the work stands on."""
    request, where = about(task.request, task.work.origin), where_of(task)
    thread = await world.github.threads.read(where, request.thread, is_pull_request=request.is_pull_request)
    thread = as_asked(thread, request.title)
    authors = [said.author for said in thread.said if said.author is not None]
    trust = Trust(await world.github.writers(where, authors), everyone=rules.everyone_is_told)
    asked = task.work.asked or request.command
    told = context.tell(
        request, asked.prompt or ISSUE_PROMPT, thread, trust, secrets.token_hex(16), instructions=rules.instructions
    )
    images = await gather(world, task, asked.prompt, context.pieces_of(request, thread, trust))
    work = await stand(world, task)
    kept = {
        "prompt": "\n\n".join(text for text in (told.text, attachments.told(images.pictures)) if text),
        "left_out": (*told.left_out, *images.left_out),
        "pictures": images.pictures,
        "threads": told.threads,
        "thread_title": thread.title,
    }
    return await world.store.set_work(task, work.model_copy(update=kept)), images.files


def as_asked(thread: Thread, title: str) -> Thread:
    """With the title that the signed event had: GitHub does not say when one is changed. Pure."""
    if not title:
        return thread

    def renamed(said: Said) -> Said:
        return said.model_copy(update={"body": title, "edited_at": None}) if said.kind == "title" else said

    return thread.model_copy(update={"title": title, "said": tuple(map(renamed, thread.said))})
