"""Who is served and who may ask: decisions over facts. Pure; GitHub was asked by the caller.

Two gates, both closed by default. The operator's list (``Served``) says whose repositories this bot works for at all:
anyone is an admin of a repository of his own, so a role alone proves nothing. The asker's role on the one repository
says whether he may have work done there. ``author_association`` in a webhook is never read: it calls a maintainer with
a private membership CONTRIBUTOR, and an organisation's member without rights MEMBER.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum, StrEnum

from bot.tasks import Frozen, Request


class Role(IntEnum):
    """GitHub's roles as an ordered scale. A custom role has no place on it: the caller reports what it is based on."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5


LOWEST_ROLE = Role.WRITE
"""Whoever may push a commit may ask for one."""

ASKING_TYPE = "User"
"""The only kind of account that may ask. The login proves nothing: anyone can register an app called ``x[bot]``."""


class Refusal(StrEnum):
    """Why not. ``bot.comments.refused`` has the sentence for it."""

    NOT_SERVED = "not_served"
    WRONG_INSTALLATION = "wrong_installation"
    """The webhook's repository is not one that its installation serves, or has another id there."""
    NOT_A_USER = "not_a_user"
    COULD_NOT_ASK = "could_not_ask"
    UNKNOWN_ROLE = "unknown_role"
    NO_WRITE = "no_write"


# A stranger to the operator or a program gets no answer at all: an answer would let anyone make the bot talk.
SILENT = frozenset({Refusal.NOT_SERVED, Refusal.WRONG_INSTALLATION, Refusal.NOT_A_USER})


class Facts(Frozen):
    """What was found out about a request, all of it from GitHub's API and the operator, nothing from the webhook."""

    permission: str | None
    """The sender's role on the repository in GitHub's words; None: could not ask."""
    installation_serves_repository: bool
    """The installation's own token finds a repository of this id under this owner and name."""
    served: bool
    """By the operator's list, with the owner and name that the API gave."""


class Decision(Frozen):
    """The answer, and the reason where it is no."""

    allowed: bool
    reason: Refusal | None = None

    @property
    def silent(self) -> bool:
        """Nothing at all is to be posted."""
        return self.reason in SILENT


def decide(request: Request, facts: Facts) -> Decision:
    """Whether ``request`` may be carried out. Whatever is unknown means no."""
    reason = _refusal(request, facts)
    return Decision(allowed=reason is None, reason=reason)


def _refusal(request: Request, facts: Facts) -> Refusal | None:
    if not facts.served:
        return Refusal.NOT_SERVED
    if not facts.installation_serves_repository:
        return Refusal.WRONG_INSTALLATION
    if request.sender.type != ASKING_TYPE:
        return Refusal.NOT_A_USER
    if facts.permission is None:
        return Refusal.COULD_NOT_ASK
    role = role_of(facts.permission)
    if role is None:
        return Refusal.UNKNOWN_ROLE
    return None if role >= LOWEST_ROLE else Refusal.NO_WRITE


def role_of(permission: str) -> Role | None:
    """GitHub's word as a place on the scale; None for a word that is not on it."""
    return {role.name.lower(): role for role in Role}.get(permission)


# An owner's login, and a repository's name: GitHub's alphabets. Anything else in the list is a slip of the operator.
_ENTRY = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,99})(?:/[a-z0-9._-]{1,100})?", re.ASCII)


class Served(Frozen):
    """The operator's list: owners (all that they own) and single repositories (``owner/name``). Case does not count."""

    entries: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, entries: str | Iterable[str]) -> Served:
        """From a list, or from text with commas or blanks between. Raises ``ValueError`` naming a bad entry.

        There is no wildcard: a bot that serves everyone is one that anyone can spend money on.
        """
        items = re.split(r"[,\s]+", entries) if isinstance(entries, str) else entries
        lowered = [item.strip().lower() for item in items if item.strip()]
        for item in lowered:
            if not _ENTRY.fullmatch(item):
                raise ValueError(f"{item!r} is neither an owner nor owner/repository")
        return cls(entries=frozenset(lowered))

    def serves(self, owner: str, name: str) -> bool:
        """Whether this repository is served."""
        owner, name = owner.lower(), name.lower()
        return owner in self.entries or f"{owner}/{name}" in self.entries
