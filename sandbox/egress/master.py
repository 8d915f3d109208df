"""mitmproxy, cut down to what is used here: two of its own addons, no port, and options that are held to a list."""

from __future__ import annotations

import asyncio
import sys
import types
from pathlib import Path
from typing import Any

import mitmproxy

# mitmproxy.addons imports every addon there is (a web server, LDAP, ...) when any one of them is imported: 0.1 s and
# 16 MB for nothing. An empty package in its place lets the two that we use be imported alone.
_addons = types.ModuleType("mitmproxy.addons")
_addons.__path__ = [str(Path(mitmproxy.__file__).parent / "addons")]
sys.modules.setdefault("mitmproxy.addons", _addons)

from mitmproxy import options  # noqa: E402
from mitmproxy.addons.core import Core  # noqa: E402
from mitmproxy.addons.proxyserver import Proxyserver  # noqa: E402
from mitmproxy.master import Master  # noqa: E402

# A tmpfs in the container.
SCRATCH = Path("/tmp/gofer-egress")  # noqa: S108
# All that is not mitmproxy's default or must never become anything else. The effective whole is held against a
# golden file by tests/sandbox/egress/test_master.py.
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
