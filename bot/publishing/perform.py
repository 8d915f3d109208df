"""Bring a result into the repository. Each step is looked for before it is done, and written down before the next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, replace

from bot.github import (
    BranchMoved,
    BranchProtected,
    CommitSpec,
    GitHub,
    GitHubRefused,
    PullInfo,
    RepositoryRef,
    TreeEntry,
)
from bot.publishing.plan import Push, Why, binary
from bot.work import Aim, Work
from sandbox import ChangedFile

Save = Callable[[Work], Awaitable[None]]
"""Writes what has been done into the task's row. Raises where the task is another worker's by now."""


@dataclass(frozen=True)
class Texts:
    """The words of it: ``bot.publishing.message``."""

    title: str
    body: Callable[[Push], str]
    """Of the pull request that is opened: it says why it is where it is."""
    message: str
    draft: bool


@dataclass(frozen=True)
class Published:
    """It is in the repository, and this pull request shows it."""

    pull: PullInfo
    branch: str
    commit: str
    aside: Why
    updated: bool
    """The pull request was there already."""


@dataclass(frozen=True)
class Refused:
    """GitHub does not take it; the result stays stored. ``words`` are GitHub's."""

    status: int
    words: str


def entries_of(files: Sequence[ChangedFile]) -> tuple[TreeEntry, ...]:
    """The tree of a commit. Only for files that ``protected.unpublishable`` has nothing against."""
    return tuple(_entry(file) for file in files)


def _entry(file: ChangedFile) -> TreeEntry:
    path = (file.raw_path or file.path.encode()).decode("utf-8")
    if file.status == "deleted" or file.content is None:
        return TreeEntry(path=path, mode=file.old_mode or "100644")
    if binary(file):
        return TreeEntry(path=path, mode=file.new_mode, data=file.content)
    return TreeEntry(path=path, mode=file.new_mode, text=file.content.decode("utf-8"))


async def perform(
    github: GitHub, where: RepositoryRef, push: Push, fallback: Push, files: Sequence[ChangedFile], texts: Texts,
    work: Work, save: Save,
) -> Published | Refused:  # fmt: skip
    """Do it, or go on with it after a crash. Where the branch of ``push`` is not to be had, ``fallback`` is done.

    Raises ``GitHubUnavailable``: what was done until then is in ``work``, and doing it again goes on from there.
    """
    try:
        return await _push(github, where, push, files, texts, work, save)
    except BranchMoved:
        again = replace(fallback, aside=Why.MOVED)
    except BranchProtected:
        again = replace(fallback, aside=Why.RULED)
    except GitHubRefused as error:
        return Refused(error.status, error.words)
    if again.branch == push.branch:
        return Refused(422, "the branch could not be written")
    try:
        return await _push(github, where, again, files, texts, work.model_copy(update={"commit": None}), save)
    except (BranchMoved, BranchProtected) as error:
        return Refused(422, str(error))
    except GitHubRefused as error:
        return Refused(error.status, error.words)


async def _push(
    github: GitHub, where: RepositoryRef, push: Push, files: Sequence[ChangedFile], texts: Texts, work: Work, save: Save
) -> Published:
    publishing = github.publishing
    if work.commit is None or work.branch != push.branch:
        spec = CommitSpec(message=texts.message, parent=push.parent, entries=entries_of(files))
        commit = await publishing.commit(where, spec)
        work = work.model_copy(update={"commit": commit, "branch": push.branch, "aim": Aim(**asdict(push))})
        await save(work)
    commit = work.commit or ""
    await publishing.set_branch(where, push.branch, commit, expected=push.expected)
    if push.pull is not None:
        pull = await github.threads.pull(where, push.pull)
    else:
        pull = await publishing.open_pull(
            where, branch=push.branch, base=push.base, title=texts.title, body=texts.body(push), draft=texts.draft
        )
    await save(work.model_copy(update={"pull": pull.number, "refused": False}))
    return Published(pull, push.branch, commit, push.aside, updated=push.pull is not None)
