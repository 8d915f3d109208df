"""``repository``, ``installation`` and ``installation_repositories``: what ends the tasks of many threads at once.

Renames and transfers within reach need nothing: everything is kept by ids, and names are asked for anew.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bot.tasks import Change
from bot.triggers.asking import Action
from bot.triggers.shape import Context, Id, Ignored, Installation, Part, Repo

What = Literal["repository_gone", "repository_public", "repository_archived"]
_ENDS: dict[str, What] = {
    "deleted": "repository_gone",
    "transferred": "repository_gone",
    "archived": "repository_archived",
    # what was asked for among a few is not shown to everybody
    "publicized": "repository_public",
}
# Repositories that one event takes out; an account with more has other worries, and the rest is refused by GitHub.
MAX_REPOSITORIES = 10_000


class OfRepository(Action):
    repository: Repo
    installation: Installation | None = None


class Named(Part):
    id: Id


class OfInstallation(Action):
    installation: Installation
    repositories_removed: list[Named] = Field(default=[], max_length=MAX_REPOSITORIES)


def repository(payload: object, context: Context, /) -> Change | Ignored:
    """See ``Trigger``."""
    action = Action.model_validate(payload).action
    if action not in _ENDS:
        return Ignored("nothing is done on this action")
    read = OfRepository.model_validate(payload)
    if read.installation is None:
        return Ignored("not sent for an installation of the app")
    return Change(
        delivery_id=context.delivery_id,
        what=_ENDS[action],
        installation_id=read.installation.id,
        repository_id=read.repository.id,
    )


def installation(payload: object, context: Context, /) -> Change | Ignored:
    """See ``Trigger``."""
    if Action.model_validate(payload).action not in {"deleted", "suspend"}:
        return Ignored("nothing is done on this action")
    read = OfInstallation.model_validate(payload)
    return Change(delivery_id=context.delivery_id, what="installation_gone", installation_id=read.installation.id)


def installation_repositories(payload: object, context: Context, /) -> Change | Ignored:
    """See ``Trigger``."""
    if Action.model_validate(payload).action != "removed":
        return Ignored("nothing is done on this action")
    read = OfInstallation.model_validate(payload)
    removed = tuple(one.id for one in read.repositories_removed)
    if not removed:
        return Ignored("no repository was taken out")
    return Change(
        delivery_id=context.delivery_id,
        what="repository_gone",
        installation_id=read.installation.id,
        repositories=removed,
    )
