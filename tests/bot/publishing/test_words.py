from __future__ import annotations

import pytest

from bot.publishing.plan import Why
from bot.publishing.words import aside_note, diff_note, refusal_note

DIFFS = {Why.ASKED, Why.NOT_DONE, Why.NO_CHANGE, Why.FORK, Why.PROTECTED, Why.UNPUBLISHABLE, Why.BINARIES, Why.ARCHIVED,
         Why.NO_BASE}  # fmt: skip


@pytest.mark.parametrize("why", Why)
def test_every_reason_has_its_sentence(why: Why) -> None:
    said = diff_note(why, (), "t1") if why in DIFFS else aside_note(why)
    assert bool(said) == (why not in {Why.ASKED, Why.NOT_DONE, Why.NO_CHANGE, Why.NONE})


def test_paths_are_listed_inert_and_counted() -> None:
    said = diff_note(Why.PROTECTED, tuple(f"`@octocat` {n}" for n in range(20)), "t1")
    assert "- `` `@octocat` 0 ``" in said
    assert said.endswith("- and 5 more")


def test_a_fork_is_told_how_to_take_it() -> None:
    assert "gofer patch t1 | git apply" in diff_note(Why.FORK, (), "t1")


@pytest.mark.parametrize(
    ("status", "words", "said"),
    [
        (422, "refusing to allow a GitHub App to update workflow `x` without `workflows` permission", "workflow files"),
        (422, "GH006: Protected branch update failed", "The branch is protected."),
        (422, "GH013: Repository rule violations", "A rule of the repository"),
        (403, "Repository was archived so is read-only.", "This repository is archived."),
        (403, "Unable to create comment because issue is locked.", "The conversation is locked."),
        (403, "Resource not accessible by integration", "lacks the permission"),
        (403, "This installation has been suspended", "suspended"),
        (404, "Not Found", "no access any more"),
        (422, "something new", "GitHub does not take it."),
    ],
)
def test_b74_every_refusal_says_what_it_means_and_that_the_result_is_kept(status: int, words: str, said: str) -> None:
    made = refusal_note(status, words, "/agent")
    assert said in made
    assert "`/agent retry` tries again" in made
