"""The rules of a repository: the operator's, narrowed by its own file on the default branch."""

from __future__ import annotations

from bot import repo_config
from bot.github import GitHubRefused, RepositoryRef
from bot.repo_config import ConfigMistake, RepoConfig
from bot.repo_rules import Rules, narrowed
from bot.steps.world import World, where_of
from bot.store import Task

# Seconds that a file which was read is taken for the present one: a task asks a few times within them, and whoever has
# just changed it does not wait for long.
HOLDS = 10.0
# Repositories whose rules are remembered; the oldest goes first.
REMEMBERED = 200


async def rules_of(world: World, task: Task) -> Rules:
    """Read, check, narrow. Raises ``ConfigMistake`` in words for a maintainer; there is no fallback."""
    return await rules_at(world, where_of(task))


async def rules_at(world: World, where: RepositoryRef) -> Rules:
    """The same without a task."""
    now = world.clock.now()
    known = world.files.get(where.repository_id)
    if known is None or not 0 <= now - known[0] < HOLDS:
        config = await _read(world, where, known=known is not None and known[1] != RepoConfig())
        while len(world.files) >= REMEMBERED:
            world.files.pop(next(iter(world.files)))
        known = world.files[where.repository_id] = (now, config)
    return narrowed(world.rules.operator, known[1])


async def _read(world: World, where: RepositoryRef, *, known: bool) -> RepoConfig:
    try:
        raw = await world.github.publishing.file(where, repo_config.PATH, known=known)
    except GitHubRefused as error:
        raise ConfigMistake(f"it could not be read: {error.words}") from None
    if raw is None:
        return RepoConfig()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigMistake("it is no UTF-8 text") from None
    return repo_config.parse(text)
