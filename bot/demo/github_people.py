"""What people do with pull requests, reviews, labels and checks on the local GitHub; the bot hears of each.

Each verb returns when the webhook has been answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bot.demo import github_activity, github_git, github_git_objects
from bot.demo.github_contents import Contents
from bot.demo.github_events import Events
from bot.demo.github_git import Files
from bot.demo.github_log import Delivery
from bot.demo.github_state import App, Installation, Issue, Repository, User
from bot.demo.github_uploads import Uploads
from bot.demo.github_work_state import CheckRun, CheckSuite, Labelling, Pull, Review, ReviewComment


class People(Contents):
    """The verbs. ``_tell`` sends a webhook for a repository, ``_events`` builds its body."""

    _events: Events
    _clock: Callable[[], datetime]
    url: str
    git_url: str

    def __init__(self, root: Path, clock: Callable[[], datetime]) -> None:
        super().__init__(root, clock)
        self.uploads = Uploads()

    async def _tell(self, event: str, repository: Repository, payload: dict[str, Any]) -> Delivery | None:
        raise NotImplementedError

    async def _tell_installation(self, event: str, installation: Installation, payload: dict[str, Any]) -> None:
        raise NotImplementedError

    # Pull requests.

    async def open_pull(
        self,
        repository: Repository,
        files: Files,
        *,
        branch: str = "topic",
        base: str = "",
        title: str = "A change",
        body: str = "",
        user: str = "",
        fork: Repository | None = None,
        draft: bool = False,
        maintainer_can_modify: bool = False,
    ) -> Issue:
        """Somebody pushes a branch with exactly ``files`` (in ``fork`` where given) and opens a pull request."""
        base = base or repository.default_branch
        where = fork or repository
        base_sha = self.head(repository, base) or ""
        who, before = self.state.user(user) if user else repository.owner, self.head(where, branch)
        github_git_objects.fetch(where.git_dir, repository.git_dir, f"refs/heads/{base}", f"refs/heads/{branch}")
        sha = github_git.commit(where.git_dir, files, branch=branch, message=f"{title}\n")
        github_activity.record(self.state, where, branch, before, who, self._clock())
        pull = Pull(branch, where, base, sha, base_sha, draft=draft, maintainer_can_modify=maintainer_can_modify)
        issue = self.opened(repository, who, title, body, pull)
        await self._pull_event("opened", repository, issue)
        return issue

    def opened(self, repository: Repository, user: User, title: str, body: str, pull: Pull) -> Issue:
        """The issue of a pull request, with its head under ``refs/pull``."""
        issue = self.add_issue(repository, title, body, user.login, pull_request=True)
        issue.pull = pull
        self.publish_head(repository, issue)
        return issue

    def publish_head(self, repository: Repository, issue: Issue) -> None:
        pull = issue.pull
        if pull is None or pull.head_repository is None:
            return
        here = f"refs/pull/{issue.number}/head"
        github_git_objects.fetch(repository.git_dir, pull.head_repository.git_dir, f"refs/heads/{pull.head_ref}", here)

    async def push(self, repository: Repository, issue: Issue, files: Files, *, user: str = "") -> str:
        """Somebody pushes exactly ``files`` to a pull request's branch. Returns the new head."""
        pull = _pull(issue)
        where, who = pull.head_repository or repository, self.state.user(user) if user else repository.owner
        sha = self.committed(where, pull.head_ref, files, "More\n", who)
        await self.moved(repository, issue, who)
        return sha

    async def moved(self, repository: Repository, issue: Issue, user: User) -> None:
        """The head is where the branch is now: ``synchronize``."""
        pull = _pull(issue)
        where = pull.head_repository or repository
        before, pull.sha = pull.sha, self.head(where, pull.head_ref) or pull.sha
        issue.pushed_at = self._clock()
        self.publish_head(repository, issue)
        await self._pull_event("synchronize", repository, issue, user, before=before, after=pull.sha)

    async def close(self, repository: Repository, issue: Issue, *, merge: bool = False, user: str = "") -> None:
        """Somebody closes an issue or pull request, or merges it (its tree becomes the base's)."""
        issue.closed = True
        who = self.state.user(user) if user else repository.owner
        pull = issue.pull
        if pull is None:
            await self._tell("issues", repository, self._events.issues("closed", repository, issue, who))
            return
        if merge:
            pull.merged = True
            tip = self.head(repository, pull.base_ref) or ""
            tree = github_git_objects.read_commit(repository.git_dir, pull.sha).tree
            pull.merge_commit = github_git_objects.write_commit(
                repository.git_dir, tree, (tip, pull.sha), f"Merge #{issue.number}\n", ("A", "a@example.com"),
                int(self._clock().timestamp()),
            )  # fmt: skip
            github_git_objects.set_ref(repository.git_dir, f"refs/heads/{pull.base_ref}", pull.merge_commit)
            github_activity.record(
                self.state, repository, pull.base_ref, tip or None, who, self._clock(), kind="pr_merge"
            )
        await self._pull_event("closed", repository, issue, who)

    def delete_branch(self, repository: Repository, branch: str) -> None:
        """Somebody deletes a branch; of an open pull request the head stays under ``refs/pull``."""
        before = self.head(repository, branch)
        github_git_objects.delete_ref(repository.git_dir, f"refs/heads/{branch}")
        github_activity.record(self.state, repository, branch, before, repository.owner, self._clock())

    # Reviews.

    async def review(
        self,
        repository: Repository,
        issue: Issue,
        user: str,
        state: str = "CHANGES_REQUESTED",
        body: str = "",
        comments: Sequence[tuple[str, int, str]] = (),
    ) -> Review:
        """Somebody reviews, with comments on lines as (path, line, text). The comments' own webhooks come first."""
        pull, now, who = _pull(issue), self._clock(), self.state.user(user)
        review = Review(self.state.next_id(), who, state, body, pull.sha, now)
        pull.reviews.append(review)
        for path, line, text in comments:
            made = ReviewComment(
                self.state.next_id(), text, who, path, now, now, pull.sha, review.id, line, history=[text]
            )
            pull.comments.append(made)
            await self._comment_event("created", repository, issue, made)
        payload = self._events.review("submitted", repository, issue, pull, review)
        await self._tell("pull_request_review", repository, payload)
        return review

    async def review_comment(
        self, repository: Repository, issue: Issue, user: str, body: str, *, path: str = "README.md", line: int = 1,
        reply_to: ReviewComment | None = None,
    ) -> ReviewComment:  # fmt: skip
        """Somebody comments on a line, or answers in a thread."""
        pull, now, who = _pull(issue), self._clock(), self.state.user(user)
        root = reply_to.in_reply_to or reply_to.id if reply_to else None
        made = ReviewComment(
            self.state.next_id(), body, who, reply_to.path if reply_to else path, now, now, pull.sha,
            self.state.next_id(), line, in_reply_to=root, history=[body],
        )  # fmt: skip
        pull.comments.append(made)
        await self._comment_event("created", repository, issue, made)
        return made

    def resolve(self, issue: Issue, root: ReviewComment) -> None:
        """Somebody resolves a thread. GitHub tells an App only through an event that ours does not take."""
        _pull(issue).resolved.add(root.id)

    # Texts, labels, locks, checks.

    async def edit_thread(
        self, repository: Repository, issue: Issue, *, title: str | None = None, body: str | None = None
    ) -> None:
        """Somebody changes the title (which leaves no time behind) or the description of an issue."""
        changes: dict[str, Any] = {}
        if title is not None:
            changes["title"], issue.title = {"from": issue.title}, title
        if body is not None:
            changes["body"], issue.body, issue.edited_at = {"from": issue.body}, body, self._clock()
        if issue.pull is not None:
            await self._pull_event("edited", repository, issue, changes=changes)
        else:
            payload = self._events.issues("edited", repository, issue, repository.owner, changes=changes)
            await self._tell("issues", repository, payload)

    async def label(self, repository: Repository, issue: Issue, name: str, user: str) -> None:
        """Somebody puts a label on."""
        issue.labels.append(name)
        issue.labellings.append(Labelling(self.state.next_id(), name, self.state.user(user), self._clock(), on=True))
        event, payload = self._events.labelled("labeled", repository, issue, name, self.state.user(user))
        await self._tell(event, repository, payload)

    async def lock(self, repository: Repository, issue: Issue) -> None:
        issue.locked = True
        if issue.pull is not None:
            await self._pull_event("locked", repository, issue)
        else:
            payload = self._events.issues("locked", repository, issue, repository.owner)
            await self._tell("issues", repository, payload)

    async def rerequest(self, repository: Repository, check: CheckRun, user: str) -> None:
        """Somebody presses "re-run"."""
        payload = self._events.check("rerequested", repository, check, self.state.user(user))
        await self._tell("check_run", repository, payload)

    async def press(self, repository: Repository, check: CheckRun, identifier: str, user: str) -> None:
        """Somebody presses one of the check's own buttons."""
        action = {"identifier": identifier}
        payload = self._events.check(
            "requested_action", repository, check, self.state.user(user), requested_action=action
        )
        await self._tell("check_run", repository, payload)

    def conclude(
        self, repository: Repository, sha: str, conclusion: str = "action_required", app: str = "github-actions"
    ) -> CheckSuite:
        """An App ends its checks of a commit; GitHub Actions so, where it holds the workflows back."""
        owner, now = self.state.user("github", "Organization"), self._clock()
        of = App(self.state.next_id(), app, "Iv1.0000000000000001", owner, self.state.user(f"{app}[bot]", "Bot"), now)
        suite = CheckSuite(self.state.next_id(), sha, conclusion, of, now)
        repository.suites.append(suite)
        return suite

    async def transfer(self, repository: Repository, issue: Issue, other: Repository) -> Issue:
        """Somebody moves an issue to another repository, where it has another number: the old address leads there."""
        there = self.add_issue(other, issue.title, issue.body, issue.user.login)
        issue.moved_to = f"{self.url}/repositories/{other.id}/issues/{there.number}"
        payload = self._events.issues("transferred", repository, issue, repository.owner)
        await self._tell("issues", repository, payload)
        return there

    def upload(self, data: bytes, *, private: bool = False) -> str:
        """Somebody drops a file into a text: the address that is written there."""
        return f"{self.git_url}{self.uploads.keep(data, private=private)}"

    # Repositories and installations.

    async def change_repository(self, repository: Repository, action: str) -> None:
        """``archived``, ``publicized``, ``privatized``, ``renamed``, ``transferred``, ``deleted``."""
        repository.archived = repository.archived or action == "archived"
        repository.private = {"publicized": False, "privatized": True}.get(action, repository.private)
        payload = self._events.repository(action, repository, repository.owner)
        await self._tell("repository", repository, payload)

    async def change_installation(self, installation: Installation, action: str) -> None:
        """``suspend``, ``unsuspend``, ``deleted``."""
        installation.suspended = {"suspend": True, "unsuspend": False}.get(action, installation.suspended)
        repositories = [self.state.repositories[one] for one in sorted(installation.repository_ids)]
        payload = self._events.installation(action, installation, repositories)
        if action == "deleted":
            del self.state.installations[installation.id]
        await self._tell_installation("installation", installation, payload)

    async def take_out(self, repository: Repository) -> None:
        """A repository is taken out of the installation."""
        installation = self.state.installation_of(repository)
        if installation is not None:
            installation.repository_ids.discard(repository.id)
            payload = self._events.removed(installation, [repository])
            await self._tell_installation("installation_repositories", installation, payload)

    async def _pull_event(
        self, action: str, repository: Repository, issue: Issue, user: User | None = None, **more: Any
    ) -> None:
        who = user or issue.user
        payload = self._events.pull(action, repository, issue, _pull(issue), who, **more)
        await self._tell("pull_request", repository, payload)

    async def _comment_event(
        self, action: str, repository: Repository, issue: Issue, comment: ReviewComment, **more: Any
    ) -> None:
        payload = self._events.review_comment(action, repository, issue, _pull(issue), comment, **more)
        await self._tell("pull_request_review_comment", repository, payload)


def _pull(issue: Issue) -> Pull:
    if issue.pull is None:
        raise ValueError(f"#{issue.number} is no pull request with a branch")
    return issue.pull
