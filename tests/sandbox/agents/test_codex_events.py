from __future__ import annotations

import pytest

from sandbox.agents.codex_events import MAX_CHANGES, Began, Completed, Failed, Other, Step, Trouble, TurnStarted, parse

MANY = b'{"type":"item.completed","item":{"type":"file_change","changes":[' + b'{"path":"x"},' * MAX_CHANGES


@pytest.mark.parametrize(
    "line",
    [
        b"{not json",
        b"[]",
        b"{}",
        b'{"type": 1}',
        b'{"type": ["turn.completed"]}',
        b'{"type": "item.completed"}',
        b'{"type": "item.completed", "item": {}}',
        b'{"type": "item.completed", "item": {"type": "agent_message", "text": 1}}',
        b'{"type": "turn.failed"}',
        b'{"type": "turn.failed", "error": "x"}',
        b'{"type": "turn.failed", "error": {"message": null}}',
        b'{"type": "error"}',
    ],
)
def test_a_line_that_is_not_what_its_type_demands_is_refused(line: bytes) -> None:
    assert parse(line) is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"thread_id": "x", "type": "thread.started"}', Began),
        (b'{"type": "thread.started", "thread_id": 1}', Began),
        (b'{"type": "turn.started"}', TurnStarted),
        (b'{"type": "item.started", "item": {"type": "news", "n": [1]}}', Step),
        (b'{"type": "item.updated", "item": {"type": "todo_list", "items": []}}', Step),
        (b'{"type": "turn.completed"}', Completed),
        (b'{"type": "turn.completed", "usage": 7}', Completed),
        (b'{"type": "turn.failed", "error": {"message": "x"}}', Failed),
        (b'{"type": "error", "message": "x"}', Trouble),
        (b'  {"type": "news"}\r', Other),
    ],
)
def test_a_line_is_read_as_its_type(line: bytes, kind: type) -> None:
    assert type(parse(line)) is kind


@pytest.mark.parametrize(("tail", "shown"), [(b"", True), (b'{"path":"x"},', False)])
def test_more_changes_than_anybody_looks_at_do_not_cost_the_line(tail: bytes, shown: bool) -> None:
    event = parse((MANY + tail).rstrip(b",") + b"]}}")
    assert isinstance(event, Step)
    assert (event.item.changes is not None) == shown
