"""Groups E and C on the general way out of a real egress container: what arrives, and where, as stand-in upstreams and
a name server saw it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sandbox.job import Blocked
from tests.attacks.general import Beyond, beyond, egress, general_egress
from tests.sandbox.egress.rig import Arrived, Egress, Exchange
from tests.sandbox.egress.tunnel import Told, Tunnel, get, through

__all__ = ["beyond", "egress", "general_egress"]
pytestmark = pytest.mark.engine

GENERAL = "agent/general.sock"


def test_the_way_that_is_allowed_works(egress: Egress, beyond: Beyond) -> None:
    """The control of every test below. One look-up and one connection a tunnel, and only what reading needs arrives."""
    inside = get(
        beyond.host, "/@scope%2fname", "accept: application/json", "user-agent: tool/1", "x-more: 1",
        "cookie: a=CANARY", "authorization: Bearer CANARY", "npm-session: CANARY", "x-api-key: CANARY",
        "proxy-authorization: Basic CANARY",
    )  # fmt: skip
    read, looked = through(
        egress,
        Tunnel("npm.test", beyond.npm.port, inside + get(beyond.host, "/left-pad")),
        Tunnel("npm.test", beyond.npm.port, get(beyond.host, method="HEAD"), head=True, to="setup/general.sock"),
    )
    assert (read.connect, read.status, read.alpn) == ("HTTP/1.1 200 Connection established", 200, "")
    assert read.certificate == (("DNS", "npm.test"),)
    assert (looked.status, looked.text) == (200, "")
    beyond.npm.settle()
    assert [request.line for request in beyond.npm.requests][:2] == [
        "GET /@scope%2fname HTTP/1.1", "GET /left-pad HTTP/1.1",
    ]  # fmt: skip
    assert beyond.npm.requests[-1].line == "HEAD /left-pad HTTP/1.1"
    assert beyond.npm.requests[0].headers == [
        ("host", beyond.host), ("accept-encoding", "identity"), ("accept", "application/json"),
        ("user-agent", "tool/1"),
    ]  # fmt: skip
    assert b"CANARY" not in beyond.npm.raw
    assert set(beyond.names.asked) == {"npm.test"}
    assert (beyond.npm.connections, beyond.reached) == (2, 2)


def test_e01_e08_other_hosts_are_refused_in_words_and_neither_asked_for_nor_dialled(
    egress: Egress, beyond: Beyond
) -> None:
    port = beyond.evil.port
    answers = through(
        egress,
        Tunnel("evil.test", port, get(f"evil.test:{port}")),
        Tunnel("data0123.evil.test", 443, get("data0123.evil.test", "/x", method="HEAD"), head=True),
        Tunnel("npm.test.evil.test", 443, get("npm.test.evil.test")),
        Tunnel("evil.test", port, get(f"evil.test:{port}", "/x", "content-length: 99999999", method="POST")),
        Tunnel("evil.test", port, get(f"evil.test:{port}"), to="setup/general.sock"),
    )
    assert {answer.status for answer in answers} == {403}
    assert answers[0].text == "evil.test is not reachable from this sandbox\n"
    assert answers[0].phrase == "evil.test is not reachable from this sandbox", "all that pip and npm show"
    assert b"content-type: text/plain" in answers[0].data
    plain = egress.talk(
        Exchange(f"GET http://evil.test:{port}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n".encode(), to=GENERAL),
        Exchange(b"GET http://npm.test/ HTTP/1.1\r\nHost: npm.test\r\n\r\n", to=GENERAL),
    )
    assert [answer.text for answer in plain] == [
        "evil.test is not reachable from this sandbox\n", "npm.test is reachable only over HTTPS\n",
    ]  # fmt: skip
    assert (beyond.names.asked, beyond.reached) == ([], 0)


def test_every_blocked_attempt_is_counted_by_host_and_once(egress: Egress, beyond: Beyond) -> None:
    """By its CONNECT, since its client may never come to ask; what is refused inside is not counted again."""
    port = beyond.evil.port
    before = {entry.host: entry.count for entry in egress.report().blocked}
    through(
        egress,
        *(Tunnel("counted.test", 443, get("counted.test")) for _ in range(3)),
        Tunnel("silent.test", 443, b"", tls=False, seconds=1),
        Tunnel("npm.test", beyond.npm.port, get(f"front.test:{port}")),
        Tunnel("npm.test", beyond.npm.port, get(beyond.host, method="PUT")),
        Tunnel("npm.test", beyond.npm.port, get(beyond.host)),
    )
    found = {entry.host: entry.count - before.get(entry.host, 0) for entry in egress.report().blocked}
    assert (found["counted.test"], found["silent.test"], found["npm.test"]) == (3, 1, 1)
    assert found["front.test:" + str(port)] == 1
    assert Blocked(host="counted.test", count=3) in egress.report().blocked


def test_e10_an_allowed_host_on_another_port_is_refused(egress: Egress, beyond: Beyond) -> None:
    ports = [22, 80, 443, 8443, beyond.cdn.port, beyond.evil.port]
    answers = through(
        egress, *(Tunnel("npm.test", port, get("npm.test" if port == 443 else f"npm.test:{port}")) for port in ports)
    )
    assert {answer.status for answer in answers} == {403}
    odd = ["0", "65536", "443x", "", "-1", "4 43"]
    raw = egress.talk(
        *(Exchange(f"CONNECT npm.test:{port} HTTP/1.1\r\n\r\n".encode(), to=GENERAL) for port in odd),
        Exchange(b"CONNECT npm.test HTTP/1.1\r\n\r\n", to=GENERAL),
    )
    assert {answer.status for answer in raw} <= {400, 403}
    assert (beyond.names.asked, beyond.reached) == ([], 0)


def test_e01_addresses_and_odd_names_get_no_tunnel(egress: Egress, beyond: Beyond) -> None:
    gateway = beyond.world.gateway
    hosts = [
        gateway,
        "127.0.0.1",
        "[::1]",
        "169.254.169.254",
        "127.1",
        "0x7f000001",
        "2130706433",
        "npm.test.",
        "*.test",
    ]
    answers = egress.talk(
        *(Exchange(f"CONNECT {host}:{beyond.npm.port} HTTP/1.1\r\n\r\n".encode(), to=GENERAL) for host in hosts),
        *(Exchange(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode(), to=GENERAL) for host in ("a" * 250, "ev%69l.test")),
    )
    assert {answer.status for answer in answers} <= {400, 403}
    assert (beyond.names.asked, beyond.reached) == ([], 0)


def test_e13_domain_fronting_is_misdirected(egress: Egress, beyond: Beyond) -> None:
    """CONNECT, SNI and Host are one name or it is nobody's; whichever of the three is the foreign one."""
    npm, cdn = ("npm.test", beyond.npm.port), f"cdn.test:{beyond.cdn.port}"
    answers = through(
        egress,
        Tunnel(*npm, get(cdn)),
        Tunnel(*npm, get("evil.test")),
        Tunnel(*npm, get("npm.test")),
        Tunnel(*npm, get(f"{beyond.host}.")),
        Tunnel(*npm, get(beyond.host, "/left-pad", "Host: evil.test")),
        Tunnel(*npm, get(beyond.host, "/left-pad", f"Host: {beyond.host}")),
        Tunnel(*npm, b"GET /left-pad HTTP/1.1\r\n\r\n"),
        Tunnel(*npm, get(beyond.host), sni="cdn.test"),
        Tunnel(*npm, get(beyond.host), sni="evil.test"),
        Tunnel(*npm, get(beyond.host), sni=""),
        Tunnel("evil.test", 443, get(beyond.host), sni="npm.test"),
    )
    assert {answer.status for answer in answers} <= {400, 421}
    assert [answer.status for answer in answers].count(421) >= 8
    assert answers[0].text.startswith("cdn.test:")
    assert answers[7].text == "cdn.test is not reachable from this sandbox by way of npm.test\n"
    assert (beyond.names.asked, beyond.reached) == ([], 0)


def test_e16_absolute_form_is_refused_inside_and_outside(egress: Egress, beyond: Beyond) -> None:
    npm = ("npm.test", beyond.npm.port)
    inner = [f"{scheme}://{host}/left-pad" for scheme in ("http", "https") for host in ("evil.test", beyond.host)]
    answers = through(egress, *(Tunnel(*npm, get(beyond.host, target)) for target in inner))
    assert {answer.status for answer in answers} <= {400, 421}
    outer = egress.talk(
        *(
            Exchange(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode(), to=GENERAL)
            for target in inner
            for host in (beyond.host, "other.test")
        )
    )
    assert {answer.status for answer in outer} <= {400, 403, 421}
    assert (beyond.names.asked, beyond.reached) == ([], 0)


def test_e17_a_request_without_a_tunnel_is_refused_whatever_it_names(egress: Egress, beyond: Beyond) -> None:
    answers = egress.talk(
        Exchange(get(beyond.host), to=GENERAL),
        Exchange(get("npm.test"), to=GENERAL),
        Exchange(b"GET / HTTP/1.1\r\n\r\n", to=GENERAL),
        Exchange(b"GET / HTTP/1.0\r\n\r\n", to=GENERAL),
        Exchange(get(beyond.host), to="setup/general.sock"),
    )
    assert {answer.status for answer in answers} <= {400, 403}
    assert (beyond.names.asked, beyond.reached) == ([], 0)


SPELLINGS = [
    "/a/../b", "/a/%2e%2e/b", "/a/%252e%252e/b", "//a", "/a//b", "/./a", "/a/.", "/a/..", "/a;x=1", "/a;/b", "/a\\b",
    "\\a", "/a%2fb", "/a%5cb", "/a%00", "/a%0a", "/a%20", "/a#b", "/a?", "/a?x#y", "/a?x=%41", "/a?token=CANARY",
    "/a?x;y", "/@scope%2f..%2fx", "/@scope%2f%2fx", "/scope%2fname", "/a\x85", "/a\xe9", "*", "/" + "a" * 1100,
    "/a?" + "b" * 300, "/a...", "/a/.../b",
]  # fmt: skip


def test_e19_only_one_spelling_of_a_path_is_let_through(egress: Egress, beyond: Beyond) -> None:
    npm = ("npm.test", beyond.npm.port)
    answers = through(egress, *(Tunnel(*npm, get(beyond.host, target)) for target in SPELLINGS))
    let_through = [
        target for target, answer in zip(SPELLINGS, answers, strict=True) if answer.status not in (400, 403, 421)
    ]
    assert let_through == []
    assert (beyond.names.asked, beyond.reached) == ([], 0)
    assert not any("CANARY" in str(fact["path"]) for fact in egress.verdicts() if fact["allowed"])


def test_e19_what_was_judged_is_what_arrives(egress: Egress, beyond: Beyond) -> None:
    targets = ["/left-pad", "/@scope%2fname", "/@scope/name/-/name-1.0.0.tgz", "/A/b-c_d~e!/", "/a?x=1&y=2,3"]
    npm = ("npm.test", beyond.npm.port)
    through(egress, *(Tunnel(*npm, get(beyond.host, target)) for target in targets))
    logged = [f"GET {fact['path']} HTTP/1.1" for fact in egress.verdicts()[-len(targets) :]]
    assert [request.line for request in beyond.npm.requests] == [f"GET {target} HTTP/1.1" for target in targets]
    assert [line.replace("?", " ") for line in logged] == [
        f"GET {target} HTTP/1.1".replace("?", " ") for target in targets
    ]


def test_e20_nothing_but_reading(egress: Egress, beyond: Beyond) -> None:
    methods = ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "TRACK", "get", "Head", "GETX", "PROPFIND"]
    npm = ("npm.test", beyond.npm.port)
    answers = through(
        egress,
        *(Tunnel(*npm, get(beyond.host, "/a", method=method)) for method in methods),
        Tunnel(*npm, get(beyond.host, "/a", "content-length: 6") + b"CANARY"),
        Tunnel(*npm, get(beyond.host, "/a", "transfer-encoding: chunked") + b"6\r\nCANARY\r\n0\r\n\r\n"),
        Tunnel(*npm, get(beyond.host, "/a", "content-length: 2", "content-length: 3") + b"xxx"),
        Tunnel(*npm, b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n"),
        Tunnel(*npm, f"CONNECT {beyond.host} HTTP/1.1\r\nHost: {beyond.host}\r\n\r\n".encode()),
    )
    assert {answer.status for answer in answers} <= {400, 405, 421}
    assert [answer.status for answer in answers[: len(methods)]] == [405] * len(methods)
    assert (beyond.names.asked, beyond.reached) == ([], 0)


def test_e20_headers_that_would_change_a_request_do_not_leave(egress: Egress, beyond: Beyond) -> None:
    more = [
        "X-HTTP-Method-Override: DELETE", "X-Forwarded-Host: evil.test", "X-Original-URL: /admin", "Forwarded: host=x",
        "Expect: 100-continue", "TE: trailers", "Connection: close, x-keep", "Via: 1.1 x", f"user-agent: {'u' * 600}",
    ]  # fmt: skip
    answer = through(egress, Tunnel("npm.test", beyond.npm.port, get(beyond.host, "/a", *more)))[0]
    assert answer.status == 200
    assert {name for name, _ in beyond.npm.requests[0].headers} == {"host", "accept-encoding"}


def test_e23_an_upgrade_is_refused_and_opens_no_tunnel(egress: Egress, beyond: Beyond) -> None:
    npm = ("npm.test", beyond.npm.port)
    websocket = (
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )  # fmt: skip
    h2c = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")
    answers = through(
        egress, *(Tunnel(*npm, get(beyond.host, "/a", *more) + b"\x81\x05CANARY") for more in (websocket, h2c))
    )
    assert [answer.status for answer in answers] == [403, 403]
    assert beyond.reached == 0


def answered(beyond: Beyond, egress: Egress, *answers: bytes) -> list[Told]:
    """What a client gets where the registry answers so, one after the other."""

    def scripted(request: Arrived, send: Callable[[bytes], None]) -> None:
        send(answers[int(request.line.split(" ")[1].removeprefix("/"))])

    before, beyond.npm.answering = beyond.npm.answering, scripted
    try:
        asked = [get(beyond.host, f"/{number}") for number in range(len(answers))]
        return through(egress, *(Tunnel("npm.test", beyond.npm.port, request) for request in asked))
    finally:
        beyond.npm.answering = before


def test_e23_an_upstream_that_switches_protocols_gets_no_tunnel(egress: Egress, beyond: Beyond) -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nraw bytes"
    told = answered(beyond, egress, head)[0]
    assert told.status == 502
    assert b"raw bytes" not in told.data


def moved(location: str, status: int = 302) -> bytes:
    head = f"HTTP/1.1 {status} Moved\r\nlocation: {location}\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n"
    return head.encode()


def test_a_redirect_leads_to_an_allowed_host_or_is_words(egress: Egress, beyond: Beyond) -> None:
    elsewhere = f"https://cdn.test:{beyond.cdn.port}/file.tgz"
    outside = ["https://evil.test/x", "http://cdn.test/x", "//evil.test/x", "https://cdn.test/x", "/a/../%2e%2e/b"]
    told = answered(
        beyond, egress, moved(elsewhere), moved("/b/", 301), b"HTTP/1.1 304 Not Modified\r\ncontent-length: 0\r\n\r\n",
        moved("/x", 305), *map(moved, outside),
    )  # fmt: skip
    assert [answer.status for answer in told] == [302, 301, 304, 502, *([502] * len(outside))]
    assert f"location: {elsewhere}".encode() in told[0].data
    assert f"location: https://{beyond.host}/b/".encode() in told[1].data
    assert not any(b"set-cookie" in answer.data for answer in told)
    assert not any(b"location:" in answer.data.lower() for answer in told[3:])
    assert told[4].text == "npm.test redirects to evil.test, which is not reachable from this sandbox\n"
    assert "evil.test" in {fact["host"] for fact in egress.verdicts()[-6:]}, "where it would have led is counted"
    assert beyond.evil.connections == beyond.cdn.connections == 0


def test_e29_an_encoded_answer_is_refused_so_no_bomb_is_in_it(egress: Egress, beyond: Beyond) -> None:
    codings = [b"content-encoding: gzip", b"transfer-encoding: gzip, chunked", b"content-encoding: br"]
    told = answered(
        beyond, egress,
        *(b"HTTP/1.1 200 OK\r\n" + coding + b"\r\ncontent-length: 6\r\n\r\nCANARY" for coding in codings),
    )  # fmt: skip
    assert [answer.status for answer in told] == [502, 502, 502]
    assert not any(b"CANARY" in answer.data for answer in told)


def test_close_setup_ends_the_setups_way_and_no_other(here_too: Egress, beyond: Beyond) -> None:
    tunnel = Tunnel("npm.test", beyond.npm.port, get(beyond.host), to="setup/general.sock")
    before = through(here_too, tunnel)[0]
    here_too.tell(b'{"do": "close-setup"}\n')
    here_too.wait_for("setup-closed")
    beyond.forget()
    after, refused, still = through(
        here_too, tunnel, Tunnel("evil.test", 443, get("evil.test"), to="setup/general.sock"),
        Tunnel("npm.test", beyond.npm.port, get(beyond.host)),
    )  # fmt: skip
    assert (before.status, still.status) == (200, 200)
    assert (after.connect.split(" ")[1], refused.connect.split(" ")[1]) == ("403", "403")
    beyond.npm.settle()
    assert len(beyond.npm.requests) == 1


@pytest.fixture
def here_too(beyond: Beyond) -> Egress:
    return beyond.world.start(beyond.policy(setup=True))


def test_off_by_default_nothing_is_reachable(beyond: Beyond) -> None:
    """No destination and no setup: one socket, and every host is refused in words on it."""
    egress = beyond.world.start(beyond.policy() | {"general": {"allowed": [], "setup": False}})
    beyond.forget()
    answer, absent = through(
        egress, Tunnel("npm.test", 443, get("npm.test")), Tunnel("npm.test", 443, b"", to="setup/general.sock")
    )
    assert (answer.status, answer.text) == (403, "npm.test is not reachable from this sandbox\n")
    assert absent.error == "FileNotFoundError"
    assert (beyond.names.asked, beyond.reached) == ([], 0)
