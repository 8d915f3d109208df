"""Start the egress of one sandbox: ``python -I -m sandbox.egress.launch``; policy and secrets come on standard input.

The first line holds both, later lines are orders (``{"do": "drop-fetch"}``), the end of input is ignored. Standard
output carries the journal and nothing else. The secrets are in this process's memory only: not in its environment,
its arguments, a file or a core dump.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import select
import signal
import sys
import time
import types
from pathlib import Path
from typing import Any, NoReturn, cast

import h2
import h11
import mitmproxy

# mitmproxy.addons imports every addon there is (a web server, LDAP, ...) when any one of them is imported: 0.1 s and
# 16 MB for nothing. An empty package in its place lets the two that we use be imported alone.
_addons = types.ModuleType("mitmproxy.addons")
_addons.__path__ = [str(Path(mitmproxy.__file__).parent / "addons")]
sys.modules.setdefault("mitmproxy.addons", _addons)

from mitmproxy import options, version  # noqa: E402
from mitmproxy.addons.core import Core  # noqa: E402
from mitmproxy.addons.proxyserver import Proxyserver  # noqa: E402
from mitmproxy.master import Master  # noqa: E402
from mitmproxy.proxy.mode_servers import ServerInstance  # noqa: E402

from sandbox.egress import headers, policy, tls  # noqa: E402
from sandbox.egress.addon import Egress  # noqa: E402
from sandbox.egress.dial import PinnedLoop  # noqa: E402
from sandbox.egress.door import Door, Doors  # noqa: E402
from sandbox.egress.journal import Journal  # noqa: E402

# The service writes the first line as soon as the container runs.
FIRST_LINE_SECONDS = 10
# CA bundles may be in it; the largest public one is 0.3 MB.
MAX_LINE_BYTES = 2 * 2**20
# Below these, known holes are open: CR and LF in an HTTP/2 request became a second request upstream (mitmproxy, h2),
# and a malformed chunk hid one (h11). HEAD needs Python 3.12.
FLOORS = {"python": (3, 12, 0), "mitmproxy": (12, 2, 3), "h2": (4, 3, 0), "h11": (0, 16, 0)}
# A tmpfs in the container.
SCRATCH = Path("/tmp/gofer-egress")  # noqa: S108
SOCKETS = {
    "model": Path("/sock/agent/model.sock"),
    "general": Path("/sock/agent/general.sock"),
    "git": Path("/sock/fetch/git.sock"),
}
# All that is not mitmproxy's default or must never become anything else. The effective whole is held against a
# golden file by tests/sandbox/egress/test_options.py.
OPTIONS: dict[str, Any] = {
    "mode": [],  # our own doors stand in front; mitmproxy opens no port at all
    "server": False,
    "confdir": str(SCRATCH),
    "connection_strategy": "lazy",
    "rawtcp": False,
    "websocket": False,
    "http2": False,
    "http3": False,
    "ssl_insecure": False,
    "upstream_cert": False,
    "add_upstream_certs_to_client_chain": False,
    "validate_inbound_headers": True,
    "store_streamed_bodies": False,
    "stream_large_bodies": None,
    "body_size_limit": None,
    "keep_host_header": False,
    "ignore_hosts": [],
    "allow_hosts": [],
    "tcp_hosts": [],
    "udp_hosts": [],
}


class Trouble(logging.Handler):
    """mitmproxy's errors: the type alone is told on, and the connection in which it happened ends."""

    def __init__(self, journal: Journal, doors: Doors) -> None:
        super().__init__(logging.ERROR)
        self._journal, self._doors = journal, doors

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        self._journal.trouble(record.name, kind.__name__ if kind is not None else "error")
        if (door := self._doors.get(getattr(record, "client", None))) is not None:
            door.end()


def too_old(found: dict[str, tuple[int, ...]]) -> str:
    """Which of the floors is not met, in words; empty when all are."""
    below = [name for name, floor in FLOORS.items() if found[name] < floor]
    return f"too old to be safe: {', '.join(below)}" if below else ""


def versions() -> dict[str, tuple[int, ...]]:
    h11_version: str = h11.__version__  # type: ignore[attr-defined]
    words = {"mitmproxy": version.VERSION, "h2": h2.__version__, "h11": h11_version}
    found = {name: tuple(int(part) for part in text.split(".")[:3] if part.isdecimal()) for name, text in words.items()}
    return {**found, "python": tuple(sys.version_info[:3])}


def harden() -> None:
    """No core dump, and no other process of this uid may look into this one's memory."""
    import ctypes

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pr_set_dumpable = 4
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_dumpable, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def first_line(fd: int, seconds: float) -> tuple[bytes, bytes]:
    """The first line, and what was read beyond it. Raises ``ValueError`` where there is none in time."""
    buffer, deadline = bytearray(), time.monotonic() + seconds
    while b"\n" not in buffer:
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(fd, 64 * 2**10) if ready else b""
        if not piece or len(buffer) > MAX_LINE_BYTES:
            raise ValueError("no policy on standard input")
        buffer += piece
    line, _, rest = bytes(buffer).partition(b"\n")
    return line, rest


def parse(line: bytes) -> tuple[policy.Policy, headers.Credentials]:
    """Raises ``ValueError`` with words that hold nothing of the line itself."""
    try:
        given = json.loads(line)
    except ValueError:
        raise ValueError("the first line is no JSON") from None
    if not isinstance(given, dict) or set(given) != {"policy", "secrets"} or not isinstance(given["secrets"], dict):
        raise ValueError("the first line must have exactly: policy, secrets")
    if not isinstance(given["policy"], dict):
        raise ValueError("the policy is no object")
    rules = policy.parse(given["policy"])
    return rules, headers.Credentials(given["secrets"], rules.model_header)


def make_master(loop: asyncio.AbstractEventLoop) -> Master:
    """mitmproxy with the two of its own addons that it cannot do without. Raises where an option did not take."""
    master = Master(options.Options(), event_loop=loop)
    untyped: Any = master
    untyped.addons.add(Core(), Proxyserver())  # type: ignore[no-untyped-call]
    untyped.options.update(**OPTIONS)
    wrong = [name for name, value in OPTIONS.items() if getattr(master.options, name) != value]
    if wrong:
        raise RuntimeError(f"options that did not take: {', '.join(wrong)}")
    return master


class Orders:
    """Later lines of standard input. What is not understood is reported and does nothing."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, rest: bytes, egress: Egress, journal: Journal) -> None:
        self._loop, self._fd, self._egress, self._journal = loop, fd, egress, journal
        self._buffer = rest
        self._obey()
        loop.add_reader(fd, self._readable)

    def _readable(self) -> None:
        piece = os.read(self._fd, 64 * 2**10)
        if not piece or len(self._buffer) > MAX_LINE_BYTES:
            self._loop.remove_reader(self._fd)
            return
        self._buffer += piece
        self._obey()

    def _obey(self) -> None:
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            try:
                order = json.loads(line)
            except ValueError:
                order = None
            if order == {"do": "drop-fetch"}:
                self._egress.drop_fetch()
                self._journal.fetch_dropped()
            else:
                self._journal.trouble("orders", "unknown")


def trust(rules: policy.Policy) -> dict[str, str]:
    """The file of trusted CA certificates for each listener whose upstream speaks TLS."""
    SCRATCH.mkdir(mode=0o700, parents=True, exist_ok=True)
    upstreams = {"model": rules.model, "git": rules.git}
    return {name: tls.trusted(up, SCRATCH, name) for name, up in upstreams.items() if up is not None and up.tls}


def _mode(upstream: policy.Upstream | None) -> str:
    """Host, SNI and address are configuration in reverse mode. Where nothing is upstream, a name that cannot be."""
    if upstream is None:
        return "reverse:http://nowhere.invalid:1"
    host = f"[{upstream.host}]" if ":" in upstream.host else upstream.host
    return f"reverse:{'https' if upstream.tls else 'http'}://{host}:{upstream.port}"


async def open_doors(doors: Doors, proxy: Proxyserver, rules: policy.Policy) -> None:
    modes = {"model": _mode(rules.model), "general": "regular", "git": _mode(rules.git)}
    for listener, path in SOCKETS.items():
        # Never started, so it listens nowhere: it only makes the handler of a connection that a door accepted.
        instance: ServerInstance[Any] = ServerInstance.make(modes[listener], proxy)

        async def serve(door: Door, instance: ServerInstance[Any] = instance) -> None:
            await instance.handle_stream(cast(asyncio.StreamReader, door), cast(asyncio.StreamWriter, door))

        await doors.listen(listener, path, serve)


async def run(rules: policy.Policy, credentials: headers.Credentials, rest: bytes, journal: Journal) -> None:
    """Until SIGTERM. Raises, and so ends the process, where anything that everything hangs on has died."""
    loop = cast(PinnedLoop, asyncio.get_running_loop())
    doors = Doors()
    logging.basicConfig(level=logging.ERROR, handlers=[Trouble(journal, doors)], force=True)
    master = make_master(loop)
    addons: Any = master.addons
    egress = Egress(rules, credentials, journal, doors, loop, trust(rules))
    addons.add(egress)
    loop.add_signal_handler(signal.SIGTERM, master.shutdown)
    proxy = cast(Proxyserver, addons.get("proxyserver"))
    await open_doors(doors, proxy, rules)
    Orders(loop, 0, rest, egress, journal)
    journal.ready()
    await master.run()


def main() -> NoReturn:
    """Exit status 1 with a last line in the journal where it cannot start or cannot go on; 0 after SIGTERM."""
    journal = Journal()
    try:
        harden()
        if old := too_old(versions()):
            raise ValueError(old)
        line, rest = first_line(0, FIRST_LINE_SECONDS)
        rules, credentials = parse(line)
        del line
    except (ValueError, OSError) as error:
        journal.fatal(str(error) if isinstance(error, ValueError) else "cannot start")
        sys.exit(1)
    try:
        with asyncio.Runner(loop_factory=PinnedLoop) as runner:
            runner.run(run(rules, credentials, rest, journal))
    except Exception as error:
        journal.fatal(str(error) if isinstance(error, ValueError) else f"ended by {type(error).__name__}")
        sys.exit(1)
    sys.exit(0)


if __name__ == "__main__":
    main()
