"""What the bot should have written about a task, word for word: its own sentences on what is stored and published."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from bot import check_words
from bot.check_words import CheckWords
from bot.comments import fetching, working
from bot.demo.github import Issue
from bot.github import GitHub
from bot.publishing import message
from bot.publishing.perform import Published
from bot.publishing.plan import Why
from bot.publishing.words import aside_note
from bot.result_comment import marked
from bot.steps.deliver import body_of
from bot.steps.publish import Brought
from bot.steps.replies import KIND, letters, words
from bot.steps.talk import HELP, STATUS
from bot.steps.world import where_of
from bot.store import Store, Task
from sandbox import Outcome, Progress


class Bot(Protocol):
    """A server, or a stage."""

    store: Store
    github: GitHub


def answer(task: Task, words: str) -> str:
    """A comment that ends its task at once."""
    return marked(words, task.task_id, HELP)


def status(task: Task, words: str) -> str:
    """A comment that the result has not replaced."""
    return marked(words, task.task_id, STATUS)


def just_begun(task: Task) -> tuple[str, ...]:
    """The same of a fake agent's first second, whose beginning may not have been shown."""
    return status(task, fetching()), status(task, working(1.0, Progress()))


@dataclass(frozen=True)
class Expected:
    """What is to be read of one task that is done."""

    task: Task
    outcome: Outcome
    brought: Brought

    @property
    def result(self) -> str:
        """The comment on the thread that asked."""
        return body_of(self.task, self.outcome, self.brought)

    @property
    def check(self) -> CheckWords:
        """The check run at the end. It has the whole result where no comment has it."""
        ending, posted = self.task.ending or "failed", self.task.result_comment_id is not None
        return check_words.ended(self.task.task_id, ending, self.outcome, self.result, posted=posted)

    def reply(self, root: int, said: str) -> str:
        """The answer on a review thread; ``said`` is the agent's line for it."""
        return marked(words(said, self.brought), self.task.task_id, f"{KIND}-{letters(root)}")

    def description(self, base: str = "main") -> str:
        """Of the pull request that was opened."""
        note = self.brought.published.aside if self.brought.published else Why.NONE
        return message.body(self.task.request, self.outcome, self.task.task_id, base=base, note=aside_note(note))

    def with_note(self, note: str) -> Expected:
        return replace(self, brought=replace(self.brought, note=note))


async def expected(
    bot: Bot, task: Task, pull: Issue | None = None, *, updated: bool = False, aside: Why = Why.NONE, note: str = ""
) -> Expected:
    """``pull`` holds the result, if one does; ``note`` is why none does."""
    outcome = await bot.store.outcome(task.task_id)
    assert outcome is not None
    published = None
    if pull is not None:
        info = await bot.github.threads.pull(where_of(task), pull.number)
        assert task.work.branch is not None
        assert task.work.commit is not None
        published = Published(info, task.work.branch, task.work.commit, aside, updated)
    return Expected(task, outcome, Brought(task, published, note or aside_note(aside)))
