"""Tools' leftovers; what Git's ignore rules do is in the table of changes (tests/journeys/test_changes.py)."""

from __future__ import annotations

import pytest

from sandbox.inside.newfiles import is_rules, leftovers


@pytest.mark.parametrize(
    ("path", "left_out"),
    [
        (b"node_modules/a/b.js", True),
        (b"web/node_modules/a.js", True),
        (b"src/__pycache__/x.pyc", True),
        (b".venv/bin/python", True),
        (b"node_modules", False),
        (b"node_modules.txt", False),
        (b"src/node_modules_x/y", False),
        (b"vendor/a.js", False),
    ],
)
def test_b59_leftovers_by_their_folder(path: bytes, left_out: bool) -> None:
    assert (leftovers([path], [b"src/a.py"]) == {path}) == left_out


def test_b59_a_folder_that_the_base_tracks_is_no_leftover() -> None:
    assert leftovers([b"node_modules/new.js"], [b"node_modules/old.js"]) == set()


def test_ignore_rules_by_name() -> None:
    assert is_rules(b".gitignore")
    assert is_rules(b"a/b/.gitignore")
    assert not is_rules(b"a.gitignore")
