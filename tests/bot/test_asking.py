"""What a request comes down to once the rules are known."""

from __future__ import annotations

import pytest

from bot.asking import ISSUE_PROMPT, PULL_PROMPT, REVIEW_PROMPT, Silence, about, by_review, effective, same_ask
from bot.repo_rules import Rules
from bot.tasks import Anchor, Command, Options, Request, Verb
from bot.work import Pull
from tests.bot.requests import a_request

RULES = Rules(agents={"claude": ("m",)}, default_agent="claude", labels={"agent": "", "docs": "Write the docs"})
OURS = Pull(repository_id=1, number=7, thread=3, branch="agent/3-x", sha="a" * 40, task_id="x")


def request(**more: object) -> Request:
    return a_request(prompt="").model_copy(update=more)


@pytest.mark.parametrize("verb", [Verb.STATUS, Verb.RETRY])
def test_a_verb_and_a_prompt_are_what_they_are(verb: Verb) -> None:
    asked = a_request(verb=verb)
    assert effective(asked, RULES, None) is asked.command
    prompt = a_request(prompt="do it")
    assert effective(prompt, RULES, None) is prompt.command


@pytest.mark.parametrize(
    ("label", "is_pull", "prompt"),
    [("Agent", False, ISSUE_PROMPT), ("agent", True, PULL_PROMPT), ("DOCS", True, "Write the docs")],
)
def test_a_label_is_the_prompt_that_the_repository_gives_it(label: str, is_pull: bool, prompt: str) -> None:
    found = effective(request(trigger="label", label=label, is_pull_request=is_pull), RULES, None)
    assert isinstance(found, Command)
    assert found.prompt == prompt


def test_any_other_label_asks_for_nothing() -> None:
    assert effective(request(trigger="label", label="bug"), RULES, OURS) is Silence.LABEL


def test_changes_are_asked_for_on_a_pull_request_of_ours_alone() -> None:
    asked = request(trigger="review", review_id=4)
    assert effective(asked, RULES, None) is Silence.NOT_OURS
    found = effective(asked, RULES, OURS)
    assert isinstance(found, Command)
    assert found.prompt == REVIEW_PROMPT


def test_a_review_with_a_command_is_a_command() -> None:
    assert by_review(request(trigger="review"))
    assert not by_review(a_request(prompt="do it").model_copy(update={"trigger": "review"}))
    assert not by_review(a_request(verb=Verb.CANCEL).model_copy(update={"trigger": "review"}))
    assert not by_review(request(trigger="label"))


def test_what_is_repeated_keeps_its_place_and_nothing_else_of_it() -> None:
    origin = request(trigger="review", review_id=4, anchor=Anchor(path="f", root_id=1))
    again = a_request(verb=Verb.RETRY, sender=9)
    assert about(again, None) is again
    made = about(again, origin)
    assert (made.trigger, made.review_id, made.anchor) == ("review", 4, origin.anchor)
    assert (made.sender, made.created_at, made.comment_id) == (again.sender, again.created_at, again.comment_id)


def test_the_same_ask_is_the_same_work_however_it_is_spaced() -> None:
    one = Command(verb=Verb.RUN, prompt="fix  the\ntests")
    assert same_ask(one, Command(verb=Verb.RUN, prompt=" fix the tests "))
    assert not same_ask(one, Command(verb=Verb.RUN, prompt="fix the test"))
    assert not same_ask(one, one.model_copy(update={"options": Options(result="pr")}))
    assert not same_ask(None, one)
