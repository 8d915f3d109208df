"""A prompt on its way in: what it comes down to, and why it may not begin."""

from __future__ import annotations

import dataclasses

import pytest

from bot.allowance import Allowance
from bot.demo.github import Issue
from tests.bot.stage import Stage
from tests.bot.steps.test_publish import opened
from tests.bot.steps.test_verbs import seen, working


async def test_b14_the_same_ask_while_it_runs_is_answered_with_a_link(talk: Stage) -> None:
    await working(talk, "/agent fix tests")
    await talk.say("/agent  fix   tests")
    said = await seen(talk, "Not started twice")
    first = (await talk.tasks())[0]
    assert f"#issuecomment-{first.status_comment_id}" in said
    assert len(talk.jobs) == 1


async def test_b14_the_same_ask_at_the_same_moment_begins_once(talk: Stage) -> None:
    talk.sandbox.automatic = None
    await talk.say("/agent fix tests")
    await talk.say("/agent fix tests")
    await talk.until(lambda: talk.sandbox.counts()["wait"] == 1)
    await seen(talk, "Not started twice")
    assert len(talk.jobs) == 1


async def test_the_same_words_on_other_lines_ask_for_something_else(talk: Stage) -> None:
    issue = await talk.local.open_pull(talk.repository, {"f": b"new\n"}, user="alice")
    await talk.local.review_comment(talk.repository, issue, "alice", "/agent fix this", path="f", line=1)
    await talk.local.review_comment(talk.repository, issue, "alice", "/agent fix this", path="f", line=2)
    await talk.settle()
    assert len(talk.jobs) == 2


async def test_b110_what_is_said_between_two_commands_takes_none_of_them_away(talk: Stage) -> None:
    await talk.say("/agent do A")
    await talk.say("thanks!")
    await talk.say("/agent do B")
    await talk.settle()
    assert [task.ending for task in await talk.tasks()] == ["changed", "changed"]
    first, second = (job.prompt for job in talk.jobs)
    assert ("do A" in first, "thanks!" in first, "do B" in first) == (True, False, False)
    assert ("do B" in second, "thanks!" in second) == (True, True)


async def test_b7_a_command_that_an_edit_brings_runs_once(talk: Stage) -> None:
    comment = await talk.say("/agnet fix it")
    await talk.local.edit(talk.repository, talk.issue, comment, "/agent fix it")
    await talk.settle()
    await talk.local.edit(talk.repository, talk.issue, comment, "/agent fix it,")
    await talk.settle()
    assert len(talk.jobs) == 1


async def test_further_commands_of_a_comment_are_named(talk: Stage) -> None:
    await talk.say("/agent fix it\n/agent pr\n\n/agent and @more")
    await talk.settle()
    assert len(talk.jobs) == 1
    assert "not carried out were `/agent pr`, `/agent and @more`" in talk.said[0]


async def test_further_commands_after_a_verb_are_named_too(talk: Stage) -> None:
    await talk.say("/agent status\n/agent pr")
    await talk.settle()
    assert "not carried out was `/agent pr`" in talk.said[0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--agent clade fix it", "Nearest: `claude`"),
        ("--budget=9999m fix it", "The budget is more than there is"),
        ("--base nowhere fix it", "There is no branch `nowhere`"),
    ],
)
async def test_what_is_not_to_be_had_is_told_in_one_short_answer(talk: Stage, words: str, told: str) -> None:
    comment = await talk.say(f"/agent {words}")
    await talk.settle()
    assert told in talk.said[0]
    assert "confused" in talk.reactions(comment)
    assert talk.jobs == []


async def test_a_base_that_is_there_is_checked_out_and_what_the_pull_request_is_for(talk: Stage) -> None:
    talk.local.commit(talk.repository, {"f": b"old\n", "v1": b"\n"}, branch="v1")
    await talk.say("/agent --pr --base v1 fix it")
    await talk.settle()
    source = talk.jobs[0].source
    assert source is not None
    assert source.ref == "refs/heads/v1"
    (issue,) = talk.pulls()
    assert issue.pull is not None
    assert issue.pull.base_ref == "v1"
    assert "Closes" not in issue.body


async def test_a_pull_request_has_its_own_base(talk: Stage) -> None:
    issue = await talk.local.open_pull(talk.repository, {"f": b"new\n"}, user="alice")
    talk.local.commit(talk.repository, {"f": b"old\n"}, branch="v1")
    await talk.say("/agent --base v1 fix it", issue=issue)
    await talk.settle()
    assert "leave `--base` out here" in talk.said_on(issue)[0]


# Labels.


async def test_a_label_starts_a_task_brings_a_pull_request_and_is_taken_off(talk: Stage) -> None:
    await talk.local.label(talk.repository, talk.issue, "agent", "alice")
    await talk.settle()
    assert talk.issue.labels == []
    assert "Do what this issue asks for" in talk.jobs[0].prompt
    assert len(talk.pulls()) == 1
    assert sum(e.operation == "issues/remove-label" for e in talk.local.log) == 1
    assert (await talk.the_task()).work.label_removed


async def test_b10_a_label_on_an_issue_without_a_description(talk: Stage) -> None:
    talk.issue.body = ""
    await talk.local.label(talk.repository, talk.issue, "agent", "alice")
    await talk.settle()
    assert (await talk.the_task()).ending == "changed"


async def test_b13_a_command_in_a_description_is_not_run_by_a_label_of_no_meaning(talk: Stage) -> None:
    talk.issue.body = "/agent do X"
    await talk.local.label(talk.repository, talk.issue, "bug", "alice")
    await talk.settle()
    assert (talk.jobs, talk.said, talk.issue.labels) == ([], [], ["bug"])


async def test_a_label_by_somebody_who_may_not_does_nothing_and_says_nothing(talk: Stage) -> None:
    await talk.local.label(talk.repository, talk.issue, "agent", "bob")
    await talk.settle()
    assert (talk.jobs, talk.said, talk.issue.labels) == ([], [], ["agent"])


async def test_the_repository_may_map_more_labels_to_prompts(talk: Stage) -> None:
    config = b"labels: {Docs: 'Write the docs', agent: ''}\n"
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": config})
    await talk.local.label(talk.repository, talk.issue, "docs", "alice")
    await talk.settle()
    assert "Write the docs" in talk.jobs[0].prompt


async def test_a_label_on_a_pull_request_from_a_fork_gives_a_diff(talk: Stage) -> None:
    fork = talk.local.add_repository("mallory", "repo", {"f": b"old\n"})
    issue = await talk.local.open_pull(talk.repository, {"f": b"fork\n"}, user="mallory", fork=fork)
    await talk.local.label(talk.repository, issue, "agent", "alice")
    await talk.settle()
    (said,) = talk.said_on(issue)
    assert "comes from a fork" in said
    assert "+# Hello!" in said
    assert issue.labels == []
    assert talk.pulls() == []


# Reviews.


async def reviewed(talk: Stage, issue: Issue, *comments: tuple[str, int, str], user: str = "alice") -> None:
    await talk.local.review(talk.repository, issue, user, comments=comments)
    await talk.settle()


async def test_changes_requested_on_our_pull_request_are_pushed_and_each_thread_is_answered(talk: Stage) -> None:
    issue, pull = await opened(talk)
    before = pull.sha
    talk.agent(reply="[1] renamed it\n[2] left as it is: @octocat wants it\nDone.")
    await reviewed(talk, issue, ("README.md", 1, "rename"), ("README.md", 1, "why?"), ("README.md", 1, "and this"))
    assert talk.head(pull.head_ref) != before
    answers = [one for one in pull.comments if one.by_app]
    assert len(answers) == 3
    assert "renamed it" in answers[0].body
    assert all(f"Pushed in `{talk.head(pull.head_ref)[:12]}`" in one.body for one in answers)
    assert "did not say what it did" in answers[2].body
    assert "`@octocat" not in answers[1].body
    assert len(talk.said_on(issue)) == 1


async def test_resolved_threads_are_left_alone(talk: Stage) -> None:
    issue, pull = await opened(talk)
    await talk.local.review_comment(talk.repository, issue, "alice", "settled long ago")
    talk.local.resolve(issue, pull.comments[0])
    await reviewed(talk, issue, ("README.md", 1, "rename"))
    assert "settled long ago" not in talk.jobs[-1].prompt
    assert [one.in_reply_to for one in pull.comments if one.by_app] == [pull.comments[1].id]


async def test_a_review_by_somebody_who_may_not_or_of_somebody_else_s_pull_request_does_nothing(talk: Stage) -> None:
    issue, _ = await opened(talk)
    await reviewed(talk, issue, ("README.md", 1, "rename"), user="bob")
    theirs = await talk.local.open_pull(talk.repository, {"f": b"new\n"}, user="renovate[bot]")
    await reviewed(talk, theirs, ("f", 1, "rename"))
    assert len(talk.jobs) == 1
    assert (talk.said_on(issue), talk.said_on(theirs)) == ([], [])


async def test_after_so_many_rounds_it_stops_and_says_so(talk: Stage) -> None:
    issue, _ = await opened(talk)
    for number in range(5):
        await reviewed(talk, issue, ("README.md", 1, f"more {number}"))
    assert len(talk.jobs) == 1 + 3
    for said in talk.said_on(issue)[-2:]:
        assert "I have answered reviews of this pull request 3 times" in said


async def test_reviews_at_the_same_moment_are_rounds_each(talk: Stage) -> None:
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"rounds: 1\n"})
    issue, _ = await opened(talk)
    await talk.local.review(talk.repository, issue, "alice", body="one", comments=[("README.md", 1, "a")])
    await talk.local.review(talk.repository, issue, "alice", body="two", comments=[("README.md", 1, "b")])
    await talk.settle()
    assert len(talk.jobs) == 2
    assert any("I stop here" in body for body in talk.said_on(issue))


async def test_retry_of_a_review_answers_its_threads(talk: Stage) -> None:
    issue, pull = await opened(talk)
    does = talk.sandbox.does
    talk.sandbox.does = None
    talk.sandbox.automatic = talk.sandbox.automatic and talk.sandbox.automatic.model_copy(update={"changes": None})
    await reviewed(talk, issue, ("README.md", 1, "rename"))
    assert "Nothing was pushed" in [one.body for one in pull.comments if one.by_app][-1]
    talk.sandbox.does = does
    await talk.say("/agent retry", issue=issue)
    await talk.settle()
    assert "Conversation 1" in talk.jobs[-1].prompt
    assert "Pushed in" in [one.body for one in pull.comments if one.by_app][-1]


# Limits and rules.


async def test_who_asks_too_often_is_told_when_to_try_again(talk: Stage) -> None:
    rules = talk.runner.world.rules
    allowance = Allowance(person=2, repository=9, everybody=9)
    talk.runner.world = dataclasses.replace(talk.runner.world, rules=dataclasses.replace(rules, allowance=allowance))
    for word in ("a", "b", "c"):
        await talk.say(f"/agent do {word}")
        await talk.settle()
        talk.clock.time += 60
    assert len(talk.jobs) == 2
    assert "You have asked 2 times in one hour. Try again at" in talk.said[-1]
    talk.clock.time += 3600 - 120
    await talk.say("/agent do d")
    await talk.settle()
    assert len(talk.jobs) == 3


async def test_a_repository_may_say_who_asks(talk: Stage) -> None:
    talk.local.set_role(talk.repository, "carol", "write")
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"ask: {users: [Carol]}\n"})
    comment = await talk.say("/agent fix it")
    await talk.say("/agent fix it", user="carol")
    await talk.settle()
    assert talk.reactions(comment) == ["-1"]
    assert len(talk.jobs) == 1


async def test_a_mistake_in_the_repository_s_file_is_told_and_nothing_runs(talk: Stage) -> None:
    talk.local.commit(talk.repository, {"f": b"old\n", ".github/gofer.yml": b"protected: ['@octocat']\n"})
    await talk.say("/agent fix it")
    await talk.local.label(talk.repository, talk.issue, "bug", "alice")
    await talk.settle()
    (said,) = talk.said
    assert "there is no such key; nearest: protected_paths" in said
    assert talk.jobs == []
