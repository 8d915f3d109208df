"""``gofer runner`` as a process: sandboxes behind an HTTP API, and nothing of GitHub's."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from bot.config import ConfigError, RunnerConfig, for_runner
from bot.logs import start_logging
from sandbox import ApiSettings, ServedApi, Settings, serve_api, spawn

_log = logging.getLogger(__name__)

Server = Callable[[Settings, ApiSettings], AbstractAsyncContextManager[ServedApi]]


def serve_runner(config: RunnerConfig | None = None, server: Server = serve_api) -> int:
    """Until SIGTERM or SIGINT (0), or until it cannot go on (2, said in one line). Raises ``ConfigError``."""
    config = config or for_runner()
    start_logging(config.log_level)
    _make_state_dir(config)
    settings, api = config.sandbox_settings(), config.api_settings()
    try:
        why = asyncio.run(_serve(settings, api, server))
    except ValueError as error:
        raise ConfigError(f"{_setting(str(error))}: {error}") from None
    if why is not None:
        print(f"gofer: {why}", file=sys.stderr)
        return 2
    return 0


def _setting(words: str) -> str:
    """Which of the runner's settings a mistake is about; the sandbox half knows it as a value."""
    if words.startswith("the tokens"):
        return "GOFER_RUNNER_TOKENS_FILE"
    return (
        "GOFER_RUNNER_TLS_CERTIFICATE_FILE"
        if words.startswith(("certificate", "a certificate"))
        else "GOFER_RUNNER_LISTEN"
    )


async def _serve(settings: Settings, api: ApiSettings, server: Server) -> Exception | None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with server(settings, api) as served:
        _log.info("listening on %s", served.url)
        signalled = spawn(stopped.wait(), name="signal")
        failed = spawn(served.failed(), name="failed")
        await asyncio.wait([signalled, failed], return_when=asyncio.FIRST_COMPLETED)
        for task in (signalled, failed):
            task.cancel()
        if failed.done() and not failed.cancelled():
            return failed.result()
        _log.info("stopping; sandboxes run on")
    return None


def _make_state_dir(config: RunnerConfig) -> None:
    make = f"as root: install -d -m 0700 -o USER {config.state_dir}"
    if not config.state_dir.is_dir():
        raise ConfigError(f"GOFER_STATE_DIR: the directory is not there: {config.state_dir}; {make}")
    if not os.access(config.state_dir, os.W_OK | os.X_OK):
        raise ConfigError(f"GOFER_STATE_DIR: {config.state_dir} is not writable for this user; {make}")
