"""Groups E and C on a real egress container: what gets out, judged by what stand-in upstreams saw arrive."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.sandbox.egress.rig import (
    REPOSITORY,
    Arrived,
    Egress,
    Exchange,
    StandIn,
    World,
    get,
    memory,
    policy_for,
    post,
)

pytestmark = pytest.mark.engine

PREFIX = "/v1/account/gateway"


@pytest.fixture(scope="module")
def shared(here: World, model: StandIn, git: StandIn) -> Egress:
    return here.start(policy_for(model, git, PREFIX))


@pytest.fixture
def egress(shared: Egress, model: StandIn, git: StandIn) -> Egress:
    """One egress for this file's tests; the upstreams have forgotten what earlier tests sent."""
    model.forget()
    git.forget()
    return shared


def test_the_way_that_is_allowed_works(egress: Egress, model: StandIn, git: StandIn) -> None:
    """The control of every test below: nothing is proven by a refusal where nothing ever gets through."""
    pack = "application/x-git-upload-pack-request"
    answers = egress.talk(
        Exchange(post("/v1/messages?beta=true"), until=b"{}"),
        Exchange(get(f"/{REPOSITORY}.git/info/refs?service=git-upload-pack"), to="fetch/git.sock", until=b"{}"),
        Exchange(
            post(f"/{REPOSITORY}.git/git-upload-pack", b"0000", content_type=pack), to="fetch/git.sock", until=b"{}"
        ),
    )
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert [request.line for request in model.requests] == [f"POST {PREFIX}/v1/messages?beta=true HTTP/1.1"]
    assert [request.line for request in git.requests] == [
        f"GET /{REPOSITORY}.git/info/refs?service=git-upload-pack HTTP/1.1",
        f"POST /{REPOSITORY}.git/git-upload-pack HTTP/1.1",
    ]


def test_e01_e08_a_host_that_is_not_listed_is_refused_in_words_before_it_is_looked_up(egress: Egress) -> None:
    answers = egress.talk(
        Exchange(b"GET http://evil.test/x HTTP/1.1\r\nHost: evil.test\r\n\r\n", to="agent/general.sock"),
        Exchange(b"CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1:443\r\n\r\n", to="agent/general.sock"),
        Exchange(b"CONNECT data0123.evil.test:443 HTTP/1.1\r\n\r\n", to="agent/general.sock", until=b"\r\n\r\n"),
    )
    assert [answer.status for answer in answers] == [403, 403, 200], "a tunnel, which leads nowhere (general.py)"
    assert answers[0].text == "evil.test is not reachable from this sandbox\n"
    assert [fact["host"] for fact in egress.verdicts()[-3:]] == ["evil.test", "10.0.0.1", "data0123.evil.test"]


def test_e10_an_allowed_host_on_another_port_is_refused(egress: Egress, model: StandIn) -> None:
    ports = ["22", "80", "8443", str(model.port), "0", "65536", "443x"]
    answers = egress.talk(
        *(Exchange(f"CONNECT {model.host}:{port} HTTP/1.1\r\n\r\n".encode(), to="agent/general.sock") for port in ports)
    )
    assert {answer.status for answer in answers} <= {400, 403}
    assert model.connections == 0


def test_e11_raw_bytes_reach_no_upstream_through_any_socket(egress: Egress, model: StandIn, git: StandIn) -> None:
    """Pipelined behind a CONNECT too, where a client that does not wait for its answer would put them."""
    raw = b"SSH-2.0-canary\r\nmore of it\r\n\r\n"
    hello = b"\x16\x03\x01\x00\x05canary\r\n\r\n"
    connect = f"CONNECT {model.host}:{model.port} HTTP/1.1\r\n\r\n".encode()
    answers = egress.talk(
        *(Exchange(data, to=to) for to in ("agent/model.sock", "fetch/git.sock") for data in (raw, hello)),
        *(Exchange(data, to="agent/general.sock") for data in (raw, hello, connect + raw, connect + hello)),
    )
    assert all(answer.status in (0, 400, 403) for answer in answers)
    assert model.connections == git.connections == 0


def test_e13_the_host_header_never_decides_and_never_leaves(egress: Egress, model: StandIn) -> None:
    request = post("/v1/messages").replace(b"Host: 127.0.0.1:9001", b"Host: evil.cdn.test")
    twice = post("/v1/messages", b"{}", "Host: second.test")
    egress.talk(Exchange(request, until=b"{}"), Exchange(twice, until=b"{}"))
    assert [sent.header("host") for sent in model.requests] == [[f"{model.host}:{model.port}"]] * len(model.requests)
    assert model.requests


def test_e14_e22_http2_is_not_spoken_to_clients(egress: Egress, model: StandIn) -> None:
    """A connection preface and a HEADERS frame whose :method would become a second request upstream."""
    method = b"GET /evil HTTP/1.1\r\nHost: x\r\n\r\nPOST"
    name, path = b":method", b":path"
    block = b"\x87\x41\x04x.io" + b"".join(
        b"\x00" + bytes([len(key)]) + key + bytes([len(value)]) + value
        for key, value in ((name, method), (path, b"/v1/messages"))
    )
    frames = (
        b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" + len(block).to_bytes(3, "big") + b"\x01\x05\x00\x00\x00\x01" + block
    )
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    upgrade = post(
        "/v1/messages", b"{}", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"
    )
    answers = egress.talk(Exchange(preface + frames), Exchange(upgrade))
    assert answers[0].status in (0, 400, 403)
    assert answers[1].status == 403
    assert model.connections == 0


def test_e16_absolute_form_with_any_host_is_refused(egress: Egress, model: StandIn) -> None:
    own = f"{model.host}:{model.port}"
    answers = egress.talk(
        *(
            Exchange(post("/v1/messages").replace(b"POST /v1", f"POST {scheme}://{host}{PREFIX}/v1".encode()))
            for host in ("evil.test", own)
            for scheme in ("http", "https", "HTTP", "ftp")
        )
    )
    assert {answer.status for answer in answers} <= {400, 421}
    assert model.connections == 0


SPELLINGS = [
    "{p}/v1/../admin", "{p}/v1/%2e%2e/admin", "{p}/v1/%252e%252e/admin", "{p}//v1/messages", "/{p}/v1/messages",
    "{p}/v1//messages", "{p}/v1/./messages", "{p}/v1/messages/", "{p}/v1/messages/.", "{p}/v1/messages/..",
    "{p}/v1/messages;x=1", "{p}/v1;x/messages", "{p}\\v1\\messages", "{p}/v1\\messages", "{p}/v1%2fmessages",
    "{p}/v1%5cmessages", "{p}/v1/messages%00", "{p}/v1/messages%0a", "{p}/v1/Messages", "{p}/V1/messages",
    "{p}/v1/messages?", "{p}/v1/messages?beta=true&x=1", "{p}/v1/messages?beta=false", "{p}/v1/messages?BETA=true",
    "{p}/v1/messages?beta=true?beta=true", "{p}/v1/messages#x", "{p}/v1/messages?beta=true#x", "{p}x/v1/messages",
    "{p}/../gateway/v1/messages", "/v1/account/other/v1/messages", "/v1/files", "/v1/models", "/v1/messages/batches",
    "{p}/v1/message%73", "/v1/messages%20", "*", "/", "", "/v1/messages\x85", "/v1/messages\u00e9", "/v1/m\u0435ssages",
]  # fmt: skip


def test_e19_only_one_spelling_of_a_path_is_let_through(egress: Egress, model: StandIn) -> None:
    targets = [spelling.format(p=PREFIX) for spelling in SPELLINGS]
    requests = [post("/TARGET").replace(b"/TARGET", target.encode("utf-8"), 1) for target in targets]
    answers = egress.talk(*(Exchange(request) for request in requests))
    let_through = [target for target, answer in zip(targets, answers, strict=True) if answer.status not in (400, 403)]
    assert let_through == []
    assert model.connections == 0


def test_e19_what_was_judged_is_what_arrives(egress: Egress, model: StandIn) -> None:
    """Both spellings that clients use, with and without the gateway's prefix, arrive as the one that is logged."""
    targets = [f"{prefix}/v1/messages{rest}" for prefix in ("", PREFIX) for rest in ("", "?beta=true", "/count_tokens")]
    egress.talk(*(Exchange(post(target), until=b"{}") for target in targets))
    logged = [f"POST {fact['path']} HTTP/1.1" for fact in egress.verdicts()[-len(targets) :]]
    assert [request.line for request in model.requests] == logged
    assert len(set(logged)) == 3


def test_e20_other_methods_on_an_allowed_path_are_refused(egress: Egress, model: StandIn) -> None:
    methods = ["TRACE", "TRACK", "GET", "PUT", "DELETE", "OPTIONS", "PATCH", "post", "Post", "POSTX", "HEAD", "CONNECT"]
    requests = [post("/v1/messages").replace(b"POST", method.encode(), 1) for method in methods]
    answers = egress.talk(*(Exchange(request) for request in requests))
    assert {answer.status for answer in answers} <= {400, 403, 405}
    assert model.connections == 0


def test_e20_method_override_headers_do_not_leave(egress: Egress, model: StandIn) -> None:
    egress.say(
        post("/v1/messages", b"{}", "X-HTTP-Method-Override: DELETE", "X-Forwarded-Host: evil.test"), until=b"{}"
    )
    names = {name.lower() for name, _ in model.requests[0].headers}
    assert names == {"host", "accept-encoding", "content-type", "content-length", "x-api-key"}


def test_e26_a_body_that_is_hidden_in_a_coding_is_refused(egress: Egress, model: StandIn) -> None:
    """Under either header's name; and the two framings that smuggling is made of."""
    plain = post("/v1/messages", b"")
    codings = [
        b"transfer-encoding: gzip, chunked", b"transfer-encoding: deflate, chunked", b"transfer-encoding: gzip",
        b"transfer-encoding: chunked\r\ncontent-encoding: gzip", b"transfer-encoding: chunked\r\ncontent-length: 2",
        b"transfer-encoding: chunked, chunked", b"transfer-encoding: xchunked", b"transfer-encoding : chunked",
        b"content-length: 2\r\ncontent-length: 3", b"content-length: +2", b"content-length: 2, 2",
    ]  # fmt: skip
    answers = egress.talk(
        *(Exchange(plain.replace(b"content-length: 0", coding) + b"2\r\n{}\r\n0\r\n\r\n") for coding in codings)
    )
    assert {answer.status for answer in answers} <= {400, 415}
    assert model.connections == 0


def test_e23_an_upgrade_is_refused_and_opens_no_tunnel(egress: Egress, model: StandIn) -> None:
    websocket = (
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    )  # fmt: skip
    answers = egress.talk(
        Exchange(post("/v1/messages", b"{}", *websocket) + b"\x81\x05hello"),
        Exchange(get("/v1/messages", *websocket)),
    )
    assert [answer.status for answer in answers] == [403, 403]
    assert model.connections == 0


def test_e23_an_upstream_that_switches_protocols_gets_no_tunnel(egress: Egress, model: StandIn) -> None:
    def switching(request: Arrived, send: Callable[[bytes], None]) -> None:
        send(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nraw bytes")

    before, model.answering = model.answering, switching
    try:
        answer = egress.say(post("/v1/messages") + b"raw bytes of the client")
    finally:
        model.answering = before
    assert answer.status == 502
    assert b"raw bytes" not in answer.data
    assert b"raw bytes of the client" not in model.raw


@pytest.mark.parametrize("size", [64 * 2**20, 2**20])
def test_e26_a_refused_body_is_not_sent_not_kept_and_not_waited_for(egress: Egress, model: StandIn, size: int) -> None:
    head = post("/v1/files", b"").replace(b"content-length: 0", b"content-length: %d" % size)
    before = memory(egress)
    answer = egress.say(head + b"CANARY", zeros=size - 6)
    assert (answer.status, answer.text) == (403, "POST /v1/files is not reachable from this sandbox\n")
    assert model.connections == 0
    assert memory(egress) - before < 16 * 2**20


def test_e26_a_body_that_grows_above_its_bound_is_cut_and_never_complete(egress: Egress, model: StandIn) -> None:
    """Chunked, so that the head cannot tell its length; and with a length that is told, which needs no body at all."""
    length = 33 * 2**20
    chunked = post("/v1/messages", b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
    announced = post("/v1/messages", b"").replace(b"content-length: 0", b"content-length: %d" % length)
    answers = egress.talk(
        Exchange(chunked + b"%x\r\n" % length, zeros=length, last=b"\r\n0\r\n\r\n"), Exchange(announced, zeros=2**20)
    )
    assert [answer.status for answer in answers] == [413, 413]
    model.settle()
    assert model.connections == 0
    assert [fact["status"] for fact in egress.verdicts() if fact["status"] == 413][-2:] == [413, 413]


def test_e26_the_end_of_a_body_that_is_too_long_is_not_sent_either(egress: Egress, model: StandIn) -> None:
    """The bound is passed and the body ended within one piece of what the egress reads."""
    length = 32 * 2**20 + 1
    head = post("/v1/messages", b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
    answer = egress.say(head + b"%x\r\n" % length, zeros=length, last=b"\r\n0\r\n\r\n")
    assert answer.status == 413
    model.settle()
    assert model.connections == 0


def test_e29_an_endless_head_is_cut(egress: Egress, model: StandIn) -> None:
    before = memory(egress)
    answer = egress.say(b"POST /v1/messages HTTP/1.1\r\nX-Long: ", zeros=64 * 2**20)
    assert answer.status in (0, 431)
    assert model.connections == 0
    assert memory(egress) - before < 16 * 2**20


def test_c07_the_token_fetches_one_repository_and_nothing_else(egress: Egress, git: StandIn) -> None:
    owner, name = REPOSITORY.split("/")
    refs, pack = "/info/refs?service=git-upload-pack", "/git-upload-pack"
    targets = [
        f"/{owner}/other.git{refs}", f"/{owner}/other{refs}", f"/{owner.lower()}/{name}.git{refs}",
        f"/{owner}/{name.upper()}.git{refs}", f"/{owner}/{name}.git.git{refs}", f"/{owner}/{name}.git/..%2fother{refs}",
        f"/{owner}/{name}.git/../other.git{refs}", f"/{owner}%2f{name}.git{refs}", f"//{owner}/{name}.git{refs}",
        f"/{owner}//{name}.git{refs}", f"/{owner}/./{name}.git{refs}", f"/{owner}/{name};x.git{refs}",
        f"/{owner}/{name}.git/info/refs", f"/{owner}/{name}.git/info/refs?service=git-receive-pack",
        f"/{owner}/{name}.git{refs}&service=git-receive-pack",
        f"/{owner}/{name}.git/info/refs?service=git-receive-pack&service=git-upload-pack",
        f"/{owner}/{name}.git/info/refs?service=git%2Dupload-pack", f"/{owner}/{name}.git{refs}%00",
        f"/{owner}/{name}.git/HEAD", f"/{owner}/{name}.git/objects/info/packs", f"/{owner}/{name}/archive/HEAD.tar.gz",
        f"/{owner}/{name}.git/info/lfs/objects/batch", f"/{owner}/{name}.git{pack}", "/api/v3/user", "/login", "/",
        f"/{owner}/{name}.wiki.git{refs}", f"/{owner}/{name}.git/",
    ]  # fmt: skip
    answers = egress.talk(*(Exchange(get(target), to="fetch/git.sock") for target in targets))
    assert {answer.status for answer in answers} <= {400, 403, 405}
    assert git.connections == 0


def test_c07_pushing_is_refused_in_words_that_git_shows(egress: Egress, git: StandIn) -> None:
    push = "application/x-git-receive-pack-request"
    answers = egress.talk(
        Exchange(get(f"/{REPOSITORY}.git/info/refs?service=git-receive-pack"), to="fetch/git.sock"),
        Exchange(post(f"/{REPOSITORY}.git/git-receive-pack", b"0000", content_type=push), to="fetch/git.sock"),
        Exchange(post(f"/{REPOSITORY}.git/git-upload-pack", b"0000", content_type=push), to="fetch/git.sock"),
    )
    assert [answer.status for answer in answers] == [403, 403, 415]
    assert answers[0].text == f"pushing is refused: this sandbox may only read {REPOSITORY}\n"
    assert b"content-type: text/plain" in answers[0].data
    assert git.connections == 0


def test_c07_a_redirect_to_a_renamed_repository_is_not_handed_on(egress: Egress, git: StandIn) -> None:
    def moved(request: Arrived, send: Callable[[bytes], None]) -> None:
        send(b"HTTP/1.1 301 Moved\r\nlocation: https://elsewhere.test/o/r\r\ncontent-length: 0\r\n\r\n")

    before, git.answering = git.answering, moved
    try:
        answer = egress.say(get(f"/{REPOSITORY}.git/info/refs?service=git-upload-pack"), to="fetch/git.sock")
    finally:
        git.answering = before
    assert answer.status == 502
    assert b"elsewhere" not in answer.data


def test_every_verdict_is_one_numbered_line_without_a_gap(egress: Egress) -> None:
    long = "x" * 3000
    evil = '\\"}\\n{\\"event\\":\\"ready\\"}'
    egress.talk(
        Exchange(f"GET http://{long}.test/ HTTP/1.1\r\n\r\n".encode(), to="agent/general.sock"),
        Exchange(f"GET /{long}?{evil} HTTP/1.1\r\nHost: x\r\n\r\n".encode()),
        Exchange(f"{long} / HTTP/1.1\r\nHost: x\r\n\r\n".encode()),
    )
    lines = egress.container.logs().splitlines()
    facts = [json.loads(line) for line in lines]
    assert [fact["seq"] for fact in facts] == list(range(1, len(facts) + 1))
    assert [fact["event"] for fact in facts].count("ready") == 1
    assert max(map(len, lines)) < 1024
