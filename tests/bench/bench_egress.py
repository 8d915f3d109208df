"""What the egress adds to a stream: milliseconds a chunk, beside the same stream without it; and its memory.

The stand-in upstream writes the time of sending into each chunk, the client in a container notes when it has it. Both
read one clock: the machine's. The same client reads the same stream straight from the upstream, in turns with the
egress: what that takes is client, server and machine, and no figure here says more than that one lets it.
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

CHUNKS, ROUNDS = 400, 5
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
    try:
        with world(client, image, instance) as here:
            upstream = StandIn(here.gateway, timed)
            egress = here.start(policy_for(upstream, budget=BUDGET))
            idle = memory(egress)
            rounds = [_round(here, egress, upstream) for _ in range(ROUNDS)]
            busy = memory(egress)
            upstream.close()
    finally:
        client.close()
    print(f"{ROUNDS} rounds in turns of {CHUNKS} chunks, {PAUSE_SECONDS * 1000:.0f} ms apart; medians of the rounds")
    added = [(through[0] - direct[0], through[1] - direct[1]) for direct, through in rounds]
    times = [(through[0] / direct[0], through[1] / direct[1]) for direct, through in rounds]
    _line("direct", [direct for direct, _ in rounds])
    _line("egress", [through for _, through in rounds])
    _line(f"added (aim: p99 {AIM_MS:.0f} ms)", added)
    print(f"  {'times direct':22} p50 {_median(times, 0):7.1f}     p99 {_median(times, 1):7.1f}")
    if _median([direct for direct, _ in rounds], 1) > AIM_MS:
        print("  this machine is too busy for p99: client and server alone take longer than what is to be measured")
    print(f"  memory of one egress: {idle / 2**20:.0f} MiB idle, {busy / 2**20:.0f} MiB after", end="")
    print(f" (aim: {AIM_BYTES >> 20} MiB)")


Two = tuple[float, float]
"""p50 and p99."""


def _round(here: World, egress: Egress, upstream: StandIn) -> tuple[Two, Two]:
    """Milliseconds a chunk straight from the upstream, and through the egress."""
    direct = _measure(here, egress, f"{upstream.host}:{upstream.port}", network=here.network)
    through = _measure(here, egress, "/sock/agent/model.sock")
    if (len(direct), len(through)) != (CHUNKS, CHUNKS):
        raise RuntimeError(f"chunks were lost: {len(direct)} and {len(through)} of {CHUNKS}")
    return _quantiles(direct), _quantiles(through)


def _line(what: str, rounds: list[Two]) -> None:
    p50, p99 = _median(rounds, 0), _median(rounds, 1)
    worst = max(two[1] for two in rounds)
    print(f"  {what:22} p50 {p50:7.2f} ms, p99 {p99:7.2f} ms (of the worst round: {worst:.2f} ms)")


def _median(rounds: list[Two], which: int) -> float:
    return statistics.median(two[which] for two in rounds)


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


def _quantiles(values: list[float]) -> Two:
    cuts = statistics.quantiles(values, n=100)
    return cuts[49], cuts[98]
