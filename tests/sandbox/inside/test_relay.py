"""The relay refuses to start without its socket. That it carries a fetch is in test_helpers.py, on the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.inside.bounds import Failed
from sandbox.inside.relay import relay


def test_without_the_socket_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("gone", "file"):
        with pytest.raises(Failed, match="way out to the git host"), relay(tmp_path / name, 1):
            pass
