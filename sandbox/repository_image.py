"""The image that a repository's tasks run in: an operator's own with the project's tools, built FROM ours.

The operator names it in the configuration. Nothing of it comes from the repository under work: whoever may change a
repository could change a Dockerfile in it.
"""

from __future__ import annotations

from sandbox import PrepareFailed
from sandbox.agents import Agent
from sandbox.context import Context
from sandbox.engine import Image
from sandbox.job import Reason
from sandbox.settings import Settings


async def image_for(context: Context, agent: Agent, repository: str | None) -> str:
    """The ID of the image for this agent at work on OWNER/REPO.

    Looked up at every task: an image that was built again counts from the next one on. Raises ``PrepareFailed`` in
    words for one that is missing, or not fit; never falls back to ours, which would fail later and for another reason.
    """
    ours = context.images.agents[agent.image]
    tag = named(context.settings, agent.name, repository)
    if tag is None:
        return ours
    base, found = await context.engine.look_at_image(ours), await context.engine.look_at_image(tag)
    if base is None:
        raise PrepareFailed(Reason.AGENT_ERROR, f"The image of {agent.name} is gone: the server must be restarted.")
    why = unfit(found, base, f"{context.settings.image_prefix}/{agent.image}")
    if found is None or why:
        raise PrepareFailed(Reason.AGENT_ERROR, f"The image {tag}, which the operator has set for {repository}, {why}.")
    return found.id


def named(settings: Settings, agent: str, repository: str | None) -> str | None:
    """The tag that the operator has set for this repository, with ``{agent}`` filled in; None for our own image."""
    tag = settings.repository_images.get(repository.lower()) if repository is not None else None
    return None if tag is None else tag.replace("{agent}", agent)


def unfit(found: Image | None, ours: Image, name: str) -> str:
    """Why ``found`` must not be used in place of ``ours``, in words with what to do; empty where it may.

    Layers are named by the hash of their content, so an image whose first layers are ours holds just what we built,
    and below what it adds: the entry, the way out, this very version of the agent.
    """
    if found is None:
        return "is not there: the operator must build it"
    if found.layers[: len(ours.layers)] != ours.layers:
        return f"does not stand on the present {name}: the operator must build it again FROM {name}"
    if found.environment != ours.environment:
        extra = ", ".join(sorted(set(map(_name, found.environment)) - set(map(_name, ours.environment)))) or "PATH"
        return (
            f"sets variables ({extra}), which no container here would have: link programs into /usr/local/bin instead"
        )
    if found.volumes:
        return f"declares volumes ({', '.join(found.volumes)}), which would be outside the disk limit"
    if found.healthcheck:
        return "declares a health check, which would run beside the agent"
    return ""


def _name(variable: str) -> str:
    return variable.partition("=")[0]
