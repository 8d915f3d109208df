"""Words for a setting that does not fit: whatever the value is, it is not in them."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field, ValidationError

from bot.config_words import words


class Model(BaseModel):
    count: int = Field(default=1, gt=0)
    name: str = Field(default="a", pattern="^a$", examples=["a", "b"])
    bare: str = Field(default="a", pattern="^a$")
    must: int


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("count", "canary", "it must be a whole number"),
        ("count", "1.5canary", "it must be a whole number"),
        ("count", "-1", "it must be greater than 0"),
        ("count", "", "it is empty; leave it out for the default"),
        ("must", "", "it is empty"),
        ("name", "canary", "it must look like a or b"),
    ],
)
def test_each_kind_says_what_to_give(field: str, value: str, expected: str) -> None:
    assert told(field, value) == expected


def test_a_kind_without_words_of_ours_shows_no_value() -> None:
    assert "canary" not in told("bare", "canary")


def told(field: str, value: str) -> str:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"must": 1, field: value})
    (error,) = caught.value.errors()
    return words(error, Model.model_fields[field])
