"""What a request comes down to once the repository's rules are known: which command, for which agent. Pure."""

from __future__ import annotations

from enum import StrEnum

from bot.repo_rules import Rules
from bot.tasks import Command, Request, Verb
from bot.work import Pull

ISSUE_PROMPT = "Do what this issue asks for. Its text is below."
PULL_PROMPT = "Look at this pull request and do what its description and its conversation still ask for."
REVIEW_PROMPT = "Somebody has reviewed this pull request of yours and asks for changes. Answer each conversation below."


class Silence(StrEnum):
    """Why nothing at all is said: nobody has asked us for anything."""

    LABEL = "the label starts no task here"
    NOT_OURS = "changes are asked for on a pull request that is not ours"


def effective(request: Request, rules: Rules, ours: Pull | None) -> Command | Silence:
    """The command with its prompt. ``ours`` is the row of the thread's pull request, if this bot has opened it."""
    command = request.command
    if command.verb is not Verb.RUN or command.prompt:
        return command
    if request.trigger == "label":
        prompt = rules.labels.get((request.label or "").lower())
        if prompt is None:
            return Silence.LABEL
        fallback = PULL_PROMPT if request.is_pull_request else ISSUE_PROMPT
        return command.model_copy(update={"prompt": prompt or fallback})
    if ours is None:
        return Silence.NOT_OURS
    return command.model_copy(update={"prompt": REVIEW_PROMPT})


def by_review(request: Request) -> bool:
    """Whether it is a review that asks for changes, and no command."""
    return request.trigger == "review" and request.command.verb is Verb.RUN and not request.command.prompt


def about(request: Request, origin: Request | None) -> Request:
    """The request with the place and the review of the one that it repeats, if it repeats one."""
    if origin is None:
        return request
    kept = {"trigger": origin.trigger, "anchor": origin.anchor, "review_id": origin.review_id}
    return request.model_copy(update=kept)


def same_ask(one: Command | None, other: Command) -> bool:
    """Whether two commands ask for the same work, however the words are spaced."""
    if one is None or (one.verb, one.options) != (other.verb, other.options):
        return False
    return one.prompt.split() == other.prompt.split()
