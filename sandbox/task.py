"""The agent's part of a task: which agent, with which model, in which container."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sandbox import PrepareFailed
from sandbox.agents import Agent, Run
from sandbox.context import Context
from sandbox.engine import Plan
from sandbox.engines import plan
from sandbox.gateways import pairing
from sandbox.job import Job, Reason
from sandbox.repository_image import image_for


@dataclass(frozen=True)
class Task:
    """What a task runs."""

    job: Job
    agent: Agent
    run: Run
    image: str
    """The ID of what it runs in: the agent's own image, or the operator's for this repository."""


def task_of(context: Context, job: Job, *, instructions: bool = False) -> Task:
    """What the operator offers for this job; ``instructions``: as in ``Run``. Raises ``PrepareFailed`` in words for
    what he does not offer."""
    settings, agent = context.settings.for_agent(job.agent), context.agents.get(job.agent)
    if settings is None or agent is None:
        raise PrepareFailed(Reason.AGENT_ERROR, f"The agent {job.agent} is not offered here.")
    models = (settings.model or agent.default_model, *settings.models)
    model = job.model or models[0]
    if model not in models:
        offered = ", ".join(dict.fromkeys(models))
        raise PrepareFailed(Reason.AGENT_ERROR, f"The model {model!r} is not offered for {job.agent}: {offered}.")
    gateway = context.settings.gateway_for(job.agent)
    try:
        api = pairing(agent, gateway)
    except ValueError as error:
        raise PrepareFailed(Reason.AGENT_ERROR, f"{error}.") from error
    run = Run(model=model, api=api, oauth=gateway.oauth, settings=settings, instructions=instructions)
    return Task(job, agent, run, context.images.agents[agent.image])


async def placed(context: Context, task: Task, repository: str | None) -> Task:
    """``task`` in the image of the repository that it works on. Raises ``PrepareFailed`` for one that is not fit."""
    return replace(task, image=await image_for(context, task.agent, repository))


async def create(context: Context, task: Task, mirror: str = "", deps: str = "") -> None:
    """The agent's container, not started. The volumes that it mounts are there."""
    await context.engine.create(agent_plan(context, task, mirror, deps))


def agent_plan(context: Context, task: Task, mirror: str = "", deps: str = "") -> Plan:
    """``mirror`` and ``deps``: volumes of its repository, empty where there are none."""
    return plan.agent(
        context.names(task.job.name),
        context.ground,
        task.image,
        task.agent.command(task.run),
        task.agent.environment(task.run),
        task.job.limits,
        agent=task.job.agent,
        mirror=mirror,
        deps=deps,
    )
