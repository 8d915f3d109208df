"""The command line: what a user's mistake looks like."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.demo.github import LocalGitHub
from bot.store import Caps, Store
from tests.bot.fake_sandbox import CHANGED, PATCH
from tests.bot.requests import a_request

ROOT = Path(__file__).parent.parent.parent


def gofer(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a user would, with nothing in the environment but what is given."""
    return piped(b"", *arguments, **environment)


def piped(stdin: bytes, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "bot", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_version_is_printed() -> None:
    done = gofer("--version")
    assert done.returncode == 0
    assert done.stdout.startswith(b"gofer ")


def test_serve_without_settings_names_all_that_is_missing_and_shows_no_traceback() -> None:
    done = gofer("serve")
    assert done.returncode == 2
    lines = done.stderr.decode().splitlines()
    assert "gofer: GOFER_APP_ID is missing" in lines
    assert all(line.startswith("gofer: GOFER_") for line in lines)


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        (None, "GOFER_WEBHOOK_SECRET is missing"),
        ("", "GOFER_WEBHOOK_SECRET"),
        ("changeme", "GOFER_WEBHOOK_SECRET: it has 8 characters"),
        ("x" * 31, "GOFER_WEBHOOK_SECRET: it has 31 characters"),
    ],
)
def test_w04_serve_without_or_with_a_guessable_webhook_secret_does_not_start(secret: str | None, says: str) -> None:
    done = gofer("serve", **({} if secret is None else {"GOFER_WEBHOOK_SECRET": secret}))
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("patch", "x"), ("run", "--repo", ".", "x")])
def test_a_state_directory_that_cannot_be_looked_at_is_one_line(command: tuple[str, ...]) -> None:
    """Another user's gives EACCES; for root, who may look anywhere, a name that is too long stands in for it."""
    done = gofer(*command, GOFER_STATE_DIR="/tmp/" + 300 * "x", GOFER_MODEL_KEY="k")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


async def test_serve_that_finds_a_mistake_later_says_so_in_one_line(tmp_path: Path) -> None:
    local = LocalGitHub(tmp_path)
    done = gofer(
        "serve",
        GOFER_APP_ID="1",
        GOFER_PRIVATE_KEY=local.private_key.get_secret_value(),
        GOFER_WEBHOOK_SECRET=local.webhook_secret.get_secret_value(),
        GOFER_SERVED="octo",
        GOFER_MODEL_KEY="k",
        GOFER_STATE_DIR=str(tmp_path),
        GOFER_LISTEN="192.0.2.1:1",
        GOFER_LOG_LEVEL="WARNING",
        GOFER_GITHUB_URL="https://127.0.0.1:9",
    )
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1].startswith("gofer: ")
    assert b"cannot listen on 192.0.2.1:1" in done.stderr
    assert (tmp_path / "gofer.db").stat().st_mode & 0o077 == 0
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (("--repo", ".", "x"), {}, b"GOFER_MODEL_KEY"),
        (("--repo", "/nowhere", "x"), {"GOFER_MODEL_KEY": "k"}, b"not a directory"),
        (("--repo", ".", " "), {"GOFER_MODEL_KEY": "k"}, b"prompt is empty"),
        (("--repo", ".", "-"), {"GOFER_MODEL_KEY": "k"}, b"not UTF-8"),
        (("--repo", ".", "x"), {"GOFER_MODEL_KEY": "k", "GOFER_SANDBOX": "cloud:"}, b"GOFER_SANDBOX"),
    ],
)
def test_a_mistake_with_run_is_one_line(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], words: bytes
) -> None:
    done = piped(b"\xff\xfe", "run", *arguments, HOME=str(tmp_path), **environment)
    assert (done.returncode, done.stdout) == (2, b"")
    assert words in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_unknown_command_is_refused_with_the_usage() -> None:
    done = gofer("frobnicate")
    assert done.returncode == 2
    assert b"usage: gofer" in done.stderr


async def stored_task(folder: Path) -> str:
    """A database with one task that has a patch; the task's id."""
    caps = Caps(1, 1)
    store = await Store.open(f"sqlite:///{folder}/gofer.db")
    await store.add(a_request())
    (task,) = await store.claim("w", caps)
    await store.set_outcome(await store.admit(task, caps), CHANGED, "changed")
    await store.close()
    return task.task_id


async def test_patch_prints_the_stored_bytes_and_nothing_else(tmp_path: Path) -> None:
    task_id = await stored_task(tmp_path)
    done = gofer("patch", task_id, GOFER_STATE_DIR=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, PATCH, b"")


def test_patch_that_cannot_be_written_is_one_line_and_no_success(tmp_path: Path) -> None:
    task_id = asyncio.run(stored_task(tmp_path))
    environment = {"PATH": os.environ["PATH"], "GOFER_STATE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "bot", "patch", task_id]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"No space left" in done.stderr


@pytest.mark.parametrize("name", ["0000000000", "../../etc/passwd", "' OR 1=1 --"])
async def test_patch_of_an_unknown_task_says_so(tmp_path: Path, name: str) -> None:
    await stored_task(tmp_path)
    done = gofer("patch", name, GOFER_STATE_DIR=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"there is no task" in done.stderr


@pytest.mark.parametrize("folder", [".", "none"])
def test_patch_without_a_database_says_so_and_makes_none(tmp_path: Path, folder: str) -> None:
    """It may be root who asks: a file of root's would keep the server from starting."""
    done = gofer("patch", "x", GOFER_STATE_DIR=f"{tmp_path}/{folder}")
    assert done.returncode == 2
    assert b"there is no database at" in done.stderr
    assert b"GOFER_STATE_DIR" in done.stderr
    assert list(tmp_path.iterdir()) == []
