"""A Docker engine's answers, read."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.engine import LABEL_ROLE, LABEL_SANDBOX, Item, Look, Refused
from sandbox.engines.answers import gateway_of, item_from, look_from, moment

ZERO = "0001-01-01T00:00:00Z"
LATER = "1970-01-01T00:00:09Z"
STATE = {"StartedAt": "1970-01-01T00:00:01Z", "FinishedAt": ZERO, "Running": True, "ExitCode": 0, "OOMKilled": False}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0001-01-01T00:00:00Z", None),
        ("1970-01-01T00:00:01.5Z", 1.5),
        ("2024-02-29T12:00:00.123456789Z", 1709208000.123456789),
        ("2024-02-29T14:00:00+02:00", 1709208000.0),
    ],
)
def test_moments_are_read_as_the_engine_writes_them(text: str, seconds: float | None) -> None:
    assert moment(text) == seconds


@pytest.mark.parametrize("text", ["", "yesterday", "2024-02-29T12:00:00", "2024-02-29 12:00:00Z"])
def test_a_time_that_cannot_be_read_is_no_time(text: str) -> None:
    with pytest.raises(Refused):
        moment(text)


@pytest.mark.parametrize(
    ("change", "look"),
    [
        ({}, Look(True, True, None, False, 1.0, None)),
        ({"Running": False, "StartedAt": ZERO}, Look(False, False, None, False, None, None)),
        (
            {"Running": False, "FinishedAt": LATER, "ExitCode": 137, "OOMKilled": True},
            Look(False, True, 137, True, 1.0, 9.0),
        ),
    ],
)
def test_an_exit_status_is_one_only_after_an_end(change: dict[str, Any], look: Look) -> None:
    """An engine says 0 for a container that has never run, and the last one for one that runs again."""
    assert look_from({**STATE, **change}) == look


def test_labels_that_are_missing_are_empty_words() -> None:
    assert item_from("a", None) == Item("a", "", "")
    assert item_from("a", {LABEL_SANDBOX: "box", LABEL_ROLE: "agent"}) == Item("a", "box", "agent")


@pytest.mark.parametrize(
    "config",
    [{"Subnet": "172.17.0.0/16", "Gateway": "172.17.0.1"}, {"Subnet": "172.17.0.0/16"}],
    ids=["said", "unsaid"],
)
def test_a_bridges_gateway_is_known_also_where_the_engine_does_not_say_it(config: dict[str, str]) -> None:
    assert gateway_of({"IPAM": {"Config": [config]}}) == "172.17.0.1"
