"""app.yml, held equal to what the bot reads and to the tokens that it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from bot import github
from bot.demo.github import LocalGitHub
from bot.triggers import ALWAYS_SENT, TRIGGERS

LEVELS = ["read", "write"]


def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((Path(__file__).parents[3] / "app.yml").read_text())
    return loaded


def test_the_app_is_not_public() -> None:
    assert manifest()["public"] is False


def test_the_events_are_those_that_a_trigger_reads() -> None:
    assert manifest()["default_events"] == sorted(set(TRIGGERS) - ALWAYS_SENT)


def test_the_local_github_grants_what_the_manifest_asks_for(tmp_path: Path) -> None:
    app = LocalGitHub(tmp_path).app
    assert list(app.events) == manifest()["default_events"]
    assert app.permissions == manifest()["default_permissions"]


def test_c08_the_permissions_are_those_that_tokens_ask_for_and_no_more() -> None:
    asked: dict[str, str] = {}
    purposes = (
        github.TO_WRITE_ISSUES,
        github.TO_WRITE_PULL_REQUESTS,
        github.TO_FETCH,
        github.TO_READ,
        github.TO_PUBLISH,
        github.TO_CHECK,
    )
    for purpose in purposes:
        for name, level in purpose.items():
            asked[name] = max(level, asked.get(name, "read"), key=LEVELS.index)
    assert manifest()["default_permissions"] == asked
