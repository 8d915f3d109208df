"""One question in GraphQL: its errors come with status 200."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot import github_urls as urls
from bot.github_auth import Permissions
from bot.github_calls import Call, short
from bot.github_installations import Installations, expecting
from bot.github_values import GitHubRefused, GitHubUnavailable, RepositoryRef

# GitHub's kinds of errors and the status that REST would have given. Any other is as final as 422.
_NOT_FOUND = "NOT_FOUND"
_STATUS = {_NOT_FOUND: 404, "FORBIDDEN": 403, "INSUFFICIENT_SCOPES": 403}


async def ask(
    installations: Installations,
    where: RepositoryRef,
    document: str,
    variables: Mapping[str, Any],
    permissions: Permissions,
    *,
    absent_is_usual: bool = False,
) -> Mapping[str, Any]:
    """The answer's ``data``. Raises like any call; asking again is safe for what is in ``bot.github_documents``."""
    body = {"query": document, "variables": dict(variables)}
    call = Call("POST", urls.GRAPHQL, body=body, absent_is_usual=absent_is_usual, absent=_absent)
    answer = await installations.call(where, call, permissions)
    with expecting("an answer of GraphQL"):
        errors = [(str(error.get("type", "")), short(str(error["message"]))) for error in answer.get("errors") or ()]
        data: Mapping[str, Any] = answer.get("data") or {}
    for kind, words in errors:
        if kind == "RATE_LIMITED":
            raise GitHubUnavailable(words, 60.0)
    if errors:
        kind, words = errors[0]
        raise GitHubRefused(_STATUS.get(kind, 422), words)
    return data


def _absent(answer: Any) -> str | None:
    """GitHub's words, where all that is wrong is that something is not there. Pure."""
    with expecting("an answer of GraphQL"):
        errors = list(answer.get("errors") or ())
        if {error.get("type") for error in errors} == {_NOT_FOUND}:
            return short(str(errors[0]["message"]))
    return None
