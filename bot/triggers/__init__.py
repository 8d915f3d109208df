"""Kinds of events that may ask for something: one file each, one line in ``TRIGGERS``, the event in app.yml.

A trigger turns a webhook's parsed JSON into a ``Request``, or says why it is none. No webhook dict travels further.
"""

from __future__ import annotations

from bot.triggers import issue_comment
from bot.triggers.shape import Context, Ignored, Trigger

__all__ = ["TRIGGERS", "Context", "Ignored", "Trigger"]

TRIGGERS: dict[str, Trigger] = {
    "issue_comment": issue_comment.parse,
}
"""GitHub's event to the function that reads it. Every other event is acknowledged and dropped."""
