from __future__ import annotations

from typing import Any

import pytest

from bot.tasks import Anchor, Command, Verb
from bot.triggers.review_comment import parse
from tests.bot.triggers import reading

CREATED, EDITED = "pull_request_review_comment.created", "pull_request_review_comment.edited"


def asked(**changes: Any) -> Any:
    return reading.asked(parse, CREATED, **changes)


def test_the_place_goes_along_and_the_head_of_that_moment() -> None:
    found = asked(comment__line=3, comment__start_line=1, comment__side="RIGHT")
    assert found.command == Command(verb=Verb.RUN, prompt="fix it")
    assert (found.trigger, found.is_pull_request, found.thread) == ("review_comment", True, 2)
    assert found.head_sha == "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
    assert found.anchor == Anchor(
        path="README.md", line=3, start_line=1, side="RIGHT", hunk="@@ -1 +1 @@\n-# Hello-World", root_id=284312630
    )


def test_a_reply_stands_in_the_thread_of_the_first_comment() -> None:
    found = asked(comment__in_reply_to_id=5)
    assert (found.anchor.root_id, found.comment_id) == (5, 284312630)


def test_an_outdated_comment_has_no_line() -> None:
    assert asked().anchor.line is None  # the sample has none at all
    assert asked(comment__line=None).anchor.line is None


def test_b25_a_nul_in_a_hunk_is_left_out() -> None:
    assert asked(comment__diff_hunk="a\0b").anchor.hunk == "ab"


def test_b7_a_typo_that_its_author_mends_is_run() -> None:
    at = {"comment__created_at": "2026-01-01T00:00:00Z", "comment__updated_at": "2026-01-01T00:10:00Z"}
    assert reading.asked(parse, EDITED, **at).command == Command(verb=Verb.RUN, prompt="fix it")
    late = at | {"comment__updated_at": "2026-01-01T02:00:00Z"}
    assert reading.reason(parse, EDITED, **late) == "changed more than an hour after it was written"
    before = {"changes__body__from": "/agent do it"}
    assert reading.reason(parse, EDITED, **at, **before) == "a command was there before the edit"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"comment__body": "thanks"}, "no command"),
        ({"comment__body": None}, "no command"),
        ({"action": "deleted"}, "nothing is done on this action"),
        ({"comment__user": None}, "its author has no account any more"),
        ({"sender__type": "Bot"}, "not written by a person"),
        ({"sender__id": 5}, "sent by another than its author"),
        ({"installation": ...}, "not sent for an installation of the app"),
        ({"comment__performed_via_github_app": {"id": 4711}}, "our own comment"),
    ],
)
def test_a04_a05_b32_what_is_no_request(changes: dict[str, Any], reason: str) -> None:
    assert reading.reason(parse, CREATED, **changes) == reason


def test_the_content_key_is_the_comments_and_its_words() -> None:
    keys = {asked().content_key, asked(comment__id=5).content_key, asked(comment__body="/agent x").content_key}
    assert len(keys) == 3


@pytest.mark.parametrize("name", [CREATED, EDITED])
def test_w17_no_change_of_a_payload_raises_anything_but_that_it_is_none(name: str) -> None:
    reading.survives(parse, name)
