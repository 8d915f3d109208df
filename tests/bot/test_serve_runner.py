"""``gofer runner`` as a process: what it refuses to start with, how it ends, and what it never holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TOKEN = "k7Qw9zR2mX4vB8nC1pL6tY3hJ5dF0sGa"
# A process that imports everything and finds its mistake, on a busy machine.
SECONDS = 60


def environment(folder: Path, **more: str) -> dict[str, str]:
    tokens = folder / "tokens"
    tokens.write_text(f"bot {TOKEN}\n")
    tokens.chmod(0o600)
    values = {
        "MODEL_KEY": "sk-canary",
        "RUNNER_TOKENS_FILE": str(tokens),
        "RUNNER_LISTEN": f"unix://{folder}/api.sock",
        "STATE_DIR": str(folder),
        "DOCKER_HOST": "tcp://127.0.0.1:9",
    }
    return {"PATH": os.environ["PATH"]} | {f"GOFER_{name}": value for name, value in (values | more).items()}


def refused(folder: Path, **more: str) -> str:
    """What it says when it does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "bot", "runner"],
        cwd=ROOT,
        env=environment(folder, **more),
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    words = done.stderr.decode()
    assert done.returncode == 2
    assert "Traceback" not in words
    assert "canary" not in words
    assert TOKEN not in words
    return words


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """It listens; no engine answers."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bot", "runner"], cwd=ROOT, env=environment(folder), stderr=subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        assert b"listening on http+unix://" in process.stderr.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"MODEL_KEY": ""}, "GOFER_MODEL_KEY (or GOFER_MODEL_KEY_FILE) is missing"),
        (
            {"RUNNER_TOKENS_FILE": "/nowhere/tokens"},
            "GOFER_RUNNER_TOKENS_FILE: the tokens: /nowhere/tokens cannot be read",
        ),
        ({"RUNNER_LISTEN": "0.0.0.0:1"}, "or set GOFER_RUNNER_PLAIN=true if that is meant"),
        ({"RUNNER_LISTEN": "192.0.2.1:1", "RUNNER_PLAIN": "true"}, "GOFER_RUNNER_LISTEN: cannot listen on"),
        ({"STATE_DIR": "/nowhere"}, "GOFER_STATE_DIR: the directory is not there"),
        ({"RUNNER_LISTN": "x"}, "nearest: GOFER_RUNNER_LISTEN"),
    ],
)
def test_what_it_does_not_start_with_is_told_in_words(more: dict[str, str], words: str, tmp_path: Path) -> None:
    assert words in refused(tmp_path, **more)


def test_it_waits_for_the_engine_answers_meanwhile_and_ends_at_once(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        curl = ["curl", "-sS", "--unix-socket", f"{tmp_path}/api.sock", "http://runner"]
        health = subprocess.run([*curl[:-1], "http://runner/healthz"], capture_output=True, check=True)
        assert health.stdout == b"ok\n"
        call = [*curl[:-1], "-H", f"Authorization: Bearer {TOKEN}", "http://runner/sandboxes"]
        assert b"cannot be asked now" in subprocess.run(call, capture_output=True, check=True).stdout
        assert TOKEN.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert process.wait(SECONDS) == 0
        assert time.monotonic() - began < 5
    assert not (tmp_path / "api.sock").exists()
