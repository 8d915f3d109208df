"""Git's environment and flags hold against a hostile home and repository; calls end in time and in size."""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path

import pytest

from sandbox.inside.bounds import Deadline
from sandbox.inside.gitcmd import ENVIRONMENT, FLAGS, Git, GitFailed, TooMuch, TooSlow
from tests.sandbox.inside.bases import git, make


def test_g05_a_global_filter_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "PWNED"
    (tmp_path / ".gitconfig").write_text(
        f'[filter "lfs"]\n\tclean = touch {mark}\n[core]\n\tfsmonitor = touch {mark}\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {mark}")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {mark}")
    repo = tmp_path / "repo"
    repo.mkdir()
    make(repo, "plain")
    git(repo, "checkout", "-q", "-f", "main")
    (repo / ".gitattributes").write_text("* filter=lfs diff=lfs\n")
    (repo / "README.md").write_text("changed\n")
    done = Git(Deadline.after(30), cwd=str(repo)).run("diff")
    assert b"+changed" in done.out
    Git(Deadline.after(30), cwd=str(repo)).run("add", "-A")
    assert not mark.exists()


def test_g01_g02_configuration_of_the_repository_runs_nothing(tmp_path: Path) -> None:
    """Not relied upon (the agent's repository is never opened), but it holds."""
    mark = tmp_path / "PWNED"
    make(tmp_path, "plain")
    git(tmp_path, "checkout", "-q", "-f", "main")
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "reference-transaction", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", f"touch {mark}")
    runner = Git(Deadline.after(30), cwd=str(tmp_path))
    runner.run("status")
    runner.run("update-index", "--really-refresh")
    runner.run("update-ref", "refs/heads/x", "HEAD")
    assert not mark.exists()


def test_g07_nothing_of_our_own_environment_reaches_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "canary")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    out = Git(Deadline.after(30), flags=("-c", "alias.env=!env")).run("env").out
    assert b"canary" not in out
    assert b"/nowhere" not in out
    names = {line.split(b"=")[0].decode() for line in out.splitlines()}
    assert names >= ENVIRONMENT.keys()
    # GIT_PREFIX and GIT_EXEC_PATH are git's own; the rest comes from the shell.
    assert names - ENVIRONMENT.keys() <= {
        "GIT_PREFIX", "GIT_EXEC_PATH", "GIT_CONFIG_PARAMETERS", "PWD", "OLDPWD", "SHLVL", "_",
    }  # fmt: skip


@pytest.mark.parametrize("flag", ["core.hooksPath=/dev/null", "core.fsmonitor=false", "safe.bareRepository=explicit"])
def test_flags_that_must_not_be_lost(flag: str) -> None:
    assert FLAGS[FLAGS.index(flag) - 1] == "-c"


@pytest.mark.parametrize(
    "name", ["GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM", "GIT_NO_LAZY_FETCH", "GIT_NO_REPLACE_OBJECTS"]
)
def test_environment_that_must_not_be_lost(name: str) -> None:
    assert ENVIRONMENT[name] == "1"
    assert ENVIRONMENT["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert ENVIRONMENT["GIT_ALLOW_PROTOCOL"] == "none"


def alias(command: str) -> tuple[str, ...]:
    return ("-c", f"alias.x=!{command}")


def test_b61_a_call_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(TooSlow, match="longer than"):
        Git(Deadline.after(0.3), flags=alias(f"sleep 60 & echo $! > {tmp_path}/pid; wait")).run("x")
    assert time.monotonic() - start < 10
    pid = int((tmp_path / "pid").read_text())
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            assert select.select([handle], [], [], 10)[0], "the child lives on"
        finally:
            os.close(handle)


def test_g20_a_call_that_prints_without_end_is_stopped() -> None:
    with pytest.raises(TooMuch, match="more than 1,000 bytes"):
        Git(Deadline.after(30), flags=alias("yes")).run("x", limit=1000)


def test_exactly_the_limit_is_fine() -> None:
    assert len(Git(Deadline.after(30), flags=alias("head -c 1000 /dev/zero")).run("x", limit=1000).out) == 1000


def test_words_are_the_end_of_a_long_complaint() -> None:
    command = "head -c 1000000 /dev/zero | tr '\\\\0' e >&2; echo the end >&2; exit 3"
    with pytest.raises(GitFailed) as raised:
        Git(Deadline.after(30), flags=alias(f"sh -c '{command}'".replace("'\\\\0'", "a"))).run("x")
    assert raised.value.code in {1, 2, 3}
    assert len(raised.value.words) <= 4_000


def test_input_larger_than_a_pipe_goes_through() -> None:
    data = os.urandom(1 << 20)
    assert Git(Deadline.after(30), flags=alias("cat")).run("x", stdin=data).out == data


def test_a_failed_git_is_an_error_b65() -> None:
    with pytest.raises(GitFailed, match="not a git repository"):
        Git(Deadline.after(30), cwd="/").run("status")
