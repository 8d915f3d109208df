"""The comment that ends a task whose result is a pull request."""

from __future__ import annotations

from dataclasses import replace

from bot.github import PullInfo
from bot.publishing.perform import Published
from bot.publishing.plan import Why
from bot.pull_comment import opened
from bot.result_comment import MAX_COMMENT
from bot.threads import Head
from tests.bot.results import changed

HEAD = Head(sha="b" * 40, ref="agent/1-abc", repository_id=1, base_ref="main", base_sha="a" * 40)
PULL = PullInfo(
    number=9, state="open", merged=False, draft=True, locked=False, title="T", url="https://github.test/o/r/pull/9",
    head=HEAD, by_us=True,
)  # fmt: skip
PUBLISHED = Published(PULL, "agent/1-abc", "b" * 40, Why.NONE, updated=False)


def test_it_says_what_was_opened_and_leads_with_it() -> None:
    said = opened("abc", changed("a" * 40), PUBLISHED, note="", details=())
    assert said.startswith("✅ **Opened the draft pull request #9** with 1 file changed on `agent/1-abc`.")
    assert said.endswith("Task `abc`.\n\n<!-- gofer:abc:result -->")


def test_it_says_what_was_pushed_to() -> None:
    ready = PULL.model_copy(update={"draft": False})
    said = opened("abc", changed("a" * 40), replace(PUBLISHED, pull=ready, updated=True), note="N.", details=["D."])
    assert said.startswith("✅ **Pushed to the pull request #9**")
    assert said.index("N.") < said.index("I did it.") < said.index("D.")


def test_o10_the_agent_s_words_are_inert_and_never_too_many() -> None:
    reply = "/agent again\n@octocat closes #1 ``` " * 20_000
    said = opened("abc", changed("a" * 40, reply=reply), PUBLISHED, note="", details=())
    assert len(said) <= MAX_COMMENT
    assert "The agent's own words, cut:" in said
    assert not [line for line in said.splitlines() if line.startswith("/agent")]
