"""What the steps work with: the collaborators of the runner as the faces that it needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakValueDictionary

from bot.allowance import Allowance
from bot.github import GitHub, RepositoryRef
from bot.github_attachments import Attachments
from bot.permissions import Served
from bot.repo_config import RepoConfig
from bot.repo_rules import OperatorRules
from bot.store import Caps, Store, Task
from bot.tasks import Request
from sandbox import AgentName, Limits, Sandbox


class Clock(Protocol):
    """Time as the runner sees it. ``now`` is in seconds since the epoch."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class Rules:
    """What the operator decided, as far as tasks are concerned."""

    worker: str
    served: Served
    caps: Caps
    github_url: str = "https://github.com"
    model: str | None = None
    agent: AgentName | None = None
    limits: Limits = field(default_factory=Limits)
    command_word: str = "/agent"
    operator: OperatorRules = field(
        default_factory=lambda: OperatorRules(agents={"claude": ("",)}, default_agent="claude")
    )
    """What every repository may have; each narrows it by its own file."""
    allowance: Allowance = field(default_factory=Allowance)


@dataclass(frozen=True)
class World:
    """Handed to every step. ``later`` runs something beside the task that nothing waits for; ``cancelled`` knows
    the tasks whose cancel flag was seen; ``untidy`` is set where something may have been left behind."""

    store: Store
    github: GitHub
    sandbox: Sandbox
    rules: Rules
    clock: Clock
    later: Callable[[Coroutine[Any, Any, None], str], None]
    wake: Callable[[], None]
    cancelled: set[str] = field(default_factory=set)
    untidy: list[str] = field(default_factory=list)
    images: Attachments | None = None
    """Fetches the images that a thread names; None: nobody does."""
    files: dict[int, tuple[float, RepoConfig]] = field(default_factory=dict)
    """Repositories' own files by repository id, with the time at which each was read."""
    asking: WeakValueDictionary[tuple[int, int], asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Held by whoever is let in on a thread, by repository id and thread."""


def where_of(task: Task) -> RepositoryRef:
    """Where calls about a task go."""
    return where_asked(task.request)


def where_asked(request: Request) -> RepositoryRef:
    """Where calls about a request go."""
    return RepositoryRef(
        installation_id=request.installation_id,
        repository_id=request.repository.id,
        owner=request.repository.owner,
        name=request.repository.name,
    )
