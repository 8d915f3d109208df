"""What has moved a branch, by GitHub's own record of pushes."""

from __future__ import annotations

from dataclasses import dataclass

from bot import github_urls as urls
from bot.github_calls import Call
from bot.github_installations import TO_READ, Installations, expecting
from bot.github_threads import moment
from bot.github_values import RepositoryRef
from bot.head_then import Move

# Moves of one branch that are read: GitHub's most for one call. Between a comment and its task lie seconds, so there is
# none as a rule; whoever pushes a hundred times to be past the end of the list is told to ask again.
MOST = 100


@dataclass(frozen=True)
class Moves:
    """``listed`` newest first; ``all_told``: there are no older ones."""

    listed: tuple[Move, ...]
    all_told: bool


class Activity:
    """Reads with a token of the repository that the task is for; a public fork may be read with any."""

    def __init__(self, installations: Installations) -> None:
        self._installations = installations

    async def of_branch(self, where: RepositoryRef, owner: str, name: str, branch: str) -> Moves:
        """The last moves of a branch of ``owner``/``name``, which may be another repository than ``where``: a fork.

        Refused with 404 by a server that is too old to tell (GitHub Enterprise Server) and for a fork that the
        App may not read.
        """
        there = where.model_copy(update={"owner": owner, "name": name})
        query: dict[str, str | int] = {"ref": f"refs/heads/{branch}", "direction": "desc", "per_page": MOST}
        call = Call("GET", urls.activity(there), query, absent_is_usual=True)
        found = await self._installations.call(where, call, TO_READ)
        with expecting("a list of pushes"):
            listed = tuple(Move(before=one["before"], after=one["after"], at=moment(one["timestamp"])) for one in found)
        return Moves(listed, all_told=len(listed) < MOST)
