"""What the egress adds to a stream: milliseconds a chunk, beside the same stream without it; and its memory.

The stand-in upstream writes the time of sending into each chunk, the client in a container notes when it has it. Both
read one clock: the machine's. The same client reads the same upstream through a plain pump of bytes for comparison.
"""

from __future__ import annotations

import base64
import json
import secrets
import statistics
import time
from collections.abc import Callable
from typing import Any

import docker

from sandbox.images.build import build
from sandbox.images.options import options_from
from tests.sandbox.egress.policies import BUDGET
from tests.sandbox.egress.rig import PYTHON, STOP, Arrived, Egress, StandIn, World, memory, policy_for, post, world

CHUNKS = 400
# A model gives 50 to 100 tokens a second.
PAUSE_SECONDS = 0.005
AIM_MS, AIM_BYTES = 5.0, 60 * 2**20

# Reads a stream from argv[1] (a Unix socket or host:port) and prints, for each chunk, sent and received in seconds.
CLIENT = r"""
import base64, json, re, socket, sys, time
at, send = sys.argv[1], base64.b64decode(sys.argv[2])
if at.startswith("/"):
    s = socket.socket(socket.AF_UNIX); s.connect(at)
else:
    s = socket.create_connection((at.rpartition(":")[0], int(at.rpartition(":")[2])))
s.sendall(send)
got, seen = b"", []
while b"message_stop" not in got:
    piece = s.recv(65536)
    now = time.monotonic()
    if not piece:
        break
    got = got[-64:] + piece
    seen += [(float(sent), now) for sent in re.findall(rb'"sent":([0-9.]+)', piece)]
print(json.dumps(seen))
"""


def timed(request: Arrived, send: Callable[[bytes], None]) -> None:
    send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    for _ in range(CHUNKS):
        event = b'event: content_block_delta\ndata: {"sent":%.6f,"text":"%s"}\n\n' % (time.monotonic(), b"x" * 40)
        send(b"%x\r\n%s\r\n" % (len(event), event))
        time.sleep(PAUSE_SECONDS)
    send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(STOP), STOP))


def main() -> None:
    client = docker.from_env()
    instance = f"bench{secrets.token_hex(4)}"
    image = build(client, options_from({}), ["egress"])["egress"]
    with world(client, image, instance) as here:
        upstream = StandIn(here.gateway, timed)
        egress = here.start(policy_for(upstream, budget=BUDGET))
        idle = memory(egress)
        direct = _measure(here, egress, f"{upstream.host}:{upstream.port}", network=here.network)
        through = _measure(here, egress, "/sock/agent/model.sock")
        busy = memory(egress)
        upstream.close()
    p50, p99 = _quantiles(through)
    base50, base99 = _quantiles(direct)
    print(f"chunks: {len(through)} through, {len(direct)} direct")
    print(f"direct:  p50 {base50:.2f} ms, p99 {base99:.2f} ms a chunk")
    print(f"egress:  p50 {p50:.2f} ms, p99 {p99:.2f} ms a chunk ({p50 / base50:.1f} and {p99 / base99:.1f} times)")
    print(f"added:   p50 {p50 - base50:.2f} ms, p99 {p99 - base99:.2f} ms (aim: {AIM_MS} ms)")
    print(
        f"memory of one egress: {idle / 2**20:.0f} MiB idle, {busy / 2**20:.0f} MiB after (aim: {AIM_BYTES >> 20} MiB)"
    )


def _measure(here: World, egress: Egress, at: str, network: str = "none") -> list[float]:
    """Milliseconds from sending to receiving, for each chunk."""
    request = base64.b64encode(post("/v1/messages")).decode()
    more: dict[str, Any] = {"network": network} if network != "none" else {"network_mode": "none"}
    container = here.client.containers.create(
        here.image,
        [*PYTHON, CLIENT, at, request],
        labels=here.labels("agent"),
        user="65532:65532",
        mounts=egress._mounts(read_only=True),
        **more,
    )
    try:
        container.start()
        container.wait(timeout=120)
        seen = json.loads(container.logs(stderr=False))
    finally:
        container.remove(force=True)
    return [(received - sent) * 1000 for sent, received in seen]


def _quantiles(values: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(values, n=100)
    return cuts[49], cuts[98]
