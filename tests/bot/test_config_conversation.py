"""What bounds the conversation, as the operator sets it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from bot.allowance import Allowance
from bot.config_conversation import ConversationSettings


def test_unless_something_is_said_the_bounds_are_the_allowance_s() -> None:
    assert ConversationSettings().allowance == Allowance()


def test_each_bound_is_the_operator_s_to_set() -> None:
    settings = ConversationSettings(tasks_per_hour_of_person=1, tasks_per_hour_of_repository=2, tasks_per_hour=3)
    assert settings.allowance == Allowance(person=1, repository=2, everybody=3)


@pytest.mark.parametrize("name", ["max_running", "tasks_per_hour_of_person", "tasks_per_hour"])
def test_nothing_at_all_is_not_a_bound(name: str) -> None:
    with pytest.raises(ValidationError):
        ConversationSettings.model_validate({name: 0})


def test_no_round_of_reviews_may_be_allowed_at_all() -> None:
    assert ConversationSettings(review_rounds=0).review_rounds == 0
