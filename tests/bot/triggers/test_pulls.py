from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from bot.triggers.pulls import PullRequest


@pytest.mark.parametrize("sha", ["a" * 40, "0" * 64])
def test_a_head_is_a_commit(sha: str) -> None:
    assert PullRequest.model_validate({"number": 1, "head": {"sha": sha}}).head.sha == sha


@pytest.mark.parametrize("sha", ["", "main", "a" * 39, "A" * 40, "a" * 40 + "\n", "--output=x", None, 1])
def test_g25_anything_else_is_no_payload(sha: Any) -> None:
    with pytest.raises(ValidationError):
        PullRequest.model_validate({"number": 1, "head": {"sha": sha}})
