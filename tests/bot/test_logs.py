"""One line is one record, whatever is in it."""

from __future__ import annotations

import json
import logging

from bot.logs import TASK, JsonLines


def line_of(message: str, *args: object) -> str:
    record = logging.LogRecord("bot.x", logging.INFO, __file__, 1, message, args, None)
    return JsonLines().format(record)


def test_text_of_a_stranger_forges_no_line() -> None:
    line = line_of("prompt: %s", 'x\n{"level": "ERROR"}\u2028\x1b[2J')
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line
    assert json.loads(line)["level"] == "INFO"


def test_line_says_which_task_it_is_about() -> None:
    token = TASK.set("abc")
    try:
        assert json.loads(line_of("hello"))["task"] == "abc"
    finally:
        TASK.reset(token)
    assert "task" not in json.loads(line_of("hello"))


def test_traceback_stays_in_its_line() -> None:
    try:
        raise ValueError("a\nb")
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
        record = logging.LogRecord("bot.x", logging.ERROR, __file__, 1, "m", (), info)
    line = JsonLines().format(record)
    assert len(line.splitlines()) == 1
    assert "ValueError: a\nb" in json.loads(line)["exception"]
