"""Kinds of events that may ask for something: one file each, one line in ``TRIGGERS``, the event in app.yml.

- issue_comment: a command in a new comment (or one mended within the hour) on an issue or pull request
- pull_request_review_comment: the same in a comment on lines of a pull request; the place goes to the agent
- pull_request_review: the same in a review; or "changes requested" on a pull request of this bot
- issues, pull_request: a label that the repository names (`agent` unless it says otherwise)
- check_run: "Re-run", "Cancel" and "Run again" on a check of ours
- deleted comments, locked and deleted issues, repository, installation: end the tasks that they are about

A trigger turns a webhook's parsed JSON into a ``Request`` or a ``Change``, or says why it is neither. No webhook dict
travels further.
"""

from __future__ import annotations

from bot.triggers import check_run, issue_comment, labels, lifecycle, review, review_comment
from bot.triggers.shape import Context, Ignored, Trigger

__all__ = ["ALWAYS_SENT", "TRIGGERS", "Context", "Ignored", "Trigger"]

TRIGGERS: dict[str, Trigger] = {
    "check_run": check_run.parse,
    "installation": lifecycle.installation,
    "installation_repositories": lifecycle.installation_repositories,
    "issue_comment": issue_comment.parse,
    "issues": labels.issues,
    "pull_request": labels.pull_request,
    "pull_request_review": review.parse,
    "pull_request_review_comment": review_comment.parse,
    "repository": lifecycle.repository,
}
"""GitHub's event to the function that reads it. Every other event is acknowledged and dropped."""

ALWAYS_SENT = frozenset({"installation", "installation_repositories"})
"""Every App gets these: they cannot be asked for in its manifest."""
