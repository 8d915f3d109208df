"""``gofer serve`` as a process: settings, log, signals."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading

from bot.app import Opener, StartError, serving
from bot.config import Config, from_environment
from bot.logs import start_logging
from sandbox import open_sandbox, spawn

_log = logging.getLogger(__name__)

# Seconds for threads that are done to end.
LEAVE_SECONDS = 0.2


def serve(config: Config | None = None, opener: Opener = open_sandbox) -> int:
    """Until SIGTERM or SIGINT (0), or until it cannot go on (2, said in one line). Raises ``ConfigError``,
    ``StoreError``."""
    config = config or from_environment()
    start_logging(config.log_level)
    try:
        asyncio.run(_serve(config, opener))
    except StartError as error:
        print(f"gofer: {error}", file=sys.stderr)
        return 2
    return 0


def leave(status: int) -> int:
    """``status``, or the end of the process at once, where a thread still hangs in the database.

    The interpreter would wait for it. A transaction is whole or not there, so nothing is lost by not waiting.
    """
    main = threading.main_thread()
    others = [thread for thread in threading.enumerate() if thread is not main and not thread.daemon]
    for thread in others:
        thread.join(LEAVE_SECONDS / len(others))
    if any(thread.is_alive() for thread in others):
        _log.warning("left without waiting for the database")
        logging.shutdown()
        os._exit(status)
    return status


async def _serve(config: Config, opener: Opener) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with serving(config, opener=opener) as server:
        _log.info("listening on %s", server.url)
        signalled = spawn(stopped.wait(), name="signal")
        failed = spawn(server.failed(), name="failed")
        await asyncio.wait([signalled, failed], return_when=asyncio.FIRST_COMPLETED)
        signalled.cancel()
        if failed.done():
            raise failed.result()
        failed.cancel()
        _log.info("stopping; sandboxes run on")
