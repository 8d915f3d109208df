"""Images of the thread for the agent: those of people whose words it is told, fetched once, and which could not be."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bot.attachments import MOST, Picture, Place, missing, name_of, named, signed, upload_of
from bot.github import GitHubRefused, GitHubUnavailable
from bot.github_attachments import Attachments, Image
from bot.steps.world import World, where_of
from bot.store import Task
from bot.tasks import Request
from bot.threads import Said
from sandbox import Attachment

_log = logging.getLogger(__name__)


# In what kind of text a request of an event stands. One of a label or a button stands in none.
_ASKED_IN: Final[Mapping[str, Place]] = {
    "issue_comment": "comment",
    "pull_request_review_comment": "review_comment",
    "pull_request_review": "review",
}


@dataclass(frozen=True)
class Gathered:
    """``left_out``: a line for each that the agent is not given, in words that are ours."""

    pictures: tuple[Picture, ...] = ()
    files: tuple[Attachment, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Found:
    url: str
    place: Place
    id: int


async def gather(world: World, task: Task, prompt: str, pieces: Iterable[Said]) -> Gathered:
    """Look for them, fetch them. Raises nothing of the network's: a task does not fail for a picture's sake."""
    if world.images is None:
        return Gathered()
    found = _named(_worded(task), prompt, pieces, world.images)
    images = await _fetched(world, task, found[:MOST], world.images)
    pictures: list[Picture] = []
    files: list[Attachment] = []
    left_out: list[str] = []
    for one, image in zip(found, images, strict=False):
        if image.why:
            left_out.append(missing(one.place, image.why))
            continue
        name = name_of(len(pictures) + 1, image.kind)
        pictures.append(Picture(url=one.url, name=name, place=one.place, id=one.id))
        files.append(Attachment(name=name, data=image.data))
    left_out += [missing(one.place, f"only {MOST} are fetched") for one in found[MOST:]]
    return Gathered(tuple(pictures), tuple(files), tuple(dict.fromkeys(left_out)))


async def again(world: World, task: Task) -> tuple[Attachment, ...]:
    """Those of a task that was frozen before: after a restart they are fetched anew. What is gone by now is missing."""
    pictures = task.work.pictures
    if world.images is None or not pictures:
        return ()
    found = [_Found(one.url, one.place, one.id) for one in pictures]
    images = await _fetched(world, task, found, world.images)
    return tuple(
        Attachment(name=one.name, data=image.data)
        for one, image in zip(pictures, images, strict=True)
        if not image.why and one.name.endswith(f".{image.kind}")
    )


def _named(request: Request, prompt: str, pieces: Iterable[Said], images: Attachments) -> list[_Found]:
    """The request's own first, then in the order in which things were said; each once."""
    number = request.comment_id or request.review_id or request.thread
    texts: list[tuple[str, Place, int]] = [(prompt, "request", number)]
    texts += [(said.body, said.kind, said.id) for said in pieces]
    found: dict[str, _Found] = {}
    for text, place, number in texts:
        for url in named([text], images.places):
            found.setdefault(url, _Found(url, place, number))
    return list(found.values())


async def _fetched(world: World, task: Task, found: list[_Found], images: Attachments) -> list[Image]:
    known = await _signed(world, task, found, images) if task.request.repository.private else {}
    return await images.fetch([known.get(upload_of(one.url) or "", one.url) for one in found])


async def _signed(world: World, task: Task, found: list[_Found], images: Attachments) -> dict[str, str]:
    """Of a private repository's uploads GitHub gives out addresses with a signature, in what it renders."""
    known: dict[str, str] = {}
    for place, number in dict.fromkeys((one.place, one.id) for one in found):
        try:
            html = await _rendered(world, task, place, number)
        except (GitHubRefused, GitHubUnavailable) as error:
            _log.info("task %s: images of a text are not looked for: %s", task.task_id, error)
            continue
        known |= signed(html, images.places)
    return known


async def _rendered(world: World, task: Task, place: Place, number: int) -> str:
    """A text as GitHub shows it. Empty for one that can hold no image, or that is a rule's and not GitHub's."""
    rendered, where, request = world.github.rendered, where_of(task), _worded(task)
    match _ASKED_IN.get(request.event) if place == "request" else place:
        case "body":
            return await rendered.description(where, request.thread)
        case "comment":
            return await rendered.comment(where, number)
        case "review_comment":
            return await rendered.review_comment(where, number)
        case "review":
            return await rendered.review(where, request.thread, number)
    return ""


def _worded(task: Task) -> Request:
    """The request whose text holds the prompt: of what is repeated, the one that it repeats."""
    return task.work.origin or task.request
