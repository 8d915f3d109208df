"""Runs git so that nothing the agent or a repository wrote can steer it.

The environment is made from nothing; system, global and attribute files are off; hooks, fsmonitor, replace refs,
lazy fetches and prompts are off; the repository's configuration is one that we wrote. Every call has a deadline and
a cap on what it may print.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

from sandbox.inside.bounds import MAX_LISTING_BYTES, MAX_WORDS, Deadline

# No PATH of anybody else's: git looks its helpers up there.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CHUNK = 1 << 16

ENVIRONMENT: Mapping[str, str] = {
    "PATH": PATH,
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}

# Given on the command line, where they outrank every file.
FLAGS: tuple[str, ...] = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.excludesFile=/dev/null",
    "-c", "core.untrackedCache=false",
    "-c", "core.symlinks=true",
    "-c", "core.fileMode=true",
    "-c", "core.ignoreCase=false",
    "-c", "core.precomposeUnicode=false",
    "-c", "core.autocrlf=false",
    "-c", "core.safecrlf=false",
    "-c", "core.eol=lf",
    "-c", "core.quotePath=true",
    "-c", "core.compression=1",
    "-c", "core.splitIndex=false",
    "-c", "safe.bareRepository=explicit",
    # The clean directory belongs to another uid than the extractor's; it is ours all the same (B65).
    "-c", "safe.directory=*",
    "-c", "submodule.recurse=false",
    "-c", "fetch.recurseSubmodules=false",
    "-c", "diff.ignoreSubmodules=all",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "advice.detachedHead=false",
)  # fmt: skip


class GitFailed(Exception):
    """Git ended with another status than 0, or was stopped. ``words`` are the end of its own."""

    def __init__(self, what: str, code: int, words: str) -> None:
        super().__init__(f"git {what} failed: {words.strip() or f'exit status {code}'}")
        self.code = code
        self.words = words


class TooSlow(GitFailed):
    """The deadline came first."""


class TooMuch(GitFailed):
    """It printed more than allowed."""


@dataclass(frozen=True)
class Answer:
    """What git printed. ``words`` is the end of its standard error."""

    out: bytes
    words: str


@dataclass(frozen=True)
class Git:
    """Git with a fixed environment and place. ``run`` may be called by one thread at a time."""

    deadline: Deadline
    cwd: str = "/"
    extra: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    def run(self, *args: str, stdin: bytes = b"", limit: int = MAX_LISTING_BYTES) -> Answer:
        """Run to its end. Raises ``TooSlow``, ``TooMuch`` or ``GitFailed``; no child is left behind."""
        argv = ["git", *FLAGS, *self.flags, *args]
        with tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            process = subprocess.Popen(
                argv,
                cwd=self.cwd,
                env={**ENVIRONMENT, **self.extra},
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        return _finish(process, args, limit, self.deadline)


def _finish(process: subprocess.Popen[bytes], args: Sequence[str], limit: int, deadline: Deadline) -> Answer:
    """Read both streams under their bounds, then judge the end."""
    late = threading.Event()

    def expire() -> None:
        late.set()
        _kill(process)

    tail = bytearray()
    timer = threading.Timer(deadline.left(), expire)
    reader = threading.Thread(target=_keep_tail, args=(process.stderr, tail), daemon=True)
    timer.start()
    reader.start()
    try:
        out = _read(process.stdout, limit + 1)
        if len(out) > limit:
            _kill(process)
        code = process.wait()
    finally:
        timer.cancel()
        if process.poll() is None:
            _kill(process)
            process.wait()
        reader.join()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    words = bytes(tail).decode("utf-8", "replace")
    what = next((arg for arg in args if not arg.startswith("-")), "")
    if late.is_set():
        raise TooSlow(what, code, f"it took longer than {deadline.seconds:.0f} seconds")
    if len(out) > limit:
        raise TooMuch(what, code, f"it printed more than {limit:,} bytes")
    if code:
        raise GitFailed(what, code, words)
    return Answer(out, words)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The whole group: git's transports are children of it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(stream: IO[bytes] | None, most: int) -> bytes:
    """At most ``most`` bytes of it."""
    assert stream is not None  # noqa: S101 - a pipe; for the type checker
    parts: list[bytes] = []
    have = 0
    while have < most and (chunk := stream.read1(min(CHUNK, most - have))):  # type: ignore[attr-defined]
        parts.append(chunk)
        have += len(chunk)
    return b"".join(parts)


def _keep_tail(stream: IO[bytes], tail: bytearray) -> None:
    """Drain it, so that git never blocks on it, and keep its end."""
    while chunk := os.read(stream.fileno(), CHUNK):
        tail += chunk
        del tail[:-MAX_WORDS]
