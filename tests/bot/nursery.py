"""A process that has imported the server and forks one for each line on its stdin: servers that start in no time.

A line is JSON: {"environment": {...}, "folder": PATH, "kill": [number, when] or null}; the answer is the server's pid.
The process reads no more when its stdin ends, and takes its servers with it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from bot.config import from_environment
from bot.serve import serve
from sandbox import Sandbox, Settings
from tests.bot.file_sandbox import FileSandbox


def child(order: dict[str, object]) -> int:
    os.dup2(os.open(f"{order['folder']}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    kill = order["kill"]

    async def opener(url: str, settings: Settings) -> Sandbox:
        assert kill is None or isinstance(kill, list)
        return FileSandbox(Path(str(order["folder"])), None if kill is None else (kill[0], kill[1]))

    environment = order["environment"]
    assert isinstance(environment, dict)
    return serve(from_environment(environment), opener)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: the parent asks for the pid's life only
    children = []
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setpgid(0, 0)
            os._exit(child(json.loads(line)))
        children.append(pid)
        print(pid, flush=True)
    for pid in children:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main()
