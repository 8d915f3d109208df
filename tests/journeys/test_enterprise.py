"""The whole life of a pull request on a GitHub Enterprise Server: another host, its API beside it, an authority of its
own. The clone goes there through the real way out, and nothing that is said leads anywhere else."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import docker
import pytest

from bot.demo.github import Issue
from bot.demo.github_git_objects import run
from tests.bot.expected import expected
from tests.engine import Images
from tests.journeys.talking import Talk, beginning

pytestmark = [pytest.mark.engine, pytest.mark.slow]

LINES = ("It says two now.", "I left this: it is right as it is.", "There is a license now.")
ANSWERS = "\n".join(f"[{number}] {line}" for number, line in enumerate(LINES, 1))
REVIEW = (("NOTES.md", 1, "Two, not one."), ("NOTES.md", 1, "Why notes?"), ("README.md", 1, "A license?"))


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
async def test_the_whole_life_of_a_pull_request_on_a_server_of_one_s_own(
    private: bool, docker_client: docker.DockerClient, images: Images, nothing_left_behind: str, tmp_path: Path
) -> None:
    begin = beginning(docker_client, images, nothing_left_behind, tmp_path)
    async with begin(enterprise=True) as talk:
        talk.repository.private = private
        pull = await opened(talk)
        await reviewed(talk, pull)
        assert pull.pull is not None
        await talk.github.review(talk.repository, pull, "mona", state="APPROVED", body="Good.")
        await talk.github.close(talk.repository, pull, merge=True)
        await talk.done(2)
        message = run(talk.repository.git_dir, "log", "-1", "--format=%B", pull.pull.sha).decode()
        assert f"@users.noreply.{urlsplit(talk.github.git_url).hostname}>" in message
        assert run(talk.repository.git_dir, "show", "main:NOTES.md") == b"two\n"
        nothing_leads_elsewhere(talk)
        assert [one for one in talk.github.log if one.operation == "git/git-upload-pack"]


async def opened(talk: Talk) -> Issue:
    talk.agent("I made a start.", "echo one >NOTES.md")
    await talk.github.comment(talk.repository, talk.issue, "mona", "/agent --pr write notes")
    task = await talk.done(1)
    (pull,) = talk.pulls()
    found = await expected(talk.server, task, pull)
    assert talk.reader.comment(talk.issue) == found.result
    assert talk.reader.description(pull) == found.description()
    return pull


async def reviewed(talk: Talk, pull: Issue) -> None:
    talk.agent(f"Done.\n{ANSWERS}", "cat NOTES.md; echo two >NOTES.md; echo free >LICENSE")
    await talk.github.review(talk.repository, pull, "mona", comments=REVIEW)
    task = await talk.done(2)
    assert pull.pull is not None
    found = await expected(talk.server, task, pull, updated=True)
    roots = [one.id for one in pull.pull.comments if not one.by_app]
    assert talk.reader.replies(pull) == {root: found.reply(root, line) for root, line in zip(roots, LINES, strict=True)}
    assert talk.reader.comment(pull) == found.result
    assert talk.reader.checks(talk.repository)[-1].words == found.check


def nothing_leads_elsewhere(talk: Talk) -> None:
    """Every link is to the server; its public namesake is named nowhere."""
    issues = talk.repository.issues.values()
    texts = [one.body for issue in issues for one in issue.comments if one.by_app]
    texts += [one.body for issue in issues if issue.pull for one in issue.pull.comments if one.by_app]
    texts += [issue.body for issue in talk.pulls()]
    assert texts
    links = [link for text in texts for link in re.findall(r"https?://[^\s)>\"]+", text)]
    assert {urlsplit(link).netloc for link in links} <= {urlsplit(talk.github.git_url).netloc}
    assert "github.com" not in "\n".join(texts)
