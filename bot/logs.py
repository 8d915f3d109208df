"""Logging: one JSON object a line, so that no text in it can forge another line, each with the task it is about."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime

from aiohttp.http_exceptions import HttpProcessingError

# Set by the runner around the work on a task: everything logged meanwhile is about it, whichever module logs.
TASK: ContextVar[str] = ContextVar("gofer_task", default="")

# Libraries whose INFO is noise, or may hold addresses and headers at DEBUG.
QUIET = ("aiohttp", "alembic", "asyncio", "docker", "sqlalchemy", "urllib3")


class JsonLines(logging.Formatter):
    """One record as one line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if task := TASK.get():
            line["task"] = task
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)


class WithoutNoise(logging.Filter):
    """What is no HTTP is answered with 400, and is one short line: anybody can send it, any number of times."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            record.exc_info = record.exc_text = None
            record.msg, record.args = "a request that is no HTTP was refused: %s", (type(error).__name__,)
            record.levelno, record.levelname = logging.INFO, "INFO"
        return True


def start_logging(level: str) -> None:
    """To standard error, from now on. May be called again."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(WithoutNoise())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
