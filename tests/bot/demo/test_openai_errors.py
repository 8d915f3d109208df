from __future__ import annotations

import pytest

from bot.demo import openai_errors
from bot.demo.scenarios import FAILURES


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_has_the_shape_of_the_api(name: str) -> None:
    status, body = openai_errors.failure(name)
    assert str(status) == name or (name, status) == ("quota", 429)
    assert set(body["error"]) == {"message", "type", "param", "code"}
