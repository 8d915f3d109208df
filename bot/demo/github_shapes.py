"""What the local GitHub's objects look like in JSON: every field that GitHub's own description requires. Pure.

``tests/openapi`` holds them against that description, and the webhook's against a recorded one.
"""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any

from bot.demo.github_state import App, Comment, Installation, Issue, Reaction, Repository, User, level_of, role_of

Json = dict[str, Any]
REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def stamp(moment: datetime) -> str:
    """A time as GitHub writes it: UTC, whole seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def node_id(kind: str, number: int) -> str:
    return base64.b64encode(f"0{len(kind)}:{kind}{number}".encode()).decode()


class Shapes:
    """Shapes with the server's own URLs in them: ``api`` for the API, ``web`` for pages and clones."""

    def __init__(self, api: str, web: str) -> None:
        self._api = api
        self._web = web

    @property
    def api(self) -> str:
        return self._api

    @property
    def web(self) -> str:
        return self._web

    def user(self, user: User) -> Json:
        url = f"{self._api}/users/{user.login.replace('[', '%5B').replace(']', '%5D')}"
        return {
            "login": user.login,
            "id": user.id,
            "node_id": node_id("User", user.id),
            "avatar_url": f"{self._web}/avatars/u/{user.id}?v=4",
            "gravatar_id": "",
            "url": url,
            "html_url": f"{self._web}/{user.login.removesuffix('[bot]')}",
            "followers_url": f"{url}/followers",
            "following_url": f"{url}/following{{/other_user}}",
            "gists_url": f"{url}/gists{{/gist_id}}",
            "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
            "subscriptions_url": f"{url}/subscriptions",
            "organizations_url": f"{url}/orgs",
            "repos_url": f"{url}/repos",
            "events_url": f"{url}/events{{/privacy}}",
            "received_events_url": f"{url}/received_events",
            "type": user.type,
            "user_view_type": "public",
            "site_admin": False,
        }

    def permission(self, repository: Repository, user: User) -> Json:
        role = role_of(repository, user.login)
        level = level_of(role)
        may = {
            "admin": level == "admin",
            "maintain": role in {"maintain", "admin"},
            "push": level in {"write", "admin"},
            "triage": role not in {"none", "read"},
            "pull": role != "none",
        }
        return {
            "permission": level,
            "role_name": role,
            "user": self.user(user) | {"permissions": may, "role_name": role},
        }

    def app(self, app: App) -> Json:
        return {
            "id": app.id,
            "slug": app.slug,
            "node_id": node_id("Integration", app.id),
            "client_id": app.client_id,
            "owner": self.user(app.owner),
            "name": app.slug.title(),
            "description": "",
            "external_url": f"{self._web}/about",
            "html_url": f"{self._web}/apps/{app.slug}",
            "created_at": stamp(app.created_at),
            "updated_at": stamp(app.created_at),
            "permissions": app.permissions,
            "events": list(app.events),
        }

    def installation(self, installation: Installation, app: App) -> Json:
        url = f"{self._api}/app/installations/{installation.id}"
        account = installation.account
        return {
            "id": installation.id,
            "account": self.user(account),
            "repository_selection": "selected",
            "access_tokens_url": f"{url}/access_tokens",
            "repositories_url": f"{self._api}/installation/repositories",
            "html_url": f"{self._web}/settings/installations/{installation.id}",
            "app_id": app.id,
            "app_slug": app.slug,
            "target_id": account.id,
            "target_type": account.type,
            "permissions": app.permissions if installation.granted is None else installation.granted,
            "events": list(app.events),
            "created_at": stamp(app.created_at),
            "updated_at": stamp(app.created_at),
            "single_file_name": None,
            "suspended_by": self.user(account) if installation.suspended else None,
            "suspended_at": stamp(app.created_at) if installation.suspended else None,
        }

    def reaction(self, reaction: Reaction) -> Json:
        return {
            "id": reaction.id,
            "node_id": node_id("Reaction", reaction.id),
            "user": self.user(reaction.user),
            "content": reaction.content,
            "created_at": stamp(reaction.created_at),
        }

    def reactions(self, url: str, reactions: list[Reaction]) -> Json:
        counts = {kind: sum(r.content == kind for r in reactions) for kind in REACTIONS}
        return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}

    def comment(self, repository: Repository, issue: Issue, comment: Comment, app: App) -> Json:
        url = f"{self._repository_url(repository)}/issues/comments/{comment.id}"
        return {
            "url": url,
            "html_url": f"{self._issue_page(repository, issue)}#issuecomment-{comment.id}",
            "issue_url": self._issue_url(repository, issue),
            "id": comment.id,
            "node_id": node_id("IssueComment", comment.id),
            "user": self.user(comment.user),
            "created_at": stamp(comment.created_at),
            "updated_at": stamp(comment.updated_at),
            "author_association": association(repository, comment.user),
            "body": comment.body,
            "reactions": self.reactions(url, comment.reactions),
            "performed_via_github_app": self.app(app) if comment.by_app else None,
        }

    def issue(self, repository: Repository, issue: Issue) -> Json:
        url = self._issue_url(repository, issue)
        shape: Json = {
            "url": url,
            "repository_url": self._repository_url(repository),
            "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "html_url": self._issue_page(repository, issue),
            "id": issue.id,
            "node_id": node_id("Issue", issue.id),
            "number": issue.number,
            "title": issue.title,
            "user": self.user(issue.user),
            "labels": [],
            "state": "closed" if issue.closed else "open",
            "locked": issue.locked,
            "assignee": None,
            "assignees": [],
            "milestone": None,
            "comments": len(issue.comments),
            "created_at": stamp(issue.created_at),
            "updated_at": stamp(issue.updated_at),
            "closed_at": stamp(issue.created_at) if issue.closed else None,
            "author_association": association(repository, issue.user),
            "active_lock_reason": None,
            "body": issue.body,
            "reactions": self.reactions(url, []),
            "timeline_url": f"{url}/timeline",
            "performed_via_github_app": None,
            "state_reason": "completed" if issue.closed else None,
        }
        if issue.is_pull_request:
            page = self._issue_page(repository, issue)
            shape["draft"] = issue.pull is not None and issue.pull.draft
            shape["pull_request"] = {
                "url": f"{self._repository_url(repository)}/pulls/{issue.number}",
                "html_url": page,
                "diff_url": f"{page}.diff",
                "patch_url": f"{page}.patch",
                "merged_at": None,
            }
        return shape

    def repository(self, repository: Repository) -> Json:
        """As in webhooks and lists."""
        url = self._repository_url(repository)
        page = f"{self._web}/{repository.full_name}"
        open_issues = sum(not issue.closed for issue in repository.issues.values())
        created = stamp(repository.created_at)
        return {
            "id": repository.id,
            "node_id": node_id("Repository", repository.id),
            "name": repository.name,
            "full_name": repository.full_name,
            "private": repository.private,
            "owner": self.user(repository.owner),
            "html_url": page,
            "description": None,
            "fork": False,
            "url": url,
            **{key: f"{url}/{tail}" for key, tail in REPOSITORY_URLS.items()},
            "created_at": created,
            "updated_at": created,
            "pushed_at": created,
            "git_url": f"git://{page.partition('://')[2]}.git",
            "ssh_url": f"git@localhost:{repository.full_name}.git",
            "clone_url": f"{page}.git",
            "svn_url": page,
            "homepage": None,
            "size": 1,
            "stargazers_count": 0,
            "watchers_count": 0,
            "language": None,
            "has_issues": True,
            "has_projects": False,
            "has_downloads": True,
            "has_wiki": False,
            "has_pages": False,
            "has_discussions": False,
            "forks_count": 0,
            "mirror_url": None,
            "archived": repository.archived,
            "disabled": False,
            "open_issues_count": open_issues,
            "license": None,
            "allow_forking": True,
            "is_template": False,
            "web_commit_signoff_required": False,
            "topics": [],
            "visibility": "private" if repository.private else "public",
            "forks": 0,
            "open_issues": open_issues,
            "watchers": 0,
            "default_branch": repository.default_branch,
        }

    def full_repository(self, repository: Repository) -> Json:
        """As ``GET /repos/OWNER/REPO`` answers."""
        return self.repository(repository) | {"network_count": 0, "subscribers_count": 0}

    def comment_event(self, action: str, repository: Repository, issue: Issue, comment: Comment, app: App) -> Json:
        """The body of an ``issue_comment`` webhook, less the installation that it is delivered for."""
        event: Json = {
            "action": action,
            "issue": self.issue(repository, issue),
            "comment": self.comment(repository, issue, comment, app),
            "repository": self.repository(repository) | {"custom_properties": {}},
            "sender": self.user(comment.user),
        }
        if repository.owner.type == "Organization":
            event["organization"] = self._organization(repository.owner)
        if action == "edited":
            event["changes"] = {"body": {"from": comment.history[-2]}}
        return event

    def _organization(self, owner: User) -> Json:
        url = f"{self._api}/orgs/{owner.login}"
        return {
            "login": owner.login,
            "id": owner.id,
            "node_id": node_id("Organization", owner.id),
            "url": url,
            "repos_url": f"{url}/repos",
            "events_url": f"{url}/events",
            "hooks_url": f"{url}/hooks",
            "issues_url": f"{url}/issues",
            "members_url": f"{url}/members{{/member}}",
            "public_members_url": f"{url}/public_members{{/member}}",
            "avatar_url": f"{self._web}/avatars/u/{owner.id}?v=4",
            "description": "",
        }

    def _repository_url(self, repository: Repository) -> str:
        return f"{self._api}/repos/{repository.full_name}"

    def _issue_url(self, repository: Repository, issue: Issue) -> str:
        return f"{self._repository_url(repository)}/issues/{issue.number}"

    def _issue_page(self, repository: Repository, issue: Issue) -> str:
        kind = "pull" if issue.is_pull_request else "issues"
        return f"{self._web}/{repository.full_name}/{kind}/{issue.number}"


def association(repository: Repository, user: User) -> str:
    """GitHub's hint (not a permission) at how an author stands to the repository."""
    if user.login.lower() == repository.owner.login.lower():
        return "OWNER"
    return "COLLABORATOR" if user.login.lower() in repository.roles else "NONE"


REPOSITORY_URLS = {
    "forks_url": "forks",
    "keys_url": "keys{/key_id}",
    "collaborators_url": "collaborators{/collaborator}",
    "teams_url": "teams",
    "hooks_url": "hooks",
    "issue_events_url": "issues/events{/number}",
    "events_url": "events",
    "assignees_url": "assignees{/user}",
    "branches_url": "branches{/branch}",
    "tags_url": "tags",
    "blobs_url": "git/blobs{/sha}",
    "git_tags_url": "git/tags{/sha}",
    "git_refs_url": "git/refs{/sha}",
    "trees_url": "git/trees{/sha}",
    "statuses_url": "statuses/{sha}",
    "languages_url": "languages",
    "stargazers_url": "stargazers",
    "contributors_url": "contributors",
    "subscribers_url": "subscribers",
    "subscription_url": "subscription",
    "commits_url": "commits{/sha}",
    "git_commits_url": "git/commits{/sha}",
    "comments_url": "comments{/number}",
    "issue_comment_url": "issues/comments{/number}",
    "contents_url": "contents/{+path}",
    "compare_url": "compare/{base}...{head}",
    "merges_url": "merges",
    "archive_url": "{archive_format}{/ref}",
    "downloads_url": "downloads",
    "issues_url": "issues{/number}",
    "pulls_url": "pulls{/number}",
    "milestones_url": "milestones{/number}",
    "notifications_url": "notifications{?since,all,participating}",
    "labels_url": "labels{/name}",
    "releases_url": "releases{/id}",
    "deployments_url": "deployments",
}
