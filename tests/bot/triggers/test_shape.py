from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import BaseModel, ValidationError

from bot.triggers.shape import Id, Moment, OptionalText, Repo, Text, User


class Probe(BaseModel):
    id: Id = 1
    text: Text = ""
    optional: OptionalText = ""
    moment: Moment = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("number", [1, 2**63 - 1])
def test_an_id_fits_a_column(number: int) -> None:
    assert Probe.model_validate({"id": number}).id == number


@pytest.mark.parametrize("number", [0, -1, 2**63, "1", 1.0, True, None])
def test_w17_anything_else_is_no_id(number: object) -> None:
    with pytest.raises(ValidationError):
        Probe.model_validate({"id": number})


def test_b25_text_is_what_can_be_stored() -> None:
    assert Probe.model_validate({"text": "a\0\ud800b"}).text == "ab"


def test_b10_null_text_is_empty_where_it_may_be_null() -> None:
    assert Probe.model_validate({"optional": None}).optional == ""
    with pytest.raises(ValidationError):
        Probe.model_validate({"text": None})


@pytest.mark.parametrize("moment", ["2026-01-01T00:00:00", 0, None, "soon", ""])
def test_a_moment_without_a_zone_is_none(moment: object) -> None:
    with pytest.raises(ValidationError):
        Probe.model_validate({"moment": moment})


@pytest.mark.parametrize("login", ["octocat", "dependabot[bot]", "a-b", "Some_One.x"])
def test_a_login_is_read(login: str) -> None:
    assert User.model_validate({"id": 1, "login": login, "type": "User"}).actor().login == login


@pytest.mark.parametrize("login", ["", "a b", "a/../b", "a\n", "[bot]", "a[bot]b", "é", "x" * 101, "%2e", ".", ".."])
def test_s20_a_login_or_name_that_would_bend_a_url_is_no_payload(login: str) -> None:
    with pytest.raises(ValidationError):
        User.model_validate({"id": 1, "login": login, "type": "User"})
    repo = {"id": 1, "name": login, "owner": {"login": "o"}, "private": False, "default_branch": "main"}
    with pytest.raises(ValidationError):
        Repo.model_validate(repo)
