"""Group G of the attack table: what an agent can plant in its work tree and its ``.git``, against the real extractor.

A planted command touches ``/tmp/PWNED``, which the extractor could write: it must not be there afterwards. A planted
blindfold hides an edit of README.md: the patch must hold it all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from tests.engine import Images
from tests.sandbox.inside.applied import applied
from tests.sandbox.inside.lab import Case, Lab, Result

pytestmark = pytest.mark.engine

MARK = "PWNED"
# Each takes less than a second on an idle machine; the lab gives up on one after 60.
BOUNDED_SECONDS = 50
EDIT = "echo hidden >> README.md"
CONFIG_COMMANDS = (
    "core.fsmonitor core.editor core.pager core.sshCommand core.askPass core.gitProxy core.alternateRefsCommand"
    " gpg.program gpg.ssh.program credential.helper sequence.editor diff.external interactive.diffFilter"
    " uploadpack.packObjectsHook browser.x.cmd man.x.cmd difftool.x.cmd mergetool.x.cmd sendemail.smtpserver"
    " trailer.x.command alias.diff-tree alias.update-index filter.evil.clean filter.evil.smudge filter.evil.process"
    " diff.evil.command diff.evil.textconv merge.evil.driver pager.diff-tree"
)
PLANT_CONFIG = f"for key in {CONFIG_COMMANDS}; do git config $key 'touch /tmp/{MARK}; cat'; done"
HOOKS = (
    "pre-commit post-commit post-index-change reference-transaction post-checkout pre-auto-gc post-rewrite"
    " fsmonitor-watchman sendemail-validate push-to-checkout applypatch-msg pre-applypatch post-applypatch"
)
PLANT_HOOKS = f"for hook in {HOOKS}; do printf '#!/bin/sh\\ntouch /tmp/{MARK}\\n' > $1/$hook; chmod 755 $1/$hook; done"

# Something that would run; README.md is edited besides.
COMMANDS = {
    "g01_fsmonitor": f"git config core.fsmonitor 'touch /tmp/{MARK}'; git config core.fsmonitorHookVersion 2",
    "g02_hooks": f"mkdir -p .git/hooks; set -- .git/hooks; {PLANT_HOOKS}",
    "g02_hooks_path": f"mkdir -p hooks; set -- hooks; {PLANT_HOOKS}; git config core.hooksPath hooks",
    "g04_filters": (
        f"printf '* filter=evil diff=evil merge=evil\\n' > .gitattributes; {PLANT_CONFIG};"
        " git config filter.evil.required true"
    ),
    "g04_attributes_of_the_repository": (
        f"mkdir -p .git/info; printf '* filter=evil diff=evil\\n' > .git/info/attributes; {PLANT_CONFIG}"
    ),
    "g05_filter_of_somebody_elses_configuration": "printf '* filter=lfs diff=lfs merge=lfs -text\\n' > .gitattributes",
    "g07_every_command_that_a_configuration_can_name": PLANT_CONFIG,
    "g07_remotes_and_includes": (
        f"git config remote.origin.url 'ext::sh -c touch% /tmp/{MARK}'; git config remote.origin.promisor true;"
        " git config remote.origin.partialclonefilter blob:none; "
        f"git config url.'ext::sh -c touch% /tmp/{MARK}'.insteadOf https://;"
        f" printf '[core]\\n fsmonitor = touch /tmp/{MARK}\\n' > extra; "
        "git config include.path ../extra; git config protocol.ext.allow always"
    ),
    "g08_git_file_leads_elsewhere": (
        f"{PLANT_CONFIG}; cp -r .git elsewhere; rm -rf .git; echo 'gitdir: elsewhere' > .git; rm -rf elsewhere/objects"
    ),
    "g08_embedded_bare_repository": (
        "git init -q --bare bare; "
        f"printf '[core]\\n bare = true\\n fsmonitor = touch /tmp/{MARK}\\n' > bare/config; "
        "rm -rf bare/hooks"
    ),
    "g08_git_is_a_symlink": "mv .git /tmp/moved; ln -s /tmp/moved .git",
    "g14_lfs_configuration": (
        "printf '[lfs]\\n url = https://10.255.255.1/\\n' > .lfsconfig; "
        f"git config lfs.customtransfer.x.path /tmp/{MARK}"
    ),
    "g25_names_that_look_like_options": (
        f"mkdir -- '--output=' '--output=/tmp'; echo x > '--output=/tmp/{MARK}'; echo x > ./-c; "
        f"echo x > '--upload-pack=touch {MARK}'; git checkout -q -b x/--output=y"
    ),
}

# Those of them that "git status" or "git diff" is enough for.
ARMED = {
    "g01_fsmonitor",
    "g04_filters",
    "g04_attributes_of_the_repository",
    "g07_every_command_that_a_configuration_can_name",
    "g07_remotes_and_includes",
}

# A way to keep the edit of README.md out of sight.
BLINDFOLDS = {
    "g10_assume_unchanged": "git update-index --assume-unchanged README.md",
    "g10_skip_worktree": "git update-index --skip-worktree README.md",
    "g10_sparse_checkout": (
        "git config core.sparseCheckout true; mkdir -p .git/info; echo '/docs/' > .git/info/sparse-checkout"
    ),
    "g10_tracked_file_is_ignored": "echo README.md >> .gitignore; mkdir -p .git/info; echo '*' > .git/info/exclude",
    "g10_untracked_cache_and_split_index": "git update-index --split-index --untracked-cache --force-untracked-cache",
    "g10_index_says_so": "git add README.md; git update-index --refresh",
    "g10_index_broken": "printf garbage > .git/index",
    "g10_replaced_object": "git replace $(git rev-parse HEAD:README.md) $(git hash-object -w README.md)",
    "g10_replaced_commit": (
        "git add -A; git commit -qm x; git replace $(git rev-parse HEAD^ 2>/dev/null || git rev-parse origin/main) HEAD"
    ),
    "g10_grafts_and_alternates": (
        "mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts; echo /nowhere > .git/objects/info/alternates"
    ),
    "g10_objects_gone": "rm -rf .git/objects; mkdir .git/objects",
    "g10_file_mode_and_stat_off": (
        "git config core.fileMode false; git config core.checkStat minimal; git config core.trustctime false"
    ),
    "g10_ignore_case_and_quote": (
        "git config core.ignoreCase true; git config core.precomposeUnicode true; git config core.worktree /nowhere"
    ),
    "g13_minus_diff": "printf 'README.md -diff\\n' > .gitattributes",
    "g13_binary": "printf '* binary\\n' > .gitattributes",
    "g13_generated_and_export_subst": "printf '* linguist-generated export-subst export-ignore\\n' > .gitattributes",
    "g13_other_encoding": "printf '* text working-tree-encoding=UTF-7\\n' > .gitattributes",
    "g13_eol_and_ident": "printf '* text eol=crlf ident whitespace=fix\\n' > .gitattributes",
    "g13_attributes_deep": (
        "mkdir -p .git/info; printf '* -diff\\n' > .git/info/attributes; git config core.attributesFile .gitattributes"
    ),
    "g26_forged_records": (
        "cp README.md id; printf '%s' '{\"base_commit\":\"0\"}' > base.json; : > manifest; mkdir data; "
        ": > data/manifest"
    ),
}

BIG = "head -c 4000000 /dev/urandom"
OTHER = {
    "g08_repository_in_a_submodule": Case(
        "g08_repository_in_a_submodule",
        "git init -q sub; cd sub; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x; "
        f"git config core.fsmonitor 'touch /tmp/{MARK}'; cd ..; echo y >> file",
        base="submodule",
    ),
    "g10_new_file_hidden_by_an_edited_rule": Case(
        "g10_new_file_hidden_by_an_edited_rule",
        "echo evil.py >> .gitignore; echo x > evil.py; mkdir d; echo '*' > d/.gitignore; echo x > d/evil",
    ),
    "g10_new_file_hidden_by_exclude": Case(
        "g10_new_file_hidden_by_exclude",
        "mkdir -p .git/info; echo '*' > .git/info/exclude; git config core.excludesFile /ws/all; echo x > evil.py",
    ),
    "g11_nested_repository": Case(
        "g11_nested_repository",
        "git init -q sub; echo x > sub/evil.py; cd sub; git add -A; "
        "git -c user.name=x -c user.email=x@x commit -qm x; cd ..; git add sub",
    ),
    "g11_nested_repository_by_file_and_link": Case(
        "g11_nested_repository_by_file_and_link",
        "mkdir a b; echo 'gitdir: /nowhere' > a/.git; echo x > a/x; ln -s ../.git b/.git; echo x > b/x",
    ),
    "g16_sparse_new_file": Case("g16_sparse_new_file", "truncate -s 20G bomb"),
    "g16_sparse_tracked_file": Case("g16_sparse_tracked_file", "truncate -s 20G README.md"),
    "g16_sparse_ignored_file": Case("g16_sparse_ignored_file", f"truncate -s 20G bomb.log; {EDIT}"),
    "g16_sparse_ignore_rules": Case("g16_sparse_ignore_rules", "truncate -s 20G docs/.gitignore"),
    "g16_special_files": Case(
        "g16_special_files",
        f"mkfifo pipe; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('sock')\"; {EDIT}; "
        "mkfifo .gitattributes.d",
    ),
    "g16_pipe_as_ignore_rules": Case("g16_pipe_as_ignore_rules", "mkfifo src/.gitignore; echo x > src/new"),
    "g16_pipe_as_attributes": Case("g16_pipe_as_attributes", "mkfifo .gitattributes; echo x > new"),
    "g16_pipe_as_modules": Case("g16_pipe_as_modules", "mkfifo .gitmodules; echo x > new"),
    "g16_hard_links_and_set_user_id": Case(
        "g16_hard_links_and_set_user_id", f"{EDIT}; ln README.md twin; chmod 6755 twin"
    ),
    "g16_links_as_git_files": Case("g16_links_as_git_files", f"rm .gitignore; ln -s /etc/passwd .gitignore; {EDIT}"),
    "g16_modules_as_a_link": Case("g16_modules_as_a_link", "ln -s /etc/passwd .gitmodules"),
    "g20_too_many_files": Case("g20_too_many_files", "mkdir many; cd many; seq 1 600 | xargs touch"),
    "g20_many_ignored_files": Case(
        "g20_many_ignored_files", f"mkdir -p build; cd build; seq 1 3000 | xargs touch; cd ..; {EDIT}"
    ),
    "g20_one_line_of_a_gigabyte": Case("g20_one_line_of_a_gigabyte", "truncate -s 1G line"),
    "g20_hundred_thousand_hunks": Case(
        "g20_hundred_thousand_hunks", "seq 1 400000 > big; git add big", patch_bytes=64 << 20
    ),
    "g20_patch_too_large": Case("g20_patch_too_large", f"{BIG} > noise"),
    "g20_binary_flood": Case(
        "g20_binary_flood", f"for n in $(seq 1 34); do {BIG} > noise$n; done", patch_bytes=64 << 20
    ),
    "g20_compressible_flood": Case(
        "g20_compressible_flood", "for n in 1 2 3; do truncate -s 45M zero$n; done", patch_bytes=64 << 20
    ),
    "g20_deep_directories": Case("g20_deep_directories", "for n in $(seq 1 210); do mkdir d; cd d; done; echo x > x"),
    "g20_long_path": Case(
        "g20_long_path",
        "name=$(printf 'n%.0s' $(seq 1 250)); for n in 1 2 3 4 5; do mkdir $name; cd $name; done; echo x > x",
    ),
    "g20_slow_ignore_rules": Case(
        "g20_slow_ignore_rules",
        "printf '%s' '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b' > .gitignore; touch $(printf 'a%.0s' $(seq 1 200))",
    ),
}

REFUSED = {
    "g16_sparse_new_file": "bomb is 20,480 MiB large",
    "g16_sparse_tracked_file": "README.md is 20,480 MiB large",
    "g16_sparse_ignore_rules": "docs/.gitignore is larger",
    "g16_pipe_as_ignore_rules": "src/.gitignore is a pipe",
    "g16_pipe_as_attributes": ".gitattributes is a pipe",
    "g16_pipe_as_modules": ".gitmodules is a pipe",
    "g16_modules_as_a_link": "Git cannot store",
    "g20_too_many_files": "600 files changed, more than the 500 allowed",
    "g20_one_line_of_a_gigabyte": "line is 1,024 MiB large",
    "g20_patch_too_large": "patch is larger than the 1,048,576 bytes",
    "g20_binary_flood": "changed files are 130 MiB together",
    "g20_compressible_flood": "changed files are 135 MiB together",
    "g20_deep_directories": "nested more than 200 deep",
    "g20_long_path": "longer than 1,024 bytes",
}


@pytest.fixture(scope="module")
def lab(docker_client: docker.DockerClient, images: Images, instance: str) -> Iterator[Lab]:
    lab = Lab(docker_client, images.base, instance)
    yield lab
    lab.close()


@pytest.fixture(scope="module")
def results(lab: Lab) -> dict[str, Result]:
    """All cases through one set of containers."""
    planted = [Case(name, f"{EDIT}\n{script}") for name, script in (COMMANDS | BLINDFOLDS).items()]
    return lab.run([*planted, *OTHER.values()])


def same_tree(result: Result, base: str, folder: Path, left_out: tuple[bytes, ...] = ()) -> None:
    """The patch gives what the agent left."""
    assert result.patch is not None, result.refusal or result.error
    expected = {path: entry for path, entry in result.tree.items() if path not in left_out}
    assert applied(base, result.patch, folder) == expected


@pytest.mark.parametrize("name", [*COMMANDS, *BLINDFOLDS, *OTHER])
def test_nothing_ran_in_the_extractor_and_it_was_quick(name: str, results: dict[str, Result]) -> None:
    assert MARK not in results[name].left
    assert results[name].left == []
    assert results[name].seconds < BOUNDED_SECONDS
    assert results[name].error == ""


def test_control_the_planted_commands_do_run_under_plain_git(results: dict[str, Result], lab: Lab) -> None:
    """Without this the test above could pass because nothing was armed."""
    assert results.keys() >= ARMED
    ran = lab.plain_git(ARMED)
    assert ran == ARMED


@pytest.mark.parametrize("name", [*COMMANDS, *BLINDFOLDS])
def test_the_hidden_edit_is_in_the_patch(name: str, results: dict[str, Result], tmp_path: Path) -> None:
    result = results[name]
    assert result.refusal == ""
    assert result.patch is not None
    assert b"\n+hidden\n" in result.patch
    same_tree(result, "plain", tmp_path)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_carried_is_refused_in_words(name: str, results: dict[str, Result]) -> None:
    assert REFUSED[name] in results[name].refusal
    assert results[name].patch is None


@pytest.mark.parametrize("name", [name for name in COMMANDS if name.startswith("g04_")])
def test_g04_no_filter_of_the_agents_runs_and_none_changes_what_is_taken(
    name: str, results: dict[str, Result], tmp_path: Path
) -> None:
    """Clean, smudge and process, named by attributes in the work tree or in ``.git``; the control shows them armed."""
    assert name in ARMED
    result = results[name]
    assert result.left == []
    assert b"\n+hidden\n" in (result.patch or b"")
    same_tree(result, "plain", tmp_path)


def test_g08_a_repository_in_a_submodule_is_not_looked_into(results: dict[str, Result], tmp_path: Path) -> None:
    result = results["g08_repository_in_a_submodule"]
    assert result.files.keys() == {"file"}
    assert "leaves them as they were: sub." in result.notes
    same_tree(result, "submodule", tmp_path)


def test_g08_a_bare_looking_directory_is_noted(results: dict[str, Result]) -> None:
    assert "bare Git repository" in results["g08_embedded_bare_repository"].notes


def test_g10_files_that_an_edited_rule_hides_are_listed(results: dict[str, Result]) -> None:
    result = results["g10_new_file_hidden_by_an_edited_rule"]
    assert "d/.gitignore, d/evil, evil.py" in result.notes
    assert result.header["ignored_count"] == 3
    assert result.files.keys() == {".gitignore"}


def test_g10_files_that_the_agents_exclude_hides_are_taken(results: dict[str, Result], tmp_path: Path) -> None:
    result = results["g10_new_file_hidden_by_exclude"]
    assert result.files.keys() == {"evil.py"}
    same_tree(result, "plain", tmp_path)


def test_g11_a_nested_repository_is_taken_as_files(results: dict[str, Result], tmp_path: Path) -> None:
    result = results["g11_nested_repository"]
    assert result.files["sub/evil.py"]["new_mode"] == "100644"
    assert "history is not: sub." in result.notes
    assert b"160000" not in (result.patch or b"")
    same_tree(result, "plain", tmp_path)


def test_g11_a_git_file_or_link_makes_no_gitlink_either(results: dict[str, Result], tmp_path: Path) -> None:
    result = results["g11_nested_repository_by_file_and_link"]
    assert result.files.keys() == {"a/x", "b/x"}
    same_tree(result, "plain", tmp_path, left_out=(b"a/.git", b"b/.git"))


def test_g16_special_files_are_left_out_and_told(results: dict[str, Result], tmp_path: Path) -> None:
    result = results["g16_special_files"]
    assert result.refusal.startswith(".gitattributes.d is a pipe")


def test_g16_a_sparse_ignored_file_costs_nothing(results: dict[str, Result]) -> None:
    result = results["g16_sparse_ignored_file"]
    assert result.files.keys() == {"README.md"}
    assert result.header["ignored_count"] == 1


@pytest.mark.parametrize("name", ["g16_hard_links_and_set_user_id", "g16_links_as_git_files"])
def test_g16_links_come_as_what_they_are(name: str, results: dict[str, Result], tmp_path: Path) -> None:
    same_tree(results[name], "plain", tmp_path)


def test_g20_many_ignored_files_are_counted_and_few_listed(results: dict[str, Result]) -> None:
    result = results["g20_many_ignored_files"]
    assert result.header["ignored_count"] == 3000
    assert len(result.header["ignored_examples"]) == 20
    assert result.files.keys() == {"README.md"}


def test_g20_slow_ignore_rules_end_in_time(results: dict[str, Result]) -> None:
    result = results["g20_slow_ignore_rules"]
    assert result.refusal == "" or "took longer" in result.refusal


def test_g20_a_large_text_is_carried_where_it_is_allowed(results: dict[str, Result], tmp_path: Path) -> None:
    same_tree(results["g20_hundred_thousand_hunks"], "plain", tmp_path)
