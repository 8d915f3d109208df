"""Every sentence that users read, held equal to snapshots/NAME.md.

After a change of words: ``python -m tests.bot.test_comments`` writes them anew; read the difference before committing.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from bot import commands, comments, conversation_words
from bot.permissions import SILENT, Refusal
from bot.pull_comment import opened
from bot.tasks import Mistake, Slip
from sandbox import Blocked, ChangedFile, Changes, Outcome, Progress, Reason, State, Usage
from tests.bot import test_conversation_words
from tests.bot.test_pull_comment import PUBLISHED

SNAPSHOTS = Path(__file__).parent / "snapshots"

FILES = (
    ChangedFile(path="README.md", status="modified", old_mode="100644", new_mode="100644", added=1, removed=1),
    ChangedFile(path="docs/new.md", status="added", new_mode="100644", added=2),
)
PATCH = b"""diff --git a/README.md b/README.md
index 1111111..2222222 100644
--- a/README.md
+++ b/README.md
@@ -1 +1 @@
-Helo
+Hello
diff --git a/docs/new.md b/docs/new.md
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/docs/new.md
@@ -0,0 +1,2 @@
+````
+</details>
"""
CHANGES = Changes(base_commit="a" * 40, patch=PATCH, files=FILES)
NOTHING = Changes(base_commit="a" * 40, patch=b"")
USAGE = Usage(turns=4, input_tokens=1_234, cached_input_tokens=56_789, output_tokens=321, cost_usd=0.0421)


def outcome(reason: Reason = Reason.OK, **more: object) -> Outcome:
    """An outcome in which everything is told that can be."""
    ends = {Reason.OK: State.SUCCEEDED, Reason.UNCHANGED: State.SUCCEEDED, Reason.LOST: State.LOST}
    state = ends.get(reason, State.FAILED)
    told = {"state": state, "reason": reason, "usage": USAGE, "changes": CHANGES, "duration_seconds": 125.4}
    return Outcome.model_validate(told | more)


def sentences() -> dict[str, str]:
    """Name to text, one for each file."""
    mistake = Mistake(slip=Slip.TYPO, found="hepl", nearest="help")
    found = {
        Slip.OPTION: "--pull",
        Slip.VALUE: "--budget lots",
        Slip.CONFLICT: "--diff",
        Slip.PLACE: "/agent fix it)",
        Slip.GLUED: ":",
    }
    of = {Slip.VALUE: "budget", Slip.OPTION: "pr"}
    progress = Progress(last_tool="Edit", last_file="src/a b.py", last_words="I will\nfix `this` for @octocat")
    return {
        "queued-next": comments.queued(1, 0),
        "queued-behind-one": comments.queued(2, 1),
        "queued-behind-many": comments.queued(1_001, 1_200),
        "fetching": comments.fetching(),
        "working": comments.working(75, progress),
        "working-on-nothing-yet": comments.working(3.4, Progress()),
        "working-tool-only": comments.working(3_725, Progress(last_tool="Bash")),
        "help": comments.help_text(),
        "help-other-word": comments.help_text("/gofer"),
        "help-after-mistake": comments.help_text("/agent", mistake),
        **{f"refused-{reason}": comments.refused(reason) for reason in Refusal},
        **{
            f"mistake-{slip}": comments.mistake_text(
                Mistake(slip=slip, found=found.get(slip, ""), nearest=of.get(slip, ""))
            )
            for slip in Slip
        },
        "mistake-typo": comments.mistake_text(mistake),
        "failed-to-prepare-fetch": comments.failed_to_prepare(
            Reason.FETCH_FAILED, "remote: Repository not found.\nfatal: repository 'x' not found @octocat"
        ),
        "failed-to-prepare-disk": comments.failed_to_prepare(Reason.DISK_FULL, ""),
        "failed-to-prepare-cancelled": comments.failed_to_prepare(Reason.CANCELLED, ""),
        "failed-to-prepare-other": comments.failed_to_prepare(Reason.EGRESS_LOST, "the egress did not get ready"),
        "could-not-begin": comments.could_not_begin("The server stopped every time that it began this task."),
        "unreadable": comments.unreadable(),
        **{f"said-{name}": text for name, text in test_conversation_words.sentences().items()},
        "pull-opened": opened("t1", outcome(reply="Fixed."), PUBLISHED, note="", details=()),
        "pull-pushed": opened(
            "t1",
            outcome(reply="Fixed."),
            replace(PUBLISHED, updated=True),
            note=conversation_words.went_on_from("t0"),
            details=[conversation_words.ignored(["/agent pr"])],
        ),
        **results(),
    }


def results() -> dict[str, str]:
    """One for each ending, and one for each thing that may be said besides."""
    found = {
        "result-changed": outcome(reply="Fixed the typo.\nSee #1, @octocat.\n/agent do it again"),
        "result-unchanged": outcome(Reason.UNCHANGED, changes=NOTHING, reply="There is nothing to do."),
        "result-changed-without-a-word": outcome(
            Reason.NO_REPLY, state=State.SUCCEEDED, notes=("The agent ended without a final reply.",)
        ),
        "result-changes-refused": outcome(
            changes=Changes(base_commit="a" * 40, patch=None, refusal="a/.GIT/config would be written by git itself")
        ),
        "result-changes-unknown": outcome(changes=None, notes=("the work tree could not be read",)),
        "result-lost": outcome(Reason.LOST, changes=None, usage=Usage()),
        "result-lost-with-changes": outcome(Reason.LOST),
        **{
            f"result-{reason}": outcome(reason, error="API Error: 500 overloaded", exit_code=1, changes=NOTHING)
            for reason in Reason
            if reason not in {Reason.OK, Reason.LOST, Reason.UNCHANGED}
        },
        "result-timed-out-with-changes": outcome(Reason.DEADLINE),
        "result-everything": outcome(
            reply="Done.",
            blocked=(Blocked(host="evil.test", count=3), Blocked(host="a|b`@octocat", count=1)),
            notes=("an inner repository was taken as files",),
            changes=CHANGES.model_copy(
                update={
                    "patch": PATCH.replace(b"Hello", "H\u202eello\x1b[31m\r".encode()),
                    "ignored_count": 9_000,
                    "ignored_examples": (".venv/bin/python", "a`b"),
                    "notes": ("manifest and git disagree on x",),
                }
            ),
        ),
        "result-too-long": outcome(
            changes=CHANGES.model_copy(
                update={
                    "patch": b"diff --git a/huge.json b/huge.json\n@@ -0,0 +1 @@\n"
                    + b"+"
                    + b"x" * 70_000
                    + b"\n"
                    + PATCH
                }
            )
        ),
    }
    return {name: comments.result("t1", said) for name, said in found.items()}


@pytest.mark.parametrize(("name", "text"), sentences().items(), ids=sentences())
def test_the_sentence_is_the_one_that_was_read_and_agreed_to(name: str, text: str) -> None:
    assert text + "\n" == (SNAPSHOTS / f"{name}.md").read_text("utf-8")


def test_there_is_no_snapshot_of_a_sentence_that_is_not_said_any_more() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.md")} == set(sentences())


@pytest.mark.parametrize("text", sentences().values(), ids=sentences())
def test_a05_b8_nothing_that_we_say_is_a_command_for_us(text: str) -> None:
    assert commands.parse(text) is None
    assert commands.parse(text, "/gofer") is None


@pytest.mark.parametrize("text", sentences().values(), ids=sentences())
def test_o02_no_line_that_we_say_starts_with_a_command_for_anyone(text: str) -> None:
    assert not [line for line in text.splitlines() if line.lstrip().startswith(("/", "@o", "bors"))]


def test_every_refusal_that_is_told_says_what_to_do() -> None:
    for reason in set(Refusal) - SILENT:
        assert comments.refused(reason).startswith("🚫 **Not done.** ")


def test_the_marker_is_the_last_line_and_made_of_our_own_words() -> None:
    assert comments.marked("a", "t1", "status") == "a\n\n<!-- gofer:t1:status -->"
    for task_id, kind in (("a b", "x"), ("", "x"), ("a", "-->"), ("a", ""), ("a\n", "x")):
        with pytest.raises(ValueError, match="marker"):
            comments.marker(task_id, kind)


def test_what_a_mistake_brings_back_from_the_database_is_shown_inert() -> None:
    text = comments.mistake_text(Mistake(slip=Slip.TYPO, found="`@octocat` <img>", nearest="@octocat"))
    assert "@octocat" not in MarkdownIt().render(text).split("<code>")[0]
    assert "`` `@octocat` <img> ``" in text
    assert "`/agent help`" in text


def write() -> None:
    """All snapshots anew."""
    SNAPSHOTS.mkdir(exist_ok=True)
    for path in SNAPSHOTS.glob("*.md"):
        path.unlink()
    for name, text in sentences().items():
        (SNAPSHOTS / f"{name}.md").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    write()
