"""The three sockets, each with mitmproxy's handler of connections behind it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from mitmproxy.proxy.mode_servers import ServerInstance, ServerManager

from sandbox.egress.door import Door, Doors
from sandbox.egress.reach import Policy, Upstream

SOCKETS = {
    "model": Path("/sock/agent/model.sock"),
    "general": Path("/sock/agent/general.sock"),
    "git": Path("/sock/fetch/git.sock"),
    "setup": Path("/sock/setup/general.sock"),
}


async def open_doors(doors: Doors, manager: ServerManager, rules: Policy) -> None:
    """Listen on all from now on (for the model only where there is one).

    Raises ``OSError`` where one cannot be made: then nothing must start.
    """
    modes = {"model": _mode(rules.model), "general": "regular", "git": _mode(rules.git), "setup": "regular"}
    for listener, path in SOCKETS.items():
        if listener == "model" and rules.model is None:
            continue  # no agent runs here
        if listener == "setup" and not rules.general.setup:
            continue
        if listener == "general" and not path.parent.is_dir():
            continue  # nobody is there to ask: it fetches, or serves a setup, alone
        # Never started, so it listens nowhere: it only makes the handler of a connection that a door accepted.
        instance: ServerInstance[Any] = ServerInstance.make(modes[listener], manager)

        async def serve(door: Door, instance: ServerInstance[Any] = instance) -> None:
            await instance.handle_stream(cast(asyncio.StreamReader, door), cast(asyncio.StreamWriter, door))

        await doors.listen(listener, path, serve)


def _mode(upstream: Upstream | None) -> str:
    """Host, SNI and address are configuration in reverse mode. Where nothing is upstream, a name that cannot be."""
    if upstream is None:
        return "reverse:http://nowhere.invalid:1"
    host = f"[{upstream.host}]" if ":" in upstream.host else upstream.host
    return f"reverse:{'https' if upstream.tls else 'http'}://{host}:{upstream.port}"
