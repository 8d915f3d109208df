"""What every settings class is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config_base import ConfigError, pem


def test_certificates(tmp_path: Path) -> None:
    assert pem("GOFER_X", None) == ""
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    assert pem("GOFER_X", tmp_path / "ca.pem").startswith("-----BEGIN")
    with pytest.raises(ConfigError, match=r"GOFER_X: .* cannot be read"):
        pem("GOFER_X", tmp_path / "none.pem")
