"""What is due, and what is not."""

from __future__ import annotations

import pytest

from sandbox.retention import due


@pytest.mark.parametrize(
    ("used", "now", "gone"),
    [(100.0, 100.0, False), (100.0, 159.9, False), (100.0, 160.0, True), (100.0, 1e9, True), (100.0, 0.0, False)],
)
def test_what_was_used_lately_stays(used: float, now: float, gone: bool) -> None:
    assert due(used, now, 60.0) is gone
