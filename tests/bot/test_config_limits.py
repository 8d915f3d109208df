"""Limits are settings, one each; what is not given stays open for a runner elsewhere."""

from __future__ import annotations

from bot.config import SandboxConfig, read
from bot.config_limits import LimitSettings
from sandbox import Limits


def test_there_is_a_setting_for_every_limit_with_the_same_default() -> None:
    defaults = {name: LimitSettings.model_fields[name].default for name in Limits.model_fields}
    assert defaults == Limits().model_dump()


def test_what_is_given_is_all_that_is_set() -> None:
    limits = read(SandboxConfig, {"GOFER_MODEL_KEY": "k", "GOFER_TOKENS": "9", "GOFER_COST_USD": ""}).limits
    assert limits.tokens == 9
    assert limits.model_dump(exclude_unset=True) == {"tokens": 9, "cost_usd": None}
