"""The API operations of the local GitHub: from what is asked and the state to an answer. No I/O, no waiting."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from bot.demo.github_access import (
    Answered,
    Asked,
    World,
    as_app,
    number,
    paged,
    reach,
    reach_comment,
    reach_issue,
)
from bot.demo.github_auth import Refusal
from bot.demo.github_shapes import REACTIONS, stamp
from bot.demo.github_state import Comment, Installation, Reaction, Token, role_of
from bot.demo.github_uploads import rendered

TOKEN_LIFE = timedelta(hours=1)
MAX_COMMENT_CHARACTERS = 65_536

# The App itself.


def get_app(world: World, asked: Asked) -> Answered:
    as_app(asked)
    return Answered(200, world.shapes.app(world.app))


def list_installations(world: World, asked: Asked) -> Answered:
    """Suspended ones too."""
    as_app(asked)
    found = sorted(world.state.installations.values(), key=lambda one: one.id)
    return paged(world, asked, [_listed(world, one) for one in found])


def _listed(world: World, installation: Installation) -> dict[str, Any]:
    """In a list its people are told with one field less."""
    shape = world.shapes.installation(installation, world.app)
    for name in ("account", "suspended_by"):
        if shape[name]:
            shape[name] = {key: value for key, value in shape[name].items() if key != "user_view_type"}
    return shape


def get_installation(world: World, asked: Asked) -> Answered:
    as_app(asked)
    repository = world.state.repository(f"{asked.params['owner']}/{asked.params['repo']}")
    installation = repository and world.state.installation_of(repository)
    if not installation:
        raise Refusal(404, "Not Found")
    return Answered(200, world.shapes.installation(installation, world.app))


def mint(world: World, asked: Asked) -> Answered:
    """A token for an hour: for at most what the installation has, and the App was granted."""
    as_app(asked)
    installation = world.state.installations.get(number(asked.params["installation_id"]))
    if installation is None:
        raise Refusal(404, "Not Found")
    if installation.suspended:
        raise Refusal(403, "This installation has been suspended")
    body = asked.body or {}
    wanted = set(body.get("repository_ids", installation.repository_ids))
    if not wanted <= installation.repository_ids:
        words = "There is at least one repository that does not exist or is not accessible to the parent installation."
        raise Refusal(422, words)
    granted = world.app.permissions if installation.granted is None else installation.granted
    permissions = body.get("permissions", granted)
    if not all(_within(granted.get(name, ""), level) for name, level in permissions.items()):
        raise Refusal(422, "The permissions requested are not granted to this installation.")
    token = Token(
        value=f"ghs_{secrets.token_hex(18)}",
        installation_id=installation.id,
        repository_ids=frozenset(wanted),
        permissions=dict(permissions) | {"metadata": "read"},
        expires_at=world.now().replace(microsecond=0) + TOKEN_LIFE,
    )
    world.state.tokens[token.value] = token
    answer: dict[str, Any] = {
        "token": token.value,
        "expires_at": stamp(token.expires_at),
        "permissions": token.permissions,
        "repository_selection": "selected",
    }
    if "repository_ids" in body:
        answer["repositories"] = [world.shapes.repository(world.state.repositories[i]) for i in sorted(wanted)]
    return Answered(201, answer)


def revoke(world: World, asked: Asked) -> Answered:
    if asked.caller.token is None:
        raise Refusal(401, "Requires authentication")
    asked.caller.token.revoked = True
    return Answered(204)


# Repositories.


def get_repository(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "metadata", "read")
    return Answered(200, world.shapes.full_repository(repository))


def get_permission(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "metadata", "read")
    if asked.caller.token is None:
        raise Refusal(401, "Requires authentication")
    user = world.state.users.get(asked.params["username"].lower())
    if user is None:
        raise Refusal(404, f"{asked.params['username']} is not a user")
    return Answered(200, world.shapes.permission(repository, user))


def get_issue(world: World, asked: Asked) -> Answered:
    repository, issue = reach_issue(world, asked, "read")
    return Answered(200, world.shapes.issue(repository, issue) | in_html(asked, issue.body))


def in_html(asked: Asked, body: str) -> dict[str, Any]:
    """What only some media types bring: for a text of any kind."""
    return {"body_html": rendered(body)} if ".full+json" in asked.accept else {}


# Comments.


def list_comments(world: World, asked: Asked) -> Answered:
    repository, issue = reach_issue(world, asked, "read")
    since = asked.query.get("since", "")
    found = [comment for comment in issue.comments if stamp(comment.updated_at) >= since]
    return paged(world, asked, [world.shapes.comment(repository, issue, c, world.app) for c in found])


def list_all_comments(world: World, asked: Asked) -> Answered:
    """Of every issue and pull request of the repository, ordered by id."""
    repository = reach(world, asked, "issues", "read")
    since = asked.query.get("since", "")
    found = [(comment, issue) for issue in repository.issues.values() for comment in issue.comments]
    kept = sorted((c.id, c, i) for c, i in found if stamp(c.updated_at) >= since)
    return paged(world, asked, [world.shapes.comment(repository, issue, c, world.app) for _, c, issue in kept])


def create_comment(world: World, asked: Asked) -> Answered:
    """Posts as the App, each time anew: GitHub knows no repetition. A locked thread takes writers' only."""
    repository, issue = reach_issue(world, asked, "write")
    body = comment_body(asked)
    if issue.locked and role_of(repository, world.app.user.login) not in {"write", "maintain", "admin"}:
        raise Refusal(403, "Unable to create comment because issue is locked.")
    now = world.now()
    comment = Comment(world.state.next_id(), body, world.app.user, now, now, by_app=True, history=[body])
    issue.comments.append(comment)
    world.commented("created", repository, issue, comment)
    shape = world.shapes.comment(repository, issue, comment, world.app)
    return Answered(201, shape, {"Location": shape["url"]})


def get_comment(world: World, asked: Asked) -> Answered:
    repository, issue, comment = reach_comment(world, asked, "read")
    return Answered(200, world.shapes.comment(repository, issue, comment, world.app) | in_html(asked, comment.body))


def update_comment(world: World, asked: Asked) -> Answered:
    repository, issue, comment = reach_comment(world, asked, "write")
    comment.body = comment_body(asked)
    comment.history.append(comment.body)
    comment.updated_at = comment.edited_at = world.now()
    world.commented("edited", repository, issue, comment)
    return Answered(200, world.shapes.comment(repository, issue, comment, world.app))


def delete_comment(world: World, asked: Asked) -> Answered:
    _, issue, comment = reach_comment(world, asked, "write")
    issue.comments.remove(comment)
    return Answered(204)


def react(world: World, asked: Asked) -> Answered:
    """201 the first time, 200 with the same reaction ever after."""
    _, _, comment = reach_comment(world, asked, "write")
    return react_to(world, asked, comment.reactions)


def react_to(world: World, asked: Asked, reactions: list[Reaction]) -> Answered:
    """The same for a comment of any kind."""
    content = asked.body.get("content") if isinstance(asked.body, dict) else None
    if content not in REACTIONS:
        raise Refusal(
            422, "Validation Failed", errors=[{"resource": "Reaction", "code": "invalid", "field": "content"}]
        )
    user = world.app.user
    for reaction in reactions:
        if (reaction.content, reaction.user) == (content, user):
            return Answered(200, world.shapes.reaction(reaction))
    made = Reaction(world.state.next_id(), content, user, world.now())
    reactions.append(made)
    return Answered(201, world.shapes.reaction(made))


def list_reactions(world: World, asked: Asked) -> Answered:
    _, _, comment = reach_comment(world, asked, "read")
    return Answered(200, [world.shapes.reaction(reaction) for reaction in comment.reactions])


def comment_body(asked: Asked) -> str:
    """The text to post, as it came. Raises GitHub's refusals: missing, blank, too long."""
    body = asked.body.get("body") if isinstance(asked.body, dict) else None
    if not isinstance(body, str):
        raise Refusal(422, 'Invalid request.\n\n"body" wasn\'t supplied.')
    if not body.strip():
        raise Refusal(
            422, "Validation Failed", errors=[{"resource": "IssueComment", "code": "missing", "field": "body"}]
        )
    if len(body) > MAX_COMMENT_CHARACTERS:
        error = {"resource": "IssueComment", "code": "custom", "field": "body"}
        words = f"body is too long (maximum is {MAX_COMMENT_CHARACTERS} characters)"
        raise Refusal(422, "Validation Failed", errors=[error | {"message": words}])
    return body


def _within(granted: str, asked: str) -> bool:
    order = ("", "read", "write", "admin")
    return asked in order and order.index(asked) <= order.index(granted)
