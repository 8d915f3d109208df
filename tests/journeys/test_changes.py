"""The table of changes: whatever an agent leaves in the work tree, the patch gives the same tree on the base, or the
refusal says why.

Every case is a bash script that plays the agent in a real container; fetch and extract are the real scripts with the
real capabilities. The judge is ``git apply`` on a fresh clone and a listing of raw bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from tests.engine import Images
from tests.sandbox.inside.applied import applied, clone, tree_of_contents, tree_of_patch
from tests.sandbox.inside.bases import git
from tests.sandbox.inside.lab import Case, Lab, Result

pytestmark = pytest.mark.engine


@dataclass(frozen=True)
class Row:
    """``changed``: paths as shown, with their status. ``left_out``: new paths that the patch must not hold."""

    script: str
    changed: dict[str, str]
    base: str = "plain"
    left_out: tuple[bytes, ...] = ()
    normalised: tuple[bytes, ...] = ()
    """Changed in what the base's attributes normalise alone: not in the patch, but noted."""
    expanded: tuple[bytes, ...] = ()
    """Checked out anew, Git writes the new blob's own id into it, which the agent's copy could not have."""
    note: str = ""


GIT = "git -c user.name=x -c user.email=x@example.com"
ROWS = {
    "new_file": Row("mkdir -p new/dir; echo hello > new/dir/file.txt", {"new/dir/file.txt": "added"}),
    "edited": Row(
        "echo four >> docs/guide.md; sed -i s/1/2/ src/app.py", {"docs/guide.md": "modified", "src/app.py": "modified"}
    ),
    "same_size_edit_with_forged_times": Row(
        "touch -r src/app.py /tmp/stamp; sed -i s/1/7/ src/app.py; touch -r /tmp/stamp src/app.py",
        {"src/app.py": "modified"},
    ),
    "times_in_the_future": Row(
        "touch -d 2099-01-01 src/app.py; sed -i s/1/3/ run.sh; echo e > run.sh; touch -d 2099-01-01 run.sh",
        {"run.sh": "modified"},
    ),
    "deleted": Row("rm docs/guide.md", {"docs/guide.md": "deleted"}),
    "renamed": Row("git mv README.md LIESMICH.md", {"README.md": "deleted", "LIESMICH.md": "added"}),
    "executable_bit_set": Row("chmod +x run.sh", {"run.sh": "modified"}),
    "executable_bit_cleared": Row("chmod -x tool.sh; echo more >> tool.sh", {"tool.sh": "modified"}),
    "new_executable": Row("printf '#!/bin/sh\\n' > go; chmod 755 go", {"go": "added"}),
    "symlink_new_and_retargeted": Row(
        "ln -s src/app.py new-link; ln -sfn docs link", {"new-link": "added", "link": "modified"}
    ),
    "symlink_out_of_the_repository": Row("ln -s /etc/passwd out", {"out": "added"}, note="lead out of the repository"),
    "symlink_replaced_by_file": Row("rm link; echo now a file > link", {"link": "modified"}),
    "file_replaced_by_symlink": Row("rm README.md; ln -s docs/guide.md README.md", {"README.md": "modified"}),
    "file_replaced_by_directory": Row(
        "rm empty; mkdir empty; echo x > empty/x", {"empty": "deleted", "empty/x": "added"}
    ),
    "directory_replaced_by_file": Row(
        "rm -r docs; echo x > docs", {"docs": "added", "docs/.gitignore": "deleted", "docs/guide.md": "deleted"}
    ),
    "directory_replaced_by_symlink": Row(
        "git mv src lib; ln -s lib src", {"lib/app.py": "added", "src/app.py": "deleted", "src": "added"}
    ),
    "b55_binary_by_content_not_by_name": Row(
        "head -c 3000 /dev/urandom > logo.png; printf 'GIF89a\\0\\0\\1' > icon.txt; rm no-newline",
        {"logo.png": "modified", "icon.txt": "added", "no-newline": "deleted"},
    ),
    "binary_deleted": Row("rm logo.png", {"logo.png": "deleted"}),
    "empty_file_new": Row("mkdir pkg; : > pkg/__init__.py", {"pkg/__init__.py": "added"}),
    "empty_file_filled_and_other_emptied": Row(
        "echo x > empty; : > README.md", {"empty": "modified", "README.md": "modified"}
    ),
    "no_newline_at_end": Row(
        "printf 'still none' > no-newline; printf x > other", {"no-newline": "modified", "other": "added"}
    ),
    "crlf": Row(
        "printf 'three\\r\\n' >> crlf.txt; printf 'a\\r\\nb\\n' > mixed.txt",
        {"crlf.txt": "modified", "mixed.txt": "added"},
    ),
    "crlf_throughout": Row("sed -i 's/$/\\r/' docs/guide.md", {"docs/guide.md": "modified"}),
    "lone_carriage_returns_and_controls": Row("printf 'a\\rb\\fc\\033[2Jd\\n' > odd.txt", {"odd.txt": "added"}),
    "b56_latin1_content": Row("printf 'gar\\347on\\n' >> latin1.txt", {"latin1.txt": "modified"}),
    "b56_names_that_are_no_utf8": Row(
        "printf 'x\\n' >> $'caf\\xe9.txt'; echo y > $'\\xff\\xfe'", {"caf\\xe9.txt": "modified", "\\xff\\xfe": "added"}
    ),
    "odd_names": Row(
        "echo 1 > 'with space.txt'; echo 2 > 'quo\"te'; echo 3 > $'new\\nline'; echo 4 > $'tab\\there'; "
        "echo 5 > 'back\\slash';"
        " echo 6 > -n; echo 7 > '--output=x'; echo 8 > ':(exclude)x'; echo 9 > ':!y'; echo 10 > 'a*b'; "
        "echo 11 > ' lead';"
        " echo 12 > '\"q\"'; mkdir 'd ir'; echo 13 > 'd ir/trailing '; echo 14 > $'\\u202egnp.exe'; echo 15 > 'a => b'",
        {
            "with space.txt": "added",
            'quo"te': "added",
            "new\\nline": "added",
            "tab\\there": "added",
            "back\\\\slash": "added",
            "-n": "added",
            "--output=x": "added",
            ":(exclude)x": "added",
            ":!y": "added",
            "a*b": "added",
            " lead": "added",
            '"q"': "added",
            "d ir/trailing ": "added",
            "\\u202egnp.exe": "added",
            "a => b": "added",
        },
    ),
    "ignored_new_files_are_listed_not_taken": Row(
        "echo s > debug.log; mkdir -p build/o; echo o > build/o/a; echo d > docs/draft1; echo x > docs/kept",
        {"docs/kept": "added"},
        left_out=(b"debug.log", b"build/o/a", b"docs/draft1"),
    ),
    "tracked_though_ignored_is_taken": Row("echo more >> keep.log", {"keep.log": "modified"}),
    "negated_rule_takes_a_file": Row(
        "printf '!debug.log\\n' >> .gitignore; echo s > debug.log", {".gitignore": "modified", "debug.log": "added"}
    ),
    "tool_leftovers_are_listed_not_taken": Row(
        "mkdir -p src/__pycache__ node_modules/a; echo x > src/__pycache__/app.pyc; "
        "echo y > node_modules/a/i.js; echo z > src/b.py",
        {"src/b.py": "added"},
        left_out=(b"src/__pycache__/app.pyc", b"node_modules/a/i.js"),
        note="tool leftovers",
    ),
    "four_backticks_and_details": Row(
        "printf '````\\n</details>\\n@octocat fixes #1\\n/agent x\\n' > README.md", {"README.md": "modified"}
    ),
    "file_that_is_itself_a_patch": Row(
        "printf 'diff --git a/x b/x\\n--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-a\\n+b\\n-- \\n2.1\\n' > x.patch; "
        "printf -- '-- \\n--- a/q\\n' > README.md",
        {"x.patch": "added", "README.md": "modified"},
    ),
    "long_line": Row("head -c 300000 /dev/zero | tr '\\0' a > long.txt", {"long.txt": "added"}),
    "b62_agent_commits": Row(f"echo x > c.txt; git add -A; {GIT} commit -qm work; echo y >> c.txt", {"c.txt": "added"}),
    "agent_commits_without_an_identity_of_its_own_b5": Row(
        "echo x > c.txt; git add -A; git commit -qm work", {"c.txt": "added"}
    ),
    "b62_agent_switches_branch": Row(
        f"git checkout -qb z; echo x > c.txt; git add -A; {GIT} commit -qm w; git checkout -q --detach",
        {"c.txt": "added"},
    ),
    "b62_agent_commits_then_reverts": Row(
        f"echo x > c.txt; git add -A; {GIT} commit -qm w; {GIT} revert --no-edit HEAD >/dev/null", {}
    ),
    "b62_agent_does_nothing": Row("true", {}),
    "untouched_content_rewritten": Row(
        "cat README.md > /tmp/r; rm README.md; cat /tmp/r > README.md; touch src/app.py", {}
    ),
    "agent_removes_its_git_directory": Row("rm -rf .git; echo x >> README.md", {"README.md": "modified"}),
    "agent_deletes_everything": Row(
        "find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +",
        dict.fromkeys(
            [
                "README.md",
                "src/app.py",
                "docs/guide.md",
                "docs/.gitignore",
                "run.sh",
                "logo.png",
                "empty",
                "latin1.txt",
                "crlf.txt",
                "no-newline",
                "caf\\xe9.txt",
                "a b.txt",
                "keep.log",
                ".gitignore",
                "tool.sh",
                "link",
            ],
            "deleted",
        ),
    ),
    "files_without_any_permission": Row(
        "echo secret > locked; chmod 000 locked; mkdir shut; echo x > shut/x; chmod 000 shut",
        {"locked": "added", "shut/x": "added"},
    ),
    "attributes_star_minus_text": Row(
        "printf '* -text\\n' > .gitattributes; echo x >> README.md",
        {".gitattributes": "added", "README.md": "modified"},
        note="edits .gitattributes",
    ),
    "attributes_star_minus_text_over_converting_base": Row(
        "printf '* -text\\n' > .gitattributes; echo x >> plain.txt",
        {".gitattributes": "modified", "plain.txt": "modified"},
        base="attributes",
        note="edits .gitattributes",
    ),
    "eol_crlf_edited": Row(
        "printf 'pause\\r\\n' >> go.bat; printf 'new\\r\\n' > new.bat",
        {"go.bat": "modified", "new.bat": "added"},
        base="attributes",
    ),
    "ident_edited": Row(
        "echo more >> version.id", {"version.id": "modified"}, base="attributes", expanded=(b"version.id",)
    ),
    "working_tree_encoding_edited": Row(
        "printf 'm\\0o\\0r\\0e\\0\\n\\0' >> wide.u16", {"wide.u16": "modified"}, base="attributes"
    ),
    "converting_base_untouched": Row("true", {}, base="attributes"),
    "only_line_endings_of_a_normalised_file": Row(
        "sed -i 's/$/\\r/' plain.txt", {}, base="attributes", normalised=(b"plain.txt",), note="normalises"
    ),
    "g13_minus_diff_of_the_base_hides_nothing": Row(
        "echo three >> hidden.txt; echo y >> raw.bin",
        {"hidden.txt": "modified", "raw.bin": "modified"},
        base="attributes",
    ),
    "lfs_pointer_replaced": Row(
        "echo real content > asset.big", {"asset.big": "modified"}, base="attributes", note="Git LFS"
    ),
    "never_normalised_line_endings_edited": Row(
        "printf 'three\\r\\n' >> a.txt; rm b.bat",
        {"a.txt": "modified", "b.bat": "deleted"},
        base="unnormalised",
        expanded=(b"a.txt",),
    ),
    "never_normalised_base_untouched": Row("echo x >> c.md", {"c.md": "modified"}, base="unnormalised"),
    "repository_made_in_a_tracked_directory": Row(
        "git init -q src; echo x >> src/app.py; echo y > src/new.py; cd src; git add -A",
        {"src/app.py": "modified", "src/new.py": "added"},
        note="history is not: src.",
    ),
    "directory_with_the_name_of_a_rules_file": Row(
        "mkdir src/.gitignore; echo x > src/.gitignore/x; mkdir src/.gitattributes; echo x > src/.gitattributes/x",
        {"src/.gitignore/x": "added", "src/.gitattributes/x": "added"},
    ),
    "submodule_left_alone": Row("echo y >> file", {"file": "modified"}, base="submodule"),
    "submodule_directory_gone": Row(
        "rmdir sub; echo y >> file", {"file": "modified"}, base="submodule", note="leaves them as they were: sub."
    ),
}

REFUSALS = {
    "encoding_that_does_not_fit": ("printf 'odd' >> wide.u16", "attributes", "Git cannot store"),
    "files_inside_a_submodule": ("echo x > sub/x", "submodule", "submodule"),
    "submodule_replaced_by_a_file": ("rmdir sub; echo x > sub", "submodule", "submodule"),
    "tracked_file_replaced_by_a_pipe": ("rm README.md; mkfifo README.md", "plain", "pipe"),
    "ident_that_was_never_normalised": ("echo more >> old.id", "unnormalised", "git apply would not take"),
    "ident_that_was_never_normalised_and_goes": ("rm old.id", "unnormalised", "git apply would not take"),
    "name_that_git_does_not_store": ("mkdir .GIT; echo x > .GIT/config", "plain", "Git cannot store"),
}


@pytest.fixture(scope="module")
def results(docker_client: docker.DockerClient, images: Images, instance: str) -> Iterator[dict[str, Result]]:
    """All cases through one set of containers."""
    lab = Lab(docker_client, images.base, instance)
    try:
        yield lab.run(
            [Case(name, row.script, row.base, go_on=True) for name, row in ROWS.items()]
            + [Case(name, script, base) for name, (script, base, _) in REFUSALS.items()]
        )
    finally:
        lab.close()


@pytest.mark.parametrize("name", ROWS)
def test_patch_gives_the_same_tree(name: str, results: dict[str, Result], tmp_path: Path) -> None:
    row, result = ROWS[name], results[name]
    assert (result.error, result.refusal) == ("", "")
    assert result.patch is not None
    assert {path: entry["status"] for path, entry in result.files.items()} == row.changed
    expected = {path: entry for path, entry in result.tree.items() if path not in row.left_out}
    given = applied(row.base, result.patch, tmp_path)
    for path in row.normalised + row.expanded:
        expected.pop(path)
        given.pop(path)
    assert given == expected
    assert result.header["ignored_count"] == len(row.left_out)
    assert sorted(result.header["ignored_examples"]) == sorted(path.decode() for path in row.left_out)
    assert row.note in result.notes
    assert row.note or result.notes == ""


@pytest.mark.parametrize("name", ROWS)
def test_what_the_files_hold_gives_the_tree_of_the_patch(name: str, results: dict[str, Result], tmp_path: Path) -> None:
    row, result = ROWS[name], results[name]
    base, patch = clone(row.base, tmp_path), result.patch
    assert patch is not None
    given = tree_of_contents(base, files_of(result))
    assert given == tree_of_patch(base, patch)
    assert (given == git(base, "rev-parse", "HEAD^{tree}").decode().strip()) == (not row.changed)


@pytest.mark.parametrize("name", ROWS)
def test_going_on_from_a_result_and_doing_nothing_gives_that_result_again(
    name: str, results: dict[str, Result]
) -> None:
    """The earlier work is laid into a fresh checkout and is still all that differs from the base: byte for byte."""
    result = results[name]
    assert result.again == {
        "header": {
            **result.header,
            "ignored_count": 0,
            "ignored_examples": [],
            "notes": result.again["header"]["notes"],
        },
        "patch": base64.b64encode(result.patch or b"").decode(),
        "contents": [None if piece is None else base64.b64encode(piece).decode() for piece in result.contents],
    }


def files_of(result: Result) -> list[tuple[bytes, str, bytes | None]]:
    """Raw path, mode and bytes of each file of the patch."""
    files = result.header["files"]
    assert [entry["content_length"] for entry in files] == [
        None if piece is None else len(piece) for piece in result.contents
    ]
    return [
        (base64.b64decode(entry["raw_path"]), entry["new_mode"], piece)
        for entry, piece in zip(files, result.contents, strict=True)
    ]


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal_says_why(name: str, results: dict[str, Result]) -> None:
    result = results[name]
    assert result.error == ""
    assert REFUSALS[name][2] in result.refusal
    assert result.patch is None
    assert result.contents == []


def test_b62_no_change_is_an_empty_patch_and_no_refusal(results: dict[str, Result]) -> None:
    assert results["b62_agent_does_nothing"].patch == b""
    assert results["b62_agent_commits_then_reverts"].patch == b""


def test_b55_binary_and_lines_are_told_apart(results: dict[str, Result]) -> None:
    files = results["b55_binary_by_content_not_by_name"].files
    assert (files["logo.png"]["binary"], files["icon.txt"]["binary"], files["no-newline"]["binary"]) == (
        True,
        True,
        False,
    )
    guide = results["edited"].files["docs/guide.md"]
    assert (guide["added"], guide["removed"], guide["binary"]) == (1, 0, False)
    assert results["executable_bit_set"].files["run.sh"]["new_mode"] == "100755"


def test_g13_text_shows_as_text_whatever_the_attributes_say(results: dict[str, Result]) -> None:
    patch = results["g13_minus_diff_of_the_base_hides_nothing"].patch
    assert patch is not None
    assert b"+three\n" in patch
    assert b"GIT binary patch" not in patch


def test_checkout_is_on_the_default_branch_of_the_bundle(results: dict[str, Result]) -> None:
    assert {result.branch for result in results.values()} == {"main"}
