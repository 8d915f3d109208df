"""Group E on the general way out of a real egress container: it breaks in every place, and nothing gets out."""

from __future__ import annotations

import json

import pytest

from tests.attacks.general import Beyond, beyond
from tests.sandbox.egress.rig import LAUNCH, PYTHON, Egress, Exchange, World
from tests.sandbox.egress.tunnel import Tunnel, get, through

__all__ = ["beyond"]
pytestmark = pytest.mark.engine

# The real launcher, with functions that raise while /tmp/fail names them.
BREAKABLE = r"""
import pathlib
from sandbox.egress import addon, answering, asked, ca, general, headers, inside, journal, launch, paths, redirects
from sandbox.egress import refusing, tls, tunnels
from sandbox.egress.dial import PinnedLoop

def breakable(owner, attribute):
    real, name = getattr(owner, attribute), owner.__name__.rsplit(".")[-1] + "." + attribute
    def either(*args, **kwargs):
        path = pathlib.Path("/tmp/fail")
        if path.exists() and name in path.read_text().split():
            raise RuntimeError("CANARY-in-an-exception")
        return real(*args, **kwargs)
    setattr(owner, attribute, either)

for owner, attribute in [
    (general, "decide"), (general, "is_allowed"), (general, "upstream"), (general, "key"), (paths, "refusal"),
    (asked, "connect"), (asked, "judged"), (asked, "rewrite"), (headers, "sent"), (headers, "answered"),
    (answering, "unwanted"), (answering, "clean"), (redirects, "target"), (inside, "connection"), (inside, "Seal"),
    (inside.Seal, "__call__"), (ca.Authority, "for_host"), (journal.Journal, "verdict"), (tls, "connection"),
    (refusing.Refusals, "request"), (refusing.Refusals, "tell"), (journal.Journal, "trouble"), (PinnedLoop, "pin"),
    (tunnels.Tunnels, "begin"), (tunnels.Tunnels, "inside"), (tunnels.Tunnels, "told"),
    (tunnels, "HttpLayer"), (addon.Egress, "_allow"), (addon.Egress, "_decide"), (addon.Egress, "_upstream"),
    (addon.Egress, "_location"),
]:
    breakable(owner, attribute)
launch.main()
"""
BEFORE_SENDING = [
    "general.decide", "general.is_allowed", "general.upstream", "paths.refusal", "asked.connect", "asked.judged",
    "asked.rewrite", "headers.sent", "inside.connection", "inside.Seal", "Authority.for_host", "Journal.verdict",
    "Egress._allow", "Egress._decide", "Egress._upstream", "tls.connection", "general.key",
]  # fmt: skip
WHILE_REFUSING = ["Seal.__call__", "Refusals.request", "Refusals.tell", "Tunnels.told", "Journal.verdict"]
BEFORE_ANSWERING = ["answering.unwanted", "answering.clean", "headers.answered", "redirects.target", "Egress._location"]

# Each of them takes a second; these stand for the rest in `make test`.
QUICK = {"general.decide", "asked.judged", "inside.connection", "Tunnels.inside", "Seal.__call__", "redirects.target"}


def each(names: list[str]) -> pytest.MarkDecorator:
    marked = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in names]
    return pytest.mark.parametrize("name", marked)


@pytest.fixture(scope="module")
def egress(here: World, beyond: Beyond) -> Egress:
    return here.start(beyond.policy(setup=True), command=[*PYTHON, BREAKABLE])


def fail(egress: Egress, *names: str) -> None:
    assert egress.container.exec_run(["sh", "-c", f"echo {' '.join(names)} > /tmp/fail"]).exit_code == 0


def test_nothing_broken_is_the_control(egress: Egress, beyond: Beyond) -> None:
    fail(egress, "nothing")
    answers = through(
        egress,
        Tunnel("npm.test", beyond.npm.port, get(beyond.host, "/CANARY")),
        Tunnel("evil.test", 443, get("evil.test")),
    )
    assert [answer.status for answer in answers] == [200, 403]
    beyond.npm.settle()


@each(BEFORE_SENDING)
def test_an_exception_before_sending_sends_nothing(egress: Egress, beyond: Beyond, name: str) -> None:
    fail(egress, name)
    beyond.forget()
    allowed, other = through(
        egress,
        Tunnel("npm.test", beyond.npm.port, get(beyond.host, "/CANARY"), seconds=3),
        Tunnel("evil.test", beyond.evil.port, get(f"evil.test:{beyond.evil.port}"), seconds=3),
    )
    assert (allowed.status, other.status) in {(status, refused) for status in (0, 403, 502) for refused in (0, 403)}
    assert b"CANARY" not in beyond.npm.raw
    assert (beyond.npm.requests, beyond.evil.connections) == ([], 0)
    assert b"CANARY-in-an-exception" not in egress.container.logs()


@each(WHILE_REFUSING)
def test_an_exception_while_refusing_is_a_refusal(egress: Egress, beyond: Beyond, name: str) -> None:
    fail(egress, name)
    beyond.forget()
    answers = through(
        egress,
        Tunnel("evil.test", beyond.evil.port, get(f"evil.test:{beyond.evil.port}"), seconds=3),
        Tunnel("npm.test", beyond.npm.port, get(beyond.host, method="POST"), seconds=3),
        Tunnel("npm.test", beyond.npm.port, get("evil.test"), seconds=3),
        Tunnel("npm.test", beyond.npm.port, b"SSH-2.0-x\r\n\r\n", tls=False, seconds=3),
    )
    assert {answer.status for answer in answers} <= {0, 403, 405, 421}
    assert beyond.reached == 0
    fail(egress, "nothing")
    assert egress.container.exec_run(["true"]).exit_code == 0


@each(BEFORE_ANSWERING)
def test_an_exception_before_answering_shows_nothing_of_the_answer(egress: Egress, beyond: Beyond, name: str) -> None:
    answer = b"HTTP/1.1 302 Moved\r\nlocation: /b\r\nx-canary: CANARY\r\ncontent-length: 6\r\n\r\nCANARY"
    before, beyond.npm.answering = beyond.npm.answering, lambda request, send: send(answer)
    fail(egress, name)
    try:
        told = through(egress, Tunnel("npm.test", beyond.npm.port, get(beyond.host), seconds=3))[0]
    finally:
        beyond.npm.answering = before
        fail(egress, "nothing")
    assert told.status in (0, 403)
    assert b"CANARY" not in told.data


def test_where_even_refusing_fails_the_process_ends(here: World, beyond: Beyond) -> None:
    beyond.forget()
    egress = here.start(beyond.policy(), command=[*PYTHON, BREAKABLE])
    fail(egress, "general.decide", "Journal.trouble")
    answer = egress.talk(Exchange(f"CONNECT {beyond.host} HTTP/1.1\r\n\r\n".encode(), to="agent/general.sock"))[0]
    assert answer.status == 0
    assert egress.container.wait(timeout=20)["StatusCode"] == 70
    assert beyond.reached == 0


def test_e28_without_the_egress_no_tunnel_stands(here: World, beyond: Beyond) -> None:
    egress = here.start(beyond.policy())
    beyond.forget()
    egress.container.kill()
    egress.container.wait(timeout=20)
    answer = through(egress, Tunnel("npm.test", beyond.npm.port, get(beyond.host)))[0]
    assert answer.error in ("ConnectionRefusedError", "FileNotFoundError")
    assert beyond.reached == 0


@pytest.mark.slow
def test_e25_a_list_of_destinations_that_is_unclear_is_no_start(here: World, beyond: Beyond) -> None:
    for wrong in ({"host": "*.test"}, {"ca_pem": "junk"}, {"grammar": "any"}, {"host": "10.0.0.1", "private": False}):
        policy = beyond.policy()
        general = policy["general"]
        assert isinstance(general, dict)
        general["allowed"][0].update(wrong)
        egress = started(here, policy)
        assert egress.container.wait(timeout=40)["StatusCode"] == 1
        assert [fact["event"] for fact in egress.log()] == ["fatal"]


def started(here: World, policy: dict[str, object]) -> Egress:
    """As ``World.start``, without waiting for what must not come."""

    egress = Egress(here, LAUNCH)
    secrets = {"model": "", "fetch": "", "proxy": ""}
    egress.tell(json.dumps({"policy": policy, "secrets": secrets}).encode() + b"\n")
    return egress
