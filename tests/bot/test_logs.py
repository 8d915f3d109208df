"""One line is one record, whatever is in it."""

from __future__ import annotations

import json
import logging

from aiohttp.http_exceptions import BadHttpMessage

from bot.logs import TASK, JsonLines, WithoutNoise


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


def test_request_of_a_stranger_that_is_no_http_brings_no_traceback_and_nothing_of_it_into_the_log() -> None:
    try:
        raise BadHttpMessage("what he sent " * 100)
    except BadHttpMessage as error:
        info = (BadHttpMessage, error, error.__traceback__)
        record = logging.LogRecord("aiohttp.server", logging.ERROR, __file__, 1, "Error handling request", (), info)
    assert WithoutNoise().filter(record)
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["message"]) == ("INFO", "a request that is no HTTP was refused: BadHttpMessage")
    assert "exception" not in line
    assert "what he sent" not in str(line)


def test_error_of_our_own_keeps_its_traceback() -> None:
    try:
        raise ValueError("ours")
    except ValueError as error:
        info = (ValueError, error, error.__traceback__)
        record = logging.LogRecord("aiohttp.server", logging.ERROR, __file__, 1, "Error handling request", (), info)
    assert WithoutNoise().filter(record)
    assert "ours" in json.loads(JsonLines().format(record))["exception"]
