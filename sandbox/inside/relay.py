"""Offers a Unix socket at a loopback port through socat, for as long as the block runs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from sandbox.inside.bounds import Failed
from sandbox.inside.gitcmd import PATH

# socat listens after a few milliseconds; on a machine under full load it has been seen to take half a second.
LISTEN_SECONDS = 10.0
POLL_SECONDS = 0.01


@contextlib.contextmanager
def relay(sock: Path, port: int) -> Iterator[None]:
    """Listen on 127.0.0.1:``port`` until the block ends. Raises ``Failed`` where the socket or socat is missing."""
    if not sock.is_socket():
        raise Failed("the way out to the git host is not there")
    listen = f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr"
    process = subprocess.Popen(
        ["socat", listen, f"UNIX-CONNECT:{sock}"],
        env={"PATH": PATH},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _await(process, port)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + LISTEN_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(POLL_SECONDS)
    raise Failed("the relay to the git host did not start")
