"""The few GraphQL operations that the bot asks of GitHub, by their names. The documents themselves are held against
GitHub's published schema by tests/openapi/test_graphql.py, so they are not read here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bot.demo.github_access import Answered, Asked, World, holds
from bot.demo.github_auth import Refusal, grants
from bot.demo.github_shapes import node_id, stamp
from bot.demo.github_state import Comment, Issue, Repository
from bot.demo.github_work_state import Pull, Review, ReviewComment

Variables = Mapping[str, Any]


def answer(world: World, asked: Asked) -> Answered:
    """Errors come with status 200, as from GitHub."""
    if asked.caller.token is None:
        raise Refusal(401, "This endpoint requires you to be authenticated.")
    body = asked.body or {}
    named = re.search(r"\b(?:query|mutation)\s+(\w+)", str(body.get("query", "")))
    operation = _OPERATIONS.get(named[1]) if named else None
    if operation is None:
        return _error("INVALID", "the local GitHub does not know this operation")
    return operation(world, asked, body.get("variables") or {})


def _error(kind: str, words: str) -> Answered:
    return Answered(200, {"data": None, "errors": [{"type": kind, "message": words}]})


def _repository(world: World, asked: Asked, variables: Variables) -> Repository | None:
    found = world.state.repository(f"{variables.get('owner')}/{variables.get('name')}")
    token = asked.caller.token
    return found if found and token and (holds(world.state, token, found) or not found.private) else None


def _threads(world: World, asked: Asked, variables: Variables) -> Answered:
    """Which review threads are resolved or outdated, page by page."""
    repository = _repository(world, asked, variables)
    issue = repository.issues.get(variables["number"]) if repository else None
    if issue is None or issue.pull is None:
        return _error("NOT_FOUND", "Could not resolve to a PullRequest")
    roots = [one for one in issue.pull.comments if one.in_reply_to is None]
    start = int(variables.get("after") or 0)
    page = roots[start : start + 50]
    nodes = [_thread(issue.pull, root) for root in page]
    more = start + 50 < len(roots)
    info = {"hasNextPage": more, "endCursor": str(start + 50) if more else None}
    threads = {"nodes": nodes, "pageInfo": info}
    return Answered(200, {"data": {"repository": {"pullRequest": {"reviewThreads": threads}}}})


def _thread(pull: Pull, root: ReviewComment) -> dict[str, Any]:
    return {
        "id": node_id("PullRequestReviewThread", root.id),
        "isResolved": root.id in pull.resolved,
        "isOutdated": root.line is None,
        "comments": {"nodes": [{"fullDatabaseId": str(root.id)}]},
    }


def _edits(world: World, asked: Asked, variables: Variables) -> Answered:
    """When texts were last changed, and which comments are hidden: by node id."""
    nodes: list[dict[str, Any] | None] = []
    for wanted in variables["ids"]:
        found = _node(world, wanted)
        if found is None:
            nodes.append(None)
            continue
        thing = found[2]
        edited = getattr(thing, "edited_at", None)
        nodes.append(
            {
                "id": wanted,
                "lastEditedAt": stamp(edited) if edited else None,
                **({"isMinimized": bool(thing.minimised)} if isinstance(thing, Comment | ReviewComment) else {}),
            }
        )
    return Answered(200, {"data": {"nodes": nodes}})


def _minimise(world: World, asked: Asked, variables: Variables) -> Answered:
    found, token = _node(world, variables["id"]), asked.caller.token
    if found is None or not isinstance(found[2], Comment | ReviewComment):
        return _error("NOT_FOUND", f"Could not resolve to a node with the global id of '{variables['id']}'")
    repository, issue, comment = found[0], found[1], found[2]
    permission = "pull_requests" if issue.is_pull_request else "issues"
    if token is None or not holds(world.state, token, repository) or not grants(token, permission, "write"):
        return _error("FORBIDDEN", "Resource not accessible by integration")
    comment.minimised = variables["reason"]
    return Answered(200, {"data": {"minimizeComment": {"minimizedComment": {"isMinimized": True}}}})


def _branch(world: World, asked: Asked, variables: Variables) -> Answered:
    """Whether the caller may push to a branch, by its protection."""
    repository = _repository(world, asked, variables)
    if repository is None:
        return _error("NOT_FOUND", "Could not resolve to a Repository")
    name = str(variables["ref"]).removeprefix("refs/heads/")
    rule = {"viewerCanPush": False} if name in repository.protected else None
    return Answered(200, {"data": {"repository": {"ref": {"refUpdateRule": rule}}}})


Text = Issue | Comment | ReviewComment | Review
Node = tuple[Repository, Issue, Text]


def _node(world: World, wanted: str) -> Node | None:
    for repository in world.state.repositories.values():
        for issue in repository.issues.values():
            things: list[tuple[str, Text]] = [("Issue", issue)]
            things += [("IssueComment", comment) for comment in issue.comments]
            things += [("PullRequestReviewComment", one) for one in (issue.pull.comments if issue.pull else [])]
            things += [("PullRequestReview", one) for one in (issue.pull.reviews if issue.pull else [])]
            for kind, thing in things:
                if node_id(kind, thing.id) == wanted:
                    return repository, issue, thing
            if node_id("PullRequest", issue.id + 1) == wanted:
                return repository, issue, issue
    return None


_OPERATIONS: Mapping[str, Callable[[World, Asked, Variables], Answered]] = {
    "ReviewThreads": _threads,
    "Edits": _edits,
    "Minimise": _minimise,
    "BranchRule": _branch,
}
