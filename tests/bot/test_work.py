from __future__ import annotations

import pytest
from pydantic import ValidationError

from bot.repo_rules import Choice
from bot.tasks import Command, Verb
from bot.threads import Head
from bot.work import Work
from sandbox import Limits


def test_what_is_decided_survives_its_way_through_a_column() -> None:
    work = Work(
        asked=Command(verb=Verb.RUN, prompt="x"),
        choice=Choice(agent="claude", model="m", limits=Limits(cost_usd=2), result="pr", draft=True),
        head=Head(sha="a" * 40, ref="t", repository_id=1, base_ref="main", base_sha="b" * 40),
        threads=(1, 2),
        answered=(1,),
    )
    assert Work.model_validate_json(work.model_dump_json(exclude_defaults=True)) == work


def test_a_column_of_another_version_is_not_taken_for_less() -> None:
    with pytest.raises(ValidationError):
        Work.model_validate({"decided": True})
