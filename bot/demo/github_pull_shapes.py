"""Pull requests, reviews, labels, check runs and deliveries in JSON, as ``github_shapes``. Pure."""

from __future__ import annotations

import zlib
from typing import Any

from bot.demo.github_shapes import Json, Shapes, association, node_id, stamp
from bot.demo.github_state import App, Issue, Repository
from bot.demo.github_work_state import CheckRun, CheckSuite, Labelling, Pull, Review, ReviewComment, Sent


class PullShapes:
    """Over the shapes of everything else."""

    def __init__(self, shapes: Shapes) -> None:
        self._base = shapes
        self._api, self._web = shapes.api, shapes.web

    def _pull_url(self, repository: Repository, issue: Issue) -> str:
        return f"{self._api}/repos/{repository.full_name}/pulls/{issue.number}"

    def _page(self, repository: Repository, issue: Issue) -> str:
        return f"{self._web}/{repository.full_name}/pull/{issue.number}"

    def label(self, repository: Repository, name: str) -> Json:
        number = zlib.crc32(name.encode()) or 1
        return {
            "id": number,
            "node_id": node_id("Label", number),
            "url": f"{self._api}/repos/{repository.full_name}/labels/{name.replace(' ', '%20')}",
            "name": name,
            "description": None,
            "color": "ededed",
            "default": False,
        }

    def labels(self, repository: Repository, issue: Issue) -> list[Json]:
        return [self.label(repository, name) for name in issue.labels]

    def labelling(self, repository: Repository, issue: Issue, one: Labelling) -> Json:
        """As an issue's events have it: of the label, its name and colour alone."""
        label = self.label(repository, one.name)
        return {
            "id": one.id,
            "node_id": node_id("LabeledEvent", one.id),
            "url": f"{self._api}/repos/{repository.full_name}/issues/events/{one.id}",
            "actor": self._base.user(one.user),
            "event": "labeled" if one.on else "unlabeled",
            "commit_id": None,
            "commit_url": None,
            "created_at": stamp(one.created_at),
            "performed_via_github_app": None,
            "label": {"name": label["name"], "color": label["color"]},
        }

    def listed(self, repository: Repository, issue: Issue) -> Json:
        """An issue or a pull request as the list of both has it."""
        return self._base.issue(repository, issue) | {"labels": self.labels(repository, issue)}

    def _side(self, repository: Repository | None, ref: str, sha: str) -> Json:
        if repository is None:
            return {"label": f"unknown:{ref}", "ref": ref, "sha": sha, "user": None, "repo": None}
        return {
            "label": f"{repository.owner.login}:{ref}",
            "ref": ref,
            "sha": sha,
            "user": self._base.user(repository.owner),
            "repo": self._base.repository(repository),
        }

    def pull(self, repository: Repository, issue: Issue, pull: Pull) -> Json:
        """The long form; the API's lists leave a few fields out, which the description of a list does not know."""
        simple = self.simple_pull(repository, issue, pull)
        return simple | {
            "merged": pull.merged,
            "mergeable": None if issue.closed else True,
            "rebaseable": None if issue.closed else True,
            "mergeable_state": "unknown" if issue.closed else "clean",
            "merged_by": self._base.user(repository.owner) if pull.merged else None,
            "comments": len(issue.comments),
            "review_comments": len(pull.comments),
            "maintainer_can_modify": pull.maintainer_can_modify,
            "commits": 1,
            "additions": 1,
            "deletions": 0,
            "changed_files": 1,
        }

    def simple_pull(self, repository: Repository, issue: Issue, pull: Pull) -> Json:
        url, page = self._pull_url(repository, issue), self._page(repository, issue)
        issue_url = f"{self._api}/repos/{repository.full_name}/issues/{issue.number}"
        at = stamp(issue.created_at)
        statuses = f"{self._api}/repos/{repository.full_name}/statuses/{pull.sha}"
        links = {
            "self": url, "html": page, "issue": issue_url, "comments": f"{issue_url}/comments",
            "review_comments": f"{url}/comments", "review_comment": f"{url}/comments{{/number}}",
            "commits": f"{url}/commits", "statuses": statuses,
        }  # fmt: skip
        return {
            "url": url,
            "id": issue.id + 1,
            "node_id": node_id("PullRequest", issue.id + 1),
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "issue_url": issue_url,
            "number": issue.number,
            "state": "closed" if issue.closed else "open",
            "locked": issue.locked,
            "title": issue.title,
            "user": self._base.user(issue.user),
            "body": issue.body,
            "created_at": at,
            "updated_at": stamp(issue.updated_at),
            "closed_at": at if issue.closed else None,
            "merged_at": at if pull.merged else None,
            "merge_commit_sha": pull.merge_commit or None,
            "assignee": None,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "labels": self.labels(repository, issue),
            "milestone": None,
            "draft": pull.draft,
            "commits_url": links["commits"],
            "review_comments_url": links["review_comments"],
            "review_comment_url": links["review_comment"],
            "comments_url": links["comments"],
            "statuses_url": statuses,
            "head": self._side(pull.head_repository, pull.head_ref, pull.sha),
            "base": self._side(repository, pull.base_ref, pull.base_sha),
            "_links": {name: {"href": link} for name, link in links.items()},
            "author_association": association(repository, issue.user),
            "auto_merge": None,
            "active_lock_reason": None,
        }

    def review(self, repository: Repository, issue: Issue, review: Review) -> Json:
        page = f"{self._page(repository, issue)}#pullrequestreview-{review.id}"
        url = self._pull_url(repository, issue)
        return {
            "id": review.id,
            "node_id": node_id("PullRequestReview", review.id),
            "user": self._base.user(review.user),
            "body": review.body,
            "state": review.state,
            "html_url": page,
            "pull_request_url": url,
            "author_association": association(repository, review.user),
            "_links": {"html": {"href": page}, "pull_request": {"href": url}},
            "submitted_at": stamp(review.submitted_at),
            "commit_id": review.commit_id,
        }

    def review_comment(self, repository: Repository, issue: Issue, comment: ReviewComment) -> Json:
        """Of an outdated comment GitHub sends the line as null, which its own description forbids: it is left out."""
        url = f"{self._api}/repos/{repository.full_name}/pulls/comments/{comment.id}"
        page = f"{self._page(repository, issue)}#discussion_r{comment.id}"
        shape: Json = {
            "url": url,
            "pull_request_review_id": comment.review_id,
            "id": comment.id,
            "node_id": node_id("PullRequestReviewComment", comment.id),
            "diff_hunk": comment.diff_hunk,
            "path": comment.path,
            "commit_id": comment.commit_id,
            "original_commit_id": comment.commit_id,
            "user": self._base.user(comment.user),
            "body": comment.body,
            "created_at": stamp(comment.created_at),
            "updated_at": stamp(comment.updated_at),
            "html_url": page,
            "pull_request_url": self._pull_url(repository, issue),
            "author_association": association(repository, comment.user),
            "_links": {
                "self": {"href": url},
                "html": {"href": page},
                "pull_request": {"href": self._pull_url(repository, issue)},
            },
            "start_line": comment.start_line,
            "original_start_line": comment.start_line,
            "start_side": comment.side if comment.start_line else None,
            "original_line": comment.line or 1,
            "side": comment.side,
            "subject_type": "line",
            "reactions": self._base.reactions(url, comment.reactions),
        }
        if comment.line is not None:
            shape["line"] = comment.line
        if comment.in_reply_to is not None:
            shape["in_reply_to_id"] = comment.in_reply_to
        return shape

    def check(self, repository: Repository, check: CheckRun, app: App) -> Json:
        fields, url = check.fields, f"{self._api}/repos/{repository.full_name}/check-runs/{check.id}"
        output: dict[str, Any] = fields.get("output", {})
        done = fields.get("status") == "completed" or "conclusion" in fields
        return {
            "id": check.id,
            "head_sha": check.head_sha,
            "node_id": node_id("CheckRun", check.id),
            "external_id": fields.get("external_id"),
            "url": url,
            "html_url": f"{self._web}/{repository.full_name}/runs/{check.id}",
            "details_url": fields.get("details_url"),
            "status": "completed" if done else fields.get("status", "queued"),
            "conclusion": fields.get("conclusion"),
            "started_at": stamp(check.started_at),
            "completed_at": fields.get("completed_at", stamp(check.started_at)) if done else None,
            "output": {
                "title": output.get("title"),
                "summary": output.get("summary"),
                "text": output.get("text"),
                "annotations_count": 0,
                "annotations_url": f"{url}/annotations",
            },
            "name": fields.get("name", ""),
            "check_suite": {"id": check.id + 1},
            "app": self._base.app(app),
            "pull_requests": [],
        }

    def suite(self, repository: Repository, suite: CheckSuite) -> Json:
        url, at = f"{self._api}/repos/{repository.full_name}/check-suites/{suite.id}", stamp(suite.made_at)
        who = {"name": "A", "email": "a@example.com"}
        return {
            "id": suite.id,
            "node_id": node_id("CheckSuite", suite.id),
            "head_branch": None,
            "head_sha": suite.head_sha,
            "status": "completed",
            "conclusion": suite.conclusion,
            "url": url,
            "before": None,
            "after": suite.head_sha,
            "pull_requests": [],
            "app": self._base.app(suite.app),
            "repository": self._base.repository(repository),
            "created_at": at,
            "updated_at": at,
            "head_commit": {
                "id": suite.head_sha,
                "tree_id": suite.head_sha,
                "message": "m",
                "timestamp": at,
                "author": who,
                "committer": who,
            },
            "latest_check_runs_count": 0,
            "check_runs_url": f"{url}/check-runs",
        }

    def sent(self, sent: Sent) -> Json:
        ok = sent.status is not None and sent.status < 400
        status = "OK" if ok else (f"Invalid HTTP Response: {sent.status}" if sent.status else "failed to connect")
        return {
            "id": sent.id,
            "guid": sent.guid,
            "delivered_at": stamp(sent.delivered_at),
            "redelivery": sent.redelivery,
            "duration": 0.03,
            "status": status,
            "status_code": sent.status or 502,
            "event": sent.event,
            "action": sent.action or None,
            "installation_id": sent.installation_id,
            "repository_id": sent.repository_id,
            "throttled_at": None,
        }
