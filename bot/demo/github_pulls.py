"""Pull requests and their reviews in the local GitHub's API: from what is asked and the state to an answer."""

from __future__ import annotations

from typing import Any

from bot.demo import github_git_objects as objects
from bot.demo.github_access import Answered, Asked, World, number, paged, reach
from bot.demo.github_auth import Refusal
from bot.demo.github_operations import comment_body, in_html, react_to
from bot.demo.github_shapes import stamp
from bot.demo.github_state import Issue, Repository
from bot.demo.github_work_state import Pull, Review, ReviewComment


def _reached(world: World, asked: Asked, level: str) -> tuple[Repository, Issue, Pull]:
    repository = reach(world, asked, "pull_requests", level)
    issue = repository.issues.get(number(asked.params["pull_number"]))
    if issue is None or issue.pull is None or issue.deleted:
        raise Refusal(404, "Not Found")
    return repository, issue, issue.pull


def create(world: World, asked: Asked) -> Answered:
    """Opens as the App. GitHub's own refusals: no such branch, nothing to merge, one is open already, no drafts."""
    repository = reach(world, asked, "pull_requests", "write")
    body = asked.body or {}
    head, base = str(body.get("head", "")), str(body.get("base", ""))
    branch = head.removeprefix(f"{repository.owner.login}:")
    tip = objects.ref(repository.git_dir, f"refs/heads/{branch}")
    base_tip = objects.ref(repository.git_dir, f"refs/heads/{base}")
    for name, found in (("head", tip), ("base", base_tip)):
        if found is None:
            error = {"resource": "PullRequest", "field": name, "code": "invalid"}
            raise Refusal(422, "Validation Failed", errors=[error])
    assert tip is not None  # noqa: S101 - for the type checker
    assert base_tip is not None  # noqa: S101
    if objects.contains(repository.git_dir, tip, base_tip):
        raise _custom(f"No commits between {base} and {branch}")
    if _open(repository, branch, base) is not None:
        raise _custom(f"A pull request already exists for {repository.owner.login}:{branch}.")
    if body.get("draft") and not repository.drafts:
        raise Refusal(422, "Draft pull requests are not supported in this repository.")
    issue = world.opened(
        repository, world.app.user, str(body.get("title", "")), str(body.get("body") or ""),
        Pull(branch, repository, base, tip, base_tip, draft=bool(body.get("draft")), by_app=True),
    )  # fmt: skip
    shape = world.pulls.pull(repository, issue, _pull(issue))
    return Answered(201, shape, {"Location": shape["url"]})


def _pull(issue: Issue) -> Pull:
    if issue.pull is None:
        raise Refusal(404, "Not Found")
    return issue.pull


def _open(repository: Repository, branch: str, base: str) -> Issue | None:
    for issue in repository.issues.values():
        pull = issue.pull
        if (
            pull
            and not issue.closed
            and (pull.head_ref, pull.base_ref, pull.head_repository) == (branch, base, repository)
        ):
            return issue
    return None


def _custom(words: str) -> Refusal:
    return Refusal(422, "Validation Failed", errors=[{"resource": "PullRequest", "code": "custom", "message": words}])


def list_pulls(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "pull_requests", "read")
    state, head, base = asked.query.get("state", "open"), asked.query.get("head", ""), asked.query.get("base", "")
    found = []
    for issue in sorted(repository.issues.values(), key=lambda issue: -issue.number):
        pull = issue.pull
        if pull is None or (state != "all" and (state == "closed") != issue.closed):
            continue
        owner = pull.head_repository.owner.login if pull.head_repository else "unknown"
        if (head and head != f"{owner}:{pull.head_ref}") or (base and base != pull.base_ref):
            continue
        found.append(world.pulls.simple_pull(repository, issue, pull))
    return paged(world, asked, found)


def get(world: World, asked: Asked) -> Answered:
    repository, issue, pull = _reached(world, asked, "read")
    return Answered(200, world.pulls.pull(repository, issue, pull))


def update(world: World, asked: Asked) -> Answered:
    """Title, body, state and base."""
    repository, issue, pull = _reached(world, asked, "write")
    body = asked.body or {}
    issue.title, issue.body = body.get("title", issue.title), body.get("body", issue.body)
    if "base" in body:
        pull.base_ref = body["base"]
    if "state" in body:
        issue.closed = body["state"] == "closed"
    world.pull_changed(repository, issue, "edited", world.app.user)
    return Answered(200, world.pulls.pull(repository, issue, pull))


def list_reviews(world: World, asked: Asked) -> Answered:
    repository, issue, pull = _reached(world, asked, "read")
    return paged(world, asked, [world.pulls.review(repository, issue, review) for review in pull.reviews])


def get_review(world: World, asked: Asked) -> Answered:
    repository, issue, pull = _reached(world, asked, "read")
    wanted = number(asked.params["review_id"])
    review = next((one for one in pull.reviews if one.id == wanted), None)
    if review is None:
        raise Refusal(404, "Not Found")
    return Answered(200, world.pulls.review(repository, issue, review) | in_html(asked, review.body))


def create_review(world: World, asked: Asked) -> Answered:
    repository, issue, pull = _reached(world, asked, "write")
    body = asked.body or {}
    states = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}
    review = Review(
        world.state.next_id(), world.app.user, states.get(body.get("event", ""), "PENDING"), body.get("body", ""),
        pull.sha, world.now(), by_app=True,
    )  # fmt: skip
    pull.reviews.append(review)
    return Answered(200, world.pulls.review(repository, issue, review))


def list_comments(world: World, asked: Asked) -> Answered:
    repository, issue, pull = _reached(world, asked, "read")
    return paged(world, asked, [world.pulls.review_comment(repository, issue, one) for one in pull.comments])


def list_all_comments(world: World, asked: Asked) -> Answered:
    """Of every pull request of the repository, ordered by id."""
    repository = reach(world, asked, "pull_requests", "read")
    since = asked.query.get("since", "")
    found = [(one.id, one, i) for i in repository.issues.values() if i.pull for one in i.pull.comments]
    kept = sorted(one for one in found if stamp(one[1].updated_at) >= since)
    return paged(world, asked, [world.pulls.review_comment(repository, issue, one) for _, one, issue in kept])


def reply(world: World, asked: Asked) -> Answered:
    """To the first comment of a thread; a reply to a reply is refused with 404, as by GitHub."""
    repository, issue, pull = _reached(world, asked, "write")
    wanted = number(asked.params["comment_id"])
    root = next((one for one in pull.comments if one.id == wanted and one.in_reply_to is None), None)
    if root is None:
        raise Refusal(404, "Not Found")
    body = comment_body(asked)
    if issue.locked:
        raise Refusal(403, "Unable to create comment because issue is locked.")
    made = answer_in(world.state.next_id(), root, body, world)
    pull.comments.append(made)
    world.reviewed(repository, issue, made)
    shape = world.pulls.review_comment(repository, issue, made)
    return Answered(201, shape, {"Location": shape["url"]})


def answer_in(number_: int, root: ReviewComment, body: str, world: World) -> ReviewComment:
    now = world.now()
    return ReviewComment(
        number_, body, world.app.user, root.path, now, now, root.commit_id, root.review_id, root.line, root.start_line,
        root.side, root.diff_hunk, in_reply_to=root.id, by_app=True, history=[body],
    )  # fmt: skip


def get_comment(world: World, asked: Asked) -> Answered:
    repository, issue, comment = _comment(world, asked, "read")
    return Answered(200, world.pulls.review_comment(repository, issue, comment) | in_html(asked, comment.body))


def react(world: World, asked: Asked) -> Answered:
    _, _, comment = _comment(world, asked, "write")
    return react_to(world, asked, comment.reactions)


def _comment(world: World, asked: Asked, level: str) -> tuple[Repository, Issue, ReviewComment]:
    """The review comment of the path, whose pull request the path does not name."""
    repository = reach(world, asked, "pull_requests", level)
    wanted = number(asked.params["comment_id"])
    for issue in repository.issues.values():
        for comment in issue.pull.comments if issue.pull and not issue.deleted else ():
            if comment.id == wanted:
                return repository, issue, comment
    raise Refusal(404, "Not Found")


def list_files(world: World, asked: Asked) -> Answered:
    repository, _, pull = _reached(world, asked, "read")
    listed = objects.run(
        repository.git_dir, "diff", "--no-renames", "--name-status", "-z", f"{pull.base_sha}...{pull.sha}"
    ).decode(errors="replace")
    words = listed.split("\0")[:-1]
    kinds = {"A": "added", "M": "modified", "D": "removed", "T": "changed"}
    url = f"{world.api}/repos/{repository.full_name}/contents"
    files: list[dict[str, Any]] = [
        {
            "sha": pull.sha, "filename": path, "status": kinds[kind], "additions": 1, "deletions": 0, "changes": 1,
            "blob_url": f"{url}/{path}", "raw_url": f"{url}/{path}", "contents_url": f"{url}/{path}",
        }
        for kind, path in zip(words[::2], words[1::2], strict=True)
    ]  # fmt: skip
    return paged(world, asked, files)
