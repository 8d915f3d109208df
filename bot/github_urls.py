"""Every path that we call at GitHub, in one place. Pure; the API's base URL comes before each (GHES: /api/v3).

Names are quoted whole: an owner, login or slug can add no segment and no query to a path.
"""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from bot.github_values import RepositoryRef

APP = "/app"
OWN_TOKEN = "/installation/token"  # noqa: S105 - a path


def _part(text: str) -> str:
    quoted = quote(text, safe="")
    # "." and ".." survive quoting and would be folded away by every URL library on the road.
    return quoted.replace(".", "%2E") if quoted in {".", ".."} else quoted


def access_tokens(installation_id: int) -> str:
    return f"/app/installations/{installation_id}/access_tokens"


def repository(where: RepositoryRef) -> str:
    return f"/repos/{_part(where.owner)}/{_part(where.name)}"


def permission(where: RepositoryRef, login: str) -> str:
    return f"{repository(where)}/collaborators/{_part(login)}/permission"


def comments(where: RepositoryRef, thread: int) -> str:
    return f"{repository(where)}/issues/{thread}/comments"


def comment(where: RepositoryRef, comment_id: int) -> str:
    return f"{repository(where)}/issues/comments/{comment_id}"


def reactions(where: RepositoryRef, comment_id: int) -> str:
    return f"{comment(where, comment_id)}/reactions"


def redirected(api_url: str, location: str, repository_id: int) -> str | None:
    """The path to follow after a redirect, or None where it must not be followed.

    GitHub answers for a renamed repository with ``/repositories/ID/...``. Only that very repository on that very
    server is followed, so that neither a token nor a comment can end up elsewhere (a transferred issue, another host).
    """
    base, target = urlsplit(api_url), urlsplit(location)
    prefix = f"{base.path.rstrip('/')}/repositories/{repository_id}"
    if (target.scheme, target.netloc) != (base.scheme, base.netloc):
        return None
    if target.path != prefix and not target.path.startswith(prefix + "/"):
        return None
    if "%" in target.path or ".." in target.path:
        return None
    return target.path[len(base.path.rstrip("/")) :] + (f"?{target.query}" if target.query else "")
