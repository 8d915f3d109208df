"""An earlier result in a fresh checkout: what the agent's git shows of it, and what does not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox.inside import earlier, extract, fetch, manifest
from sandbox.inside.bounds import Deadline
from tests.sandbox.inside.applied import listing
from tests.sandbox.inside.bases import PLAIN, bundle, git, make

PATIENCE = 120


def laid(folder: Path, patch: bytes) -> tuple[fetch.Fetched, Path, Path]:
    """A fetch of the plain repository with an earlier result."""
    workspace, clean = folder / "ws", folder / "clean"
    (workspace / "repo").mkdir(parents=True)
    (clean / "data").mkdir(parents=True)
    (folder / "bundle").write_bytes(bundle("plain"))
    (folder / "patch").write_bytes(patch)
    wanted = fetch.Wanted("", None, None, "", PATIENCE, folder / "bundle", patch=folder / "patch")
    return fetch.fetch(wanted, workspace, clean, Deadline.after(PATIENCE)), workspace / "repo", clean / "data"


@pytest.fixture
def patch(tmp_path: Path) -> bytes:
    """A file of each kind: edited, new, new and executable, gone, binary, a link."""
    work = tmp_path / "work"
    work.mkdir()
    make(work, "plain")
    git(work, "checkout", "-q", "-f", "main")
    (work / "README.md").write_text("# Plain\n\nWorked on.\n")
    (work / "new.txt").write_text("new\n")
    (work / "go").write_text("#!/bin/sh\n")
    (work / "go").chmod(0o755)
    (work / "docs" / "guide.md").unlink()
    (work / "logo.png").write_bytes(bytes(range(256)))
    (work / "hop").symlink_to("README.md")
    git(work, "add", "-A")
    return git(work, "diff", "--cached", "--binary", "--full-index", "--no-renames")


def test_the_earlier_work_is_what_is_not_committed_yet(tmp_path: Path, patch: bytes) -> None:
    done, repo, data = laid(tmp_path, patch)
    assert (repo / "new.txt").read_text() == "new\n"
    assert not (repo / "docs" / "guide.md").exists()
    assert git(repo, "rev-parse", "HEAD").decode().strip() == done.base_commit
    assert git(repo, "diff", "--cached", "--stat", "--ita-invisible-in-index") == b""
    assert git(repo, "diff", "--binary", "--full-index", "--no-renames") == patch
    assert json.loads((data / "base.json").read_text())["base_commit"] == done.base_commit


def test_the_manifest_stays_that_of_the_commit_so_that_the_final_diff_is_cumulative(
    tmp_path: Path, patch: bytes
) -> None:
    _, repo, data = laid(tmp_path, patch)
    assert manifest.read(data / "manifest").keys() == {*PLAIN, b"tool.sh", b"link"}
    (repo / "more.txt").write_text("more\n")
    (repo / "new.txt").write_text("changed again\n")
    for side in (tmp_path / "ws", tmp_path / "clean"):
        (side / "id").write_text("0123456789abcdef")
    (tmp_path / "x").mkdir()
    limits = extract.Limits(1 << 20, 100)
    found = extract.extract(tmp_path / "ws", tmp_path / "clean", tmp_path / "x", limits, Deadline.after(PATIENCE))
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    make(fresh, "plain")
    git(fresh, "checkout", "-q", "-f", "main")
    git(fresh, "apply", "--whitespace=nowarn", "-", stdin=found.patch or b"")
    assert listing(fresh) == listing(repo)


def test_an_empty_result_changes_nothing(tmp_path: Path) -> None:
    _, repo, _ = laid(tmp_path, b"")
    assert git(repo, "status", "--porcelain") == b""


HUNK = b"--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,3 @@\n-# Other\n+# Mine\n \n A repository.\n"
GONE = b"diff --git a/nowhere b/nowhere\ndeleted file mode 100644\n--- a/nowhere\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
THERE = b"diff --git a/empty b/empty\nnew file mode 100644\n--- /dev/null\n+++ b/empty\n@@ -0,0 +1 @@\n+x\n"
OUT = b"diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n"
GIT = b"diff --git a/.git/x b/.git/x\nnew file mode 100644\n--- /dev/null\n+++ b/.git/x\n@@ -0,0 +1 @@\n+x\n"
THROUGH = (
    b"diff --git a/way b/way\nnew file mode 120000\n--- /dev/null\n+++ b/way\n@@ -0,0 +1 @@\n+/tmp\n"
    b"\\ No newline at end of file\n"
    b"diff --git a/way/x b/way/x\nnew file mode 100644\n--- /dev/null\n+++ b/way/x\n@@ -0,0 +1 @@\n+x\n"
)


@pytest.mark.parametrize(
    "patch",
    [HUNK, GONE, THERE, OUT, GIT, THROUGH, b"no patch at all\n"],
    ids=["another text", "gone", "there", "out of it", "into .git", "through a link", "no patch"],
)
def test_what_does_not_fit_is_told_in_words_and_nothing_of_it_is_laid(tmp_path: Path, patch: bytes) -> None:
    good = b"diff --git a/first b/first\nnew file mode 100644\n--- /dev/null\n+++ b/first\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(earlier.Unfit, match="no longer fits the commit that the task starts from") as raised:
        laid(tmp_path, (good if patch[:2] != b"no" else b"") + patch)
    assert not (tmp_path / "ws" / "repo" / "first").exists()
    assert not (tmp_path / "ws" / "x").exists()
    assert "\n" not in str(raised.value)


def test_hooks_and_filters_that_the_patch_brings_do_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "PWNED"
    patch = (
        b"diff --git a/.gitattributes b/.gitattributes\nnew file mode 100644\n--- /dev/null\n+++ b/.gitattributes\n"
        b"@@ -0,0 +1 @@\n+* text eol=crlf filter=evil\n"
        b"diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n"
        b"diff --git a/.githooks/post-index-change b/.githooks/post-index-change\nnew file mode 100755\n"
        b"--- /dev/null\n+++ b/.githooks/post-index-change\n@@ -0,0 +1,2 @@\n+#!/bin/sh\n+touch " + bytes(mark) + b"\n"
    )
    _, repo, _ = laid(tmp_path, patch)
    assert (repo / "a.txt").exists()
    assert not mark.exists()
