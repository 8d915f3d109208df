from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from bot.tasks import Actor, Change, Command, Mistake, Request, Slip, Verb
from bot.triggers import Context, Ignored
from bot.triggers.issue_comment import parse
from tests.bot.deliveries import APP_ID, holed, paths, sample

CONTEXT = Context(delivery_id="d-1", word="/agent", app_id=APP_ID)


def read(**changes: Any) -> Request | Change | Ignored:
    """The sample, with values put at ``comment__body`` and the like."""
    payload = sample()
    for path, value in changes.items():
        payload = holed(payload, tuple(path.split("__")), value)
    return parse(payload, CONTEXT)


def reason(**changes: Any) -> str:
    found = read(**changes)
    assert isinstance(found, Ignored)
    return found.reason


def test_everything_that_is_read_is_read() -> None:
    found = read()
    assert isinstance(found, Request)
    assert found.model_dump(exclude={"content_key", "command"}, exclude_defaults=True) == {
        "delivery_id": "d-1",
        "event": "issue_comment",
        "installation_id": 1,
        "title": "Spelling error in the README file",
        "repository": {
            "id": 186853002,
            "owner": "Codertocat",
            "name": "Hello-World",
            "private": False,
            "default_branch": "master",
        },
        "thread": 1,
        "is_pull_request": False,
        "comment_id": found.comment_id,
        "sender": {"id": 21031067, "login": "Codertocat", "type": "User"},
        "created_at": found.created_at,
    }
    assert found.command == Command(verb=Verb.RUN, prompt="fix the spelling error in the README")
    assert found.created_at < datetime.now(UTC)


def test_the_content_key_is_the_same_for_the_same_words_in_the_same_comment_only() -> None:
    keys = [
        found.content_key
        for found in (read(), read(), read(comment__id=5), read(comment__body="/agent x"), read(repository__id=5))
        if isinstance(found, Request)
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4


def test_a_comment_on_a_pull_request_is_marked() -> None:
    found = parse(sample("issue_comment.created.pull_request"), CONTEXT)
    assert isinstance(found, Request)
    assert found.is_pull_request


def test_b8_a_deleted_comment_is_not_read() -> None:
    found = parse(sample("issue_comment.deleted"), CONTEXT)
    assert isinstance(found, Change)
    assert (found.what, found.thread, found.comment_id) == ("comment_deleted", 1, 492700400)


def edited(before: str, after: str, **changes: Any) -> Request | Change | Ignored:
    """The sample of an edit: /agnet mended to /agent a second later."""
    payload = sample("issue_comment.edited")
    for path, value in ({"changes__body__from": before, "comment__body": after} | changes).items():
        payload = holed(payload, tuple(path.split("__")), value)
    return parse(payload, CONTEXT)


@pytest.mark.parametrize(
    "before", ["/agnet fix it", "", "please (/agent fix it)", "> /agent fix it", "/agent --pull fix it"]
)
def test_b7_a_typo_that_its_author_mends_is_run(before: str) -> None:
    found = edited(before, "/agent fix it")
    assert isinstance(found, Request)
    assert found.command == Command(verb=Verb.RUN, prompt="fix it")


@pytest.mark.parametrize("before", ["/agent fix it", "/agent fix it,", "/agent something else", "/AGENT help"])
def test_b7_a_command_that_was_there_before_is_not_run_again(before: str) -> None:
    assert edited(before, "/agent fix it") == Ignored("a command was there before the edit")


def test_b7_an_edit_of_another_field_is_nothing() -> None:
    payload = holed(sample("issue_comment.edited"), ("changes",), {})
    assert parse(payload, CONTEXT) == Ignored("the text was not changed")


def test_b7_an_edit_that_makes_a_mistake_is_not_answered() -> None:
    assert edited("hello", "please (/agent fix it)") == Ignored("a mistake is told once")


def test_a07_a_comment_that_somebody_else_edits_is_not_its_authors_command() -> None:
    other = {"id": 7, "login": "mallory", "type": "User"}
    assert edited("hello", "/agent fix it", sender=other) == Ignored("sent by another than its author")


@pytest.mark.parametrize(("written", "runs"), [("14:20:22", True), ("14:20:21", False)])
def test_a07_an_old_comment_does_not_become_a_command(written: str, runs: bool) -> None:
    found = edited("hello", "/agent fix it", comment__created_at=f"2019-05-15T{written}Z")
    assert isinstance(found, Request) is runs
    if not runs:
        assert found == Ignored("changed more than an hour after it was written")


@pytest.mark.parametrize("kind", ["Bot", "Organization", "Mannequin", "", "user"])
def test_a04_b32_only_a_user_asks(kind: str) -> None:
    assert reason(sender__type=kind) == "not written by a person"
    assert reason(comment__user__type=kind) == "not written by a person"
    assert reason(sender__type=kind, comment__user__type=kind) == "not written by a person"


def test_b32_a_login_with_bot_in_it_is_read_by_its_type() -> None:
    bot = {"id": 9, "login": "evil[bot]", "type": "Bot"}
    assert reason(sender=bot, comment__user=bot) == "not written by a person"
    user = {"id": 9, "login": "abbot", "type": "User"}
    found = read(sender=user, comment__user=user)
    assert isinstance(found, Request)
    assert found.sender == Actor(id=9, login="abbot", type="User")


@pytest.mark.parametrize("app", [{"id": int(APP_ID)}, {"id": 5, "client_id": APP_ID}])
def test_a05_a_comment_by_our_own_app_is_ignored_even_for_a_user(app: dict[str, Any]) -> None:
    assert reason(comment__performed_via_github_app=app) == "our own comment"


def test_a_comment_that_another_app_made_for_a_user_is_his() -> None:
    assert isinstance(read(comment__performed_via_github_app={"id": 5, "client_id": "Iv1.x"}), Request)


def test_sent_by_another_than_its_author_is_ignored() -> None:
    assert reason(sender__id=5) == "sent by another than its author"


def test_b85_a_deleted_account_asks_for_nothing() -> None:
    assert reason(comment__user=None) == "its author has no account any more"
    assert reason(sender=None) == "its author has no account any more"


def test_b10_a_comment_without_a_body_is_no_command() -> None:
    assert reason(comment__body=None) == "no command"
    assert reason(comment__body=...) == "no command"


def test_without_an_installation_there_is_nobody_to_act_for() -> None:
    assert reason(installation=...) == "not sent for an installation of the app"


def test_b1_a_mistake_is_a_request_for_help_that_knows_it() -> None:
    found = read(comment__body="please (/agent fix it)")
    assert isinstance(found, Request)
    assert found.command == Command(verb=Verb.HELP)
    assert found.mistake == Mistake(slip=Slip.PLACE, found="/agent fix it)")


def test_b28_the_association_in_the_payload_is_not_read() -> None:
    assert read(comment__author_association="NONE") == read(comment__author_association="OWNER") == read()


def test_a08_the_words_are_those_of_the_signed_payload() -> None:
    found = read(comment__body="/agent do A", comment__updated_at="2030-01-01T00:00:00Z", issue__body="/agent do B")
    assert isinstance(found, Request)
    assert found.command.prompt == "do A"


def test_b25_what_cannot_be_stored_is_left_out() -> None:
    found = read(comment__body="/agent a\0b\ud800c", repository__default_branch="ma\0in")
    assert isinstance(found, Request)
    assert found.command.prompt == "abc"
    assert found.repository.default_branch == "main"
    assert Request.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize("name", ["..%2f", "a b", "a/b", "", "x" * 101, "é", "a\n", "-\0"])
def test_a_name_that_no_repository_can_have_is_no_payload(name: str) -> None:
    for place in ("repository__name", "repository__owner__login", "sender__login"):
        with pytest.raises(ValidationError):
            read(**{place: name})


@pytest.mark.parametrize("number", [0, -1, 2**63, 2**70, 1.0, "1", True, None])
@pytest.mark.parametrize("place", ["comment__id", "repository__id", "issue__number", "sender__id", "installation__id"])
def test_w17_a_number_that_no_column_takes_is_no_payload(place: str, number: object) -> None:
    with pytest.raises(ValidationError):
        read(**{place: number})


# A value of every other kind, with numbers that no database column takes.
@pytest.mark.parametrize("put", [..., None, "x", "\ud800\0", -1, 2**70, 1.5, True, [], {}, [{}]], ids=repr)
@pytest.mark.parametrize(
    "name", ["issue_comment.created", "issue_comment.created.pull_request", "issue_comment.edited"]
)
def test_w17_no_change_of_a_payload_raises_anything_but_that_it_is_none(name: str, put: Any) -> None:
    payload = sample(name)
    for path in paths(payload):
        try:
            found = parse(holed(payload, path, put), CONTEXT)
        except ValidationError:
            continue
        if isinstance(found, Request):
            assert json.loads(found.model_dump_json())["event"] == "issue_comment"


@pytest.mark.parametrize("payload", [None, [], "x", 0, {}, {"action": 1}, {"action": "created"}, [[]]])
def test_w17_no_other_top_level_raises_anything_else(payload: object) -> None:
    with pytest.raises(ValidationError):
        parse(payload, CONTEXT)
