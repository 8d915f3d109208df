"""What the bot has written on the local GitHub, and which of it a test has looked at: nothing may be left unread."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.check_words import CheckWords
from bot.demo.github import Comment, Issue, LocalGitHub, Repository
from bot.demo.github_work_state import CheckRun
from bot.github_values import CheckAction

FAILED: set[str] = set()
"""Tests whose own part has failed, by pytest's name for them."""
Piece = tuple[str, int, str]
"""What kind of text, whose it is by id, and the text: one that is changed after it was read is unread again."""


@dataclass(frozen=True)
class Shown:
    """A check run as people see it."""

    sha: str
    words: CheckWords


class Text(str):
    """A comment that counts as read once something was found in it, and not because it was counted."""

    _found: Callable[[], None]

    def __new__(cls, text: str, found: Callable[[], None]) -> Text:
        made = super().__new__(cls, text)
        made._found = found
        return made

    def __contains__(self, words: str, /) -> bool:  # type: ignore[override]
        return self._noted(super().__contains__(words))

    def __eq__(self, other: object) -> bool:
        return self._noted(super().__eq__(other) is True)

    __hash__ = str.__hash__

    def startswith(self, *words: Any) -> bool:
        return self._noted(super().startswith(*words))

    def endswith(self, *words: Any) -> bool:
        return self._noted(super().endswith(*words))

    def _noted(self, found: bool) -> bool:
        if found:
            self._found()
        return found


class Reader:
    """Reads what the bot wrote and remembers that it did. Repositories and threads all count."""

    def __init__(self, local: LocalGitHub) -> None:
        self._local = local
        self._read: set[Piece] = set()

    def comments(self, issue: Issue) -> list[str]:
        """The conversation's unread comments of the bot, oldest first."""
        return self._take([("comment", one.id, one.body) for one in issue.comments if one.by_app])

    def conversation(self, issue: Issue) -> list[str]:
        """All comments of the bot as they are now. One counts as read once something was found in it."""

        def text(one: Comment) -> Text:
            piece = ("comment", one.id, one.body)
            return Text(one.body, lambda: self._read.add(piece))

        return [text(one) for one in issue.comments if one.by_app]

    def comment(self, issue: Issue) -> str:
        """The only one."""
        (text,) = self.comments(issue)
        return text

    def replies(self, issue: Issue) -> dict[int, str]:
        """Unread comments of the bot on review threads, by the comment that begins the thread; one on each."""
        assert issue.pull is not None
        found = [one for one in issue.pull.comments if one.by_app]
        fresh = [one for one in found if ("reply", one.id, one.body) not in self._read]
        self._take([("reply", one.id, one.body) for one in fresh])
        answers = {one.in_reply_to or 0: one.body for one in fresh}
        assert len(answers) == len(fresh), "two answers on one thread"
        return answers

    def description(self, issue: Issue) -> str:
        """Of a pull request that the bot has opened."""
        (text,) = self._take([("description", issue.id, issue.body)])
        return text

    def checks(self, repository: Repository) -> list[Shown]:
        """The unread check runs, oldest first."""
        fresh = [one for one in repository.checks if _piece(one) not in self._read]
        self._take([_piece(one) for one in fresh])
        return [_shown(one) for one in fresh]

    # What is as it should be, by those who know.

    def right_comments(self, issue: Issue, texts: Collection[str]) -> None:
        """Comments of the conversation that are one of these count as read."""
        self._take([("comment", one.id, one.body) for one in issue.comments if one.by_app and one.body in texts])

    def right_replies(self, issue: Issue, texts: Mapping[int, str]) -> None:
        """Comments on review threads, by the comment that begins the thread."""
        assert issue.pull is not None
        found = [one for one in issue.pull.comments if one.by_app and texts.get(one.in_reply_to or 0) == one.body]
        self._take([("reply", one.id, one.body) for one in found])

    def right_description(self, issue: Issue, text: str) -> None:
        """Of a pull request that the bot has opened."""
        if issue.body == text:
            self._take([("description", issue.id, text)])

    def right_checks(self, repository: Repository, words: Collection[CheckWords]) -> None:
        """Check runs that show one of these."""
        self._take([_piece(one) for one in repository.checks if _shown(one).words in words])

    def all_is_read(self) -> None:
        """Fails with what nobody has looked at. A test that has failed has nothing more to say."""
        if os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0] in FAILED:
            return
        left = [" ".join(map(str, piece)) for piece in self._everything() if piece not in self._read]
        assert left == [], "\n\n".join(["the test has not looked at:", *left])

    def _take(self, pieces: list[Piece]) -> list[str]:
        fresh = [piece for piece in pieces if piece not in self._read]
        self._read.update(fresh)
        return [text for _, _, text in fresh]

    def _everything(self) -> Iterator[Piece]:
        for repository in self._local.state.repositories.values():
            yield from map(_piece, repository.checks)
            for issue in repository.issues.values():
                yield from (("comment", one.id, one.body) for one in issue.comments if one.by_app)
                if issue.pull is not None:
                    yield from (("reply", one.id, one.body) for one in issue.pull.comments if one.by_app)
                    if issue.pull.by_app:
                        yield "description", issue.id, issue.body


def _piece(check: CheckRun) -> Piece:
    return "check", check.id, json.dumps(check.fields, sort_keys=True)


def _shown(check: CheckRun) -> Shown:
    fields = check.fields
    actions = tuple(CheckAction(**action) for action in fields["actions"])
    output = fields["output"]
    return Shown(check.head_sha, CheckWords(output["title"], output["summary"], fields.get("conclusion"), actions))
