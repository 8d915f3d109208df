"""An error inside mitmproxy: told on without its words, and its connection ends."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

from sandbox.egress.door import Doors
from sandbox.egress.journal import Journal
from sandbox.egress.trouble import Trouble


def told(*, exception: bool) -> list[dict[str, Any]]:
    out, into = os.pipe()
    record = logging.LogRecord("mitmproxy.proxy", logging.ERROR, "", 0, "CANARY %s", ("CANARY",), None)
    if exception:
        try:
            raise KeyError("CANARY")
        except KeyError:
            record.exc_info = sys.exc_info()
    Trouble(Journal(into), Doors()).emit(record)
    os.close(into)
    with os.fdopen(out, "rb") as log:
        return [json.loads(line) for line in log]


def test_an_errors_words_are_not_told() -> None:
    assert told(exception=True) == [{"seq": 1, "event": "trouble", "where": "mitmproxy.proxy", "kind": "KeyError"}]
    assert told(exception=False) == [{"seq": 1, "event": "trouble", "where": "mitmproxy.proxy", "kind": "error"}]
