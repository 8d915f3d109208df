"""Start the egress of one sandbox: ``python -I -m sandbox.egress.launch``; policy and secrets come on standard input.

The first line holds both, later lines are orders (``{"do": "drop-fetch"}``), the end of input is ignored. Standard
output carries the journal and nothing else. The secrets are in this process's memory only: not in its environment,
its arguments, a file or a core dump.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn, cast

from mitmproxy.proxy.mode_servers import ServerManager

from sandbox.egress import general, inside, tls
from sandbox.egress.addon import Egress
from sandbox.egress.credentials import Credentials
from sandbox.egress.dial import PinnedLoop
from sandbox.egress.door import Doors
from sandbox.egress.floors import too_old, versions
from sandbox.egress.journal import Journal
from sandbox.egress.listen import SOCKETS, open_doors
from sandbox.egress.master import SCRATCH, make_master
from sandbox.egress.orders import Orders, first_line, parse
from sandbox.egress.reach import Policy
from sandbox.egress.trouble import Trouble

# The service writes the first line as soon as the container runs.
FIRST_LINE_SECONDS = 10


def harden() -> None:
    """No core dump, and no other process of this uid may look into this one's memory."""
    import ctypes

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pr_set_dumpable = 4
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_dumpable, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def trust(rules: Policy) -> dict[str, str]:
    """The file of trusted CA certificates for each listener whose upstream speaks TLS, and for each place."""
    SCRATCH.mkdir(mode=0o700, parents=True, exist_ok=True)
    places = {general.key(upstream): upstream for upstream in general.upstreams(rules.general)}
    upstreams = {"model": rules.model, "git": rules.git, **places, "proxy": rules.proxy}
    inspecting = "" if rules.proxy is None else rules.proxy.ca_pem
    return {
        name: tls.trusted(up, SCRATCH, name, "" if up.private else inspecting)
        for name, up in upstreams.items()
        if up is not None and up.tls
    }


def folders(rules: Policy) -> list[Path]:
    """Where clients look for the certificate of this egress. One that only fetches has no agent's folder."""
    agent, setup = (SOCKETS[listener].parent for listener in ("general", "setup"))
    return [*([agent] if agent.is_dir() else []), *([setup] if rules.general.setup else [])]


async def run(rules: Policy, credentials: Credentials, rest: bytes, journal: Journal) -> None:
    """Until SIGTERM. Raises, and so ends the process, where anything that everything hangs on has died."""
    loop = cast(PinnedLoop, asyncio.get_running_loop())
    doors = Doors()
    logging.basicConfig(level=logging.ERROR, handlers=[Trouble(journal, doors)], force=True)
    master = make_master(loop)
    addons: Any = master.addons
    egress = Egress(rules, credentials, journal, doors, loop, trust(rules))
    addons.add(egress, egress.tunnels)
    loop.add_signal_handler(signal.SIGTERM, master.shutdown)
    for folder in folders(rules):
        inside.publish(egress.tunnels.authority, folder)
    await open_doors(doors, cast(ServerManager, addons.get("proxyserver")), rules)
    Orders(loop, 0, rest, drop_fetch=egress.drop_fetch, close_setup=egress.close_setup, journal=journal)
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
