"""The lock that keeps two demos apart."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.demo.alone import NotAlone, alone


def test_a_second_demo_is_refused_and_a_later_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with alone(path), pytest.raises(NotAlone, match="another demo"), alone(path):
        pass
    with alone(path):
        pass


def test_a_lock_file_that_somebody_else_left_does(tmp_path: Path) -> None:
    """Somebody who may only read it."""
    path = tmp_path / "lock"
    path.touch()
    path.chmod(0o444)
    with alone(path):
        pass


def test_a_link_in_the_lock_s_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotAlone, match="remove it"), alone(tmp_path / "lock"):
        pass
    assert os.listdir(tmp_path) == ["lock"]
