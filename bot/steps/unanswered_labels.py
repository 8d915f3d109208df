"""Labels that start a task, and of which no webhook told.

The label that asked is taken off when its task begins, so one that is still there well after it was put on, and is no
task of ours, went unheard. One whose labeller may not ask stays where it is: its task is among ours, and it is not
asked again. Threads are found in the list of what has changed and not by their labels: that would be a call for each
label, for names that the rules may spell in other letters than the repository does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from pydantic import ValidationError

from bot.github_threads import moment
from bot.repo_config import ConfigMistake
from bot.steps.found import Found, Json, Place, Thread
from bot.steps.repo import rules_at
from bot.steps.unanswered_comments import is_here
from bot.steps.world import World
from bot.store.labelled import ABOUT
from bot.triggers import labels
from bot.triggers.shape import Id, Moment, Part, User

# Labels of one look at a repository whose events are asked for, each a call; of the threads changed last first. What is
# settled is not asked for again while its thread does not change, so the rest has its turn in the next looks.
AT_ONCE = 20
# Seconds that a repository's labels are taken for the present ones. A label that is no label any more starts nothing
# when its task is admitted; a new one is looked for an hour late.
NAMES_HOLD = 3600.0
# Repositories whose labels are remembered; forgotten all at once, which costs a call each.
REMEMBERED = 1_000


class Labelled(Part):
    """The event of a label that was put on or taken off."""

    id: Id
    event: str
    created_at: Moment
    label: labels.Label
    actor: User | None = None


class Marked(NamedTuple):
    """A label on a thread, and its name as the rules have it."""

    thread: Thread
    label: str

    @property
    def name(self) -> str:
        """New whenever the thread has changed: then the label may have been put on anew."""
        return f"marked-{self.thread.number}-{self.thread.updated_at.isoformat()}-{self.label}"


class Labels:
    """Of open issues and pull requests that have changed lately, as each does when it is labelled."""

    def __init__(self, world: World, found: Found) -> None:
        self._world = world
        self._found = found
        self._names: dict[int, tuple[float, frozenset[str]]] = {}

    async def look(self, place: Place, threads: Sequence[Thread]) -> None:
        if not any(thread.labels for thread in threads):
            return
        names = await self._starting(place)
        marked = [
            Marked(thread, lowered)
            for thread in threads
            for lowered in dict.fromkeys(label.name.lower() for label in thread.labels)
            if lowered in names
        ]
        for one in [one for one in marked if self._found.is_new(place, one.name)][:AT_ONCE]:
            if await self._is_settled(place, one) and one.thread.updated_at <= place.until:
                self._found.settle(place, one.name)

    async def _starting(self, place: Place) -> frozenset[str]:
        """The labels that start tasks here. None where the rules cannot be read: nobody knows then."""
        now = self._world.clock.now()
        held = self._names.get(place.where.repository_id)
        if held is not None and 0 <= now - held[0] < NAMES_HOLD:
            return held[1]
        try:
            rules = await rules_at(self._world, place.where)
        except ConfigMistake:
            return frozenset()
        if len(self._names) >= REMEMBERED:
            self._names.clear()
        self._names[place.where.repository_id] = now, frozenset(rules.labels)
        return frozenset(rules.labels)

    async def _is_settled(self, place: Place, one: Marked) -> bool:
        asked = await self._world.store.label_asked(place.where.repository_id, one.thread.number, one.label)
        if asked is not None and one.thread.updated_at <= asked + ABOUT:
            return True  # nothing has happened since; where something has, the database knows the label all the same
        put_on = last_put_on(await self._world.github.written.events(place.where, one.thread.number), one.label)
        if put_on is None or put_on.created_at < place.since:
            return True
        if put_on.created_at > place.until:
            return False
        trigger = labels.issues if one.thread.pull_request is None else labels.pull_request
        name = f"label-{put_on.id}"
        return await self._found.let_in(place, name, trigger, partial(self._payload, place, one.thread, put_on))

    async def _payload(self, place: Place, thread: Thread, put_on: Labelled) -> Json | None:
        """The time of change is the label's own, as it was in its webhook: the content key is made of it."""
        at = put_on.created_at.isoformat()
        event = {
            "action": "labeled",
            "label": put_on.label.model_dump(),
            "sender": put_on.actor and put_on.actor.model_dump(),
        }
        if thread.pull_request is None:
            return event | {"issue": {"number": thread.number, "title": thread.title, "updated_at": at}}
        pull = await self._world.github.written.pull(place.where, thread.number)
        if not isinstance(pull, Mapping) or not _head_is_its(pull, place.where.repository_id, put_on.created_at):
            return None
        return event | {"pull_request": {**pull, "updated_at": at}}


def _head_is_its(pull: Json, repository_id: int, at: datetime) -> bool:
    """Whether the head may be taken for the one that the label was put on. To a fork anybody may have pushed since, and
    the label names no commit: there nothing may have happened since."""
    try:
        return is_here(pull, repository_id) or moment(str(pull.get("updated_at"))) <= at
    except ValueError:
        return False


def last_put_on(events: Sequence[Json], label: str) -> Labelled | None:
    """The event that put the label where it is; None where the last one took it off, or none is known."""
    last = None
    for event in events:
        try:
            read = Labelled.model_validate(event)
        except ValidationError:
            continue  # events of other kinds
        if read.label.name.lower() == label and read.event in {"labeled", "unlabeled"}:
            last = read
    return last if last is not None and last.event == "labeled" else None
