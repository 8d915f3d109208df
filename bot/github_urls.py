"""Every path that we call at GitHub, in one place. Pure; the API's base URL comes before each (GHES: /api/v3).

Names are quoted whole: an owner, login or slug can add no segment and no query to a path.
"""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from bot.github_values import RepositoryRef

APP = "/app"
OWN_TOKEN = "/installation/token"  # noqa: S105 - a path
GRAPHQL = "/graphql"
DELIVERIES = "/app/hook/deliveries"
INSTALLATIONS = "/app/installations"


def _part(text: str) -> str:
    quoted = quote(text, safe="")
    # "." and ".." survive quoting and would be folded away by every URL library on the road.
    return quoted.replace(".", "%2E") if quoted in {".", ".."} else quoted


def access_tokens(installation_id: int) -> str:
    return f"/app/installations/{installation_id}/access_tokens"


def repository(where: RepositoryRef) -> str:
    return f"/repos/{_part(where.owner)}/{_part(where.name)}"


def activity(where: RepositoryRef) -> str:
    return f"{repository(where)}/activity"


def permission(where: RepositoryRef, login: str) -> str:
    return f"{repository(where)}/collaborators/{_part(login)}/permission"


def comments(where: RepositoryRef, thread: int) -> str:
    return f"{repository(where)}/issues/{thread}/comments"


def all_comments(where: RepositoryRef) -> str:
    return f"{repository(where)}/issues/comments"


def comment(where: RepositoryRef, comment_id: int) -> str:
    return f"{repository(where)}/issues/comments/{comment_id}"


def reactions(where: RepositoryRef, comment_id: int) -> str:
    return f"{comment(where, comment_id)}/reactions"


def issues(where: RepositoryRef) -> str:
    return f"{repository(where)}/issues"


def issue(where: RepositoryRef, number: int) -> str:
    return f"{repository(where)}/issues/{number}"


def events(where: RepositoryRef, number: int) -> str:
    return f"{issue(where, number)}/events"


def label(where: RepositoryRef, number: int, name: str) -> str:
    return f"{issue(where, number)}/labels/{_part(name)}"


def pulls(where: RepositoryRef) -> str:
    return f"{repository(where)}/pulls"


def pull(where: RepositoryRef, number: int) -> str:
    return f"{pulls(where)}/{number}"


def reviews(where: RepositoryRef, number: int) -> str:
    return f"{pull(where, number)}/reviews"


def review(where: RepositoryRef, number: int, review_id: int) -> str:
    return f"{reviews(where, number)}/{review_id}"


def review_comments(where: RepositoryRef, number: int) -> str:
    return f"{pull(where, number)}/comments"


def all_review_comments(where: RepositoryRef) -> str:
    return f"{pulls(where)}/comments"


def replies(where: RepositoryRef, number: int, root_id: int) -> str:
    return f"{review_comments(where, number)}/{root_id}/replies"


def review_comment(where: RepositoryRef, comment_id: int) -> str:
    return f"{pulls(where)}/comments/{comment_id}"


def review_reactions(where: RepositoryRef, comment_id: int) -> str:
    return f"{review_comment(where, comment_id)}/reactions"


def contents(where: RepositoryRef, path: str) -> str:
    return f"{repository(where)}/contents/{_parts(path)}"


def git(where: RepositoryRef, kind: str) -> str:
    """``blobs``, ``trees``, ``commits`` or ``refs``: where one is made."""
    return f"{repository(where)}/git/{kind}"


def git_commit(where: RepositoryRef, sha: str) -> str:
    return f"{git(where, 'commits')}/{_part(sha)}"


def branch(where: RepositoryRef, name: str) -> str:
    """To read; GitHub has another path to write."""
    return f"{repository(where)}/git/ref/heads/{_parts(name)}"


def branch_to_write(where: RepositoryRef, name: str) -> str:
    return f"{repository(where)}/git/refs/heads/{_parts(name)}"


def check_runs(where: RepositoryRef) -> str:
    return f"{repository(where)}/check-runs"


def check_run(where: RepositoryRef, check_id: int) -> str:
    return f"{check_runs(where)}/{check_id}"


def check_suites(where: RepositoryRef, sha: str) -> str:
    return f"{repository(where)}/commits/{_part(sha)}/check-suites"


def redelivery(delivery_id: int) -> str:
    return f"{DELIVERIES}/{delivery_id}/attempts"


def base_for(api_url: str, path: str) -> str:
    """The base of a path. A server of GitHub Enterprise has GraphQL beside the REST API's version, not below it."""
    return api_url.removesuffix("/v3") if path == GRAPHQL and api_url.endswith("/api/v3") else api_url


def _parts(path: str) -> str:
    """A name of several segments, each quoted whole."""
    return "/".join(_part(part) for part in path.split("/"))


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
