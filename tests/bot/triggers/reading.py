"""Sample payloads with changes, read by a trigger."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from bot.tasks import Change, Request
from bot.triggers import Context, Ignored, Trigger
from tests.bot.deliveries import APP_ID, holed, paths, sample

CONTEXT = Context("d-1", "/agent", APP_ID)
# Gone, null, a number that no database column takes, a text that none takes. (All kinds: test_issue_comment.py.)
OTHER_KINDS: list[Any] = [..., None, 2**70, "\ud800\0"]


def read(trigger: Trigger, name: str, **changes: Any) -> Request | Change | Ignored:
    """The sample with values put in: ``comment__id=5``; ``...`` takes one out."""
    payload = sample(name)
    for path, value in changes.items():
        payload = holed(payload, tuple(path.split("__")), value)
    return trigger(payload, CONTEXT)


def asked(trigger: Trigger, name: str, **changes: Any) -> Request:
    found = read(trigger, name, **changes)
    assert isinstance(found, Request), found
    return found


def reason(trigger: Trigger, name: str, **changes: Any) -> str:
    found = read(trigger, name, **changes)
    assert isinstance(found, Ignored), found
    return found.reason


def survives(trigger: Trigger, name: str) -> None:
    """No value of any kind at any place makes it raise anything but that it is no such payload."""
    payload = sample(name)
    for put in OTHER_KINDS:
        for path in paths(payload):
            try:
                found = trigger(holed(payload, path, put), CONTEXT)
            except ValidationError:
                continue
            if not isinstance(found, Ignored):
                assert json.loads(found.model_dump_json())["delivery_id"] == "d-1"
    others: list[object] = [None, [], "x", 0, {}, {"action": 1}, [[]]]
    for other in others:
        with pytest.raises(ValidationError):
            trigger(other, CONTEXT)
