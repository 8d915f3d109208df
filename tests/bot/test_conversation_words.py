"""What is answered to commands that run nothing. The sentences themselves are in the snapshots."""

from __future__ import annotations

from markdown_it import MarkdownIt

from bot import conversation_words as words
from bot.conversation_words import MAX_TASKS, Line


def test_status_lists_so_many_and_counts_the_rest() -> None:
    lines = [Line(f"t{n}", "waiting", "p", 1.0) for n in range(MAX_TASKS + 3)]
    said = words.status(lines)
    assert said.count("waiting for") == MAX_TASKS
    assert said.endswith("- and 3 more")


def test_o01_prompts_and_commands_of_people_are_shown_inert_and_on_one_line() -> None:
    prompt = "a\n/agent b\n@octocat `x` " + "c" * 500
    for said in (words.status([Line("t", "working", prompt, 1.0)]), words.ignored([prompt]), words.no_branch(prompt)):
        assert not [line for line in said.splitlines() if line.strip().startswith("/agent")]
        assert len(said) < 500


def test_a_mistake_in_the_file_is_quoted_so_that_nothing_in_it_is_live() -> None:
    said = words.config_mistake(".github/gofer.yml", "labels.@octocat: no\n/agent x\n```\n<!-- ")
    assert "\n/agent" not in said
    assert MarkdownIt().parse(said)[-1].type == "fence"


def test_nothing_to_say_is_nothing() -> None:
    assert (words.left_out(()), words.ignored(()), words.worked_on("now", "a" * 40)) == ("", "", "")


def sentences() -> dict[str, str]:
    """Name to text, one for each file of the snapshots."""
    line = Line("0123456789", "working", "fix the `typo`\nin @octocat's file", 75, "https://github.test/o/r/issues/1#x")
    return {
        "status": words.status([line, Line("9876543210", "waiting", "then more", 3)]),
        "status-nothing": words.status([]),
        "cancelling-nothing": words.cancelling(0),
        "cancelling-one": words.cancelling(1),
        "cancelling-many": words.cancelling(3),
        "nothing-to-repeat": words.nothing_to_repeat(),
        "nothing-to-show": words.nothing_to_show(),
        "already": words.already("https://github.test/o/r/issues/1#x", "0123456789"),
        "already-there": words.already_there(12),
        "too-many": words.too_many(1234, "14:05 UTC", "You have asked 20 times"),
        "not-allowed": words.not_allowed("There is no agent `clade` here. Nearest: `claude`; all: `claude`."),
        "no-branch": words.not_allowed(words.no_branch("nowhere")),
        "base-of-pull": words.not_allowed(words.BASE_OF_PULL),
        "config-mistake": words.config_mistake(".github/gofer.yml", "protected: there is no such key"),
        "rounds-over": words.rounds_over(3),
        "rounds-over-once": words.rounds_over(1),
        "permission-lost": words.permission_lost("alice", "/agent"),
        "made-public": words.MADE_PUBLIC,
        "went-on-from": words.went_on_from("0123456789"),
        "began-without": words.began_without("0123456789"),
        "ci-held": words.ci_held(12, "a1b2c3d4e5f6" + "0" * 28),
        "moved-too-often": words.moved_too_often(),
        "worked-on-earlier": words.worked_on("earlier", "a1b2c3d4e5f6" + "0" * 28),
        "worked-on-undated": words.worked_on("undated", "a1b2c3d4e5f6" + "0" * 28),
        "left-out": words.left_out(["2× a comment by a program", "the title changed after the request"]),
        "ignored-one": words.ignored(["/agent pr"]),
        "ignored-many": words.ignored(["/agent pr", "/agent and @more"]),
    }
