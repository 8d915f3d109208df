"""Runs that died: found by the next one, and never taken for dead while they live."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bot.run_left import alive, left

ROOT = Path(__file__).parent.parent.parent
KILLED = """
import os, signal, sys
from pathlib import Path
from bot.run_left import alive
with alive(Path(sys.argv[1]), "run-killed"):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_living_run_is_not_left_and_one_that_tidied_never(tmp_path: Path) -> None:
    with alive(tmp_path, "run-1") as run:
        assert left(tmp_path) == []
        run.tidied()
    assert left(tmp_path) == []


def test_a_run_that_could_not_tidy_is_left(tmp_path: Path) -> None:
    with alive(tmp_path, "run-1"):
        pass
    assert left(tmp_path) == ["run-1"]


def test_a_killed_run_is_left_until_somebody_tidied_for_it(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path], cwd=ROOT, check=False, timeout=60)
    assert left(tmp_path) == ["run-killed"]
    with alive(tmp_path, "run-killed") as run:
        assert left(tmp_path) == []
        run.tidied()
    assert left(tmp_path) == []


def test_before_the_first_run_nothing_is_left(tmp_path: Path) -> None:
    assert left(tmp_path / "none") == []
