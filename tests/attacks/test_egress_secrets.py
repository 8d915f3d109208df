"""Groups C and E on a real egress container: where credentials go, and what must never carry them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sandbox.egress.policies import line
from tests.sandbox.egress.rig import (
    FETCH_TOKEN,
    MODEL_KEY,
    PLACEHOLDER,
    REPOSITORY,
    Arrived,
    Authority,
    Egress,
    Exchange,
    StandIn,
    World,
    get,
    git_part,
    model_part,
    policy_for,
    post,
    stream,
)

pytestmark = pytest.mark.engine

REFS = f"/{REPOSITORY}.git/info/refs?service=git-upload-pack"
PAIR = base64.b64encode(f"x-access-token:{FETCH_TOKEN}".encode())
Send = Callable[[bytes], None]


@pytest.fixture(scope="module")
def egress(here: World, model: StandIn, git: StandIn) -> Egress:
    return here.start(policy_for(model, git))


def test_c01_the_client_finds_no_secret_in_what_it_can_reach(egress: Egress) -> None:
    """Its sockets and a certificate are all that it shares with the egress; a socket holds nothing to read."""
    found = egress.run("find", "/sock/agent", "/sock/fetch", "-mindepth", "1", "-printf", "%y%m %f\\n").split("\n")
    assert sorted(found) == ["", "f644 ca.pem", "s666 general.sock", "s666 git.sock", "s666 model.sock"]
    shown = egress.run("cat", "/sock/agent/ca.pem")
    assert shown.startswith("-----BEGIN CERTIFICATE-----")
    assert "PRIVATE" not in shown


def test_c01_c14_no_secret_in_environment_arguments_files_or_the_engines_record(egress: Egress) -> None:
    seen = egress.run(
        "sh", "-c", "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; find /tmp /dev/shm -type f -exec cat {} +"
    )
    egress.container.reload()
    everything = seen.encode() + json.dumps(egress.container.attrs).encode() + egress.container.logs()
    for secret in (MODEL_KEY.encode(), FETCH_TOKEN.encode(), PAIR):
        assert secret not in everything


def test_c14_the_process_leaves_no_core_and_lets_nobody_look_into_it(egress: Egress) -> None:
    """The same uid, in the same container, may not read its memory or its environment."""
    script = (
        "for p in /proc/[0-9]*; do case $(tr '\\0' ' ' <$p/cmdline) in /opt/gofer/venv/bin/python*) "
        "grep 'Max core' $p/limits; head -c 1 $p/mem; cat $p/environ;; esac; done 2>&1"
    )
    output = egress.run("sh", "-c", script)
    core = [line.split()[4:6] for line in output.splitlines() if line.startswith("Max core")]
    assert core == [["0", "0"]]
    assert output.count("Permission denied") == 2


def test_c04_each_credential_goes_to_its_own_upstream_and_the_clients_to_none(
    egress: Egress, model: StandIn, git: StandIn
) -> None:
    model.forget()
    git.forget()
    stolen = [
        f"{name}: {PLACEHOLDER}"
        for name in (
            "Authorization", "Proxy-Authorization", "Cookie", "cf-aig-authorization", "x-goog-api-key", "api-key",
            "X-Api-Key", "x-auth-token", "anthropic-api-key", "x-anthropic-auth-token", "X-Amz-Security-Token",
        )
    ]  # fmt: skip
    egress.talk(
        Exchange(post("/v1/messages", b"{}", *stolen), until=b"{}"),
        Exchange(get(REFS, *stolen), to="fetch/git.sock", until=b"{}"),
    )
    assert [request.header("x-api-key") for request in model.requests] == [[MODEL_KEY]]
    assert [request.header("authorization") for request in git.requests] == [[f"Basic {PAIR.decode()}"]]
    assert PLACEHOLDER.encode() not in model.raw + git.raw
    assert model.requests[0].header("authorization") == []
    assert git.requests[0].header("x-api-key") == []


def test_c04_a_key_in_the_authorization_header_is_a_bearer(here: World, model: StandIn) -> None:
    model.forget()
    egress = here.start(policy_for(model, header="authorization"))
    egress.say(post("/v1/messages"), until=b"{}")
    assert model.requests[0].header("authorization") == [f"Bearer {MODEL_KEY}"]
    assert model.requests[0].header("x-api-key") == []


def test_c04_no_credential_where_there_is_none(here: World, model: StandIn, git: StandIn) -> None:
    git.forget()
    egress = here.start(policy_for(model, git), fetch="")
    egress.say(get(REFS, f"Authorization: Basic {PLACEHOLDER}"), to="fetch/git.sock", until=b"{}")
    assert git.requests[0].header("authorization") == []


def echoing(request: Arrived, send: Send) -> None:
    """A debug endpoint: every header in headers, reason and body, and the secret cut by every chunk border."""
    values = [value for name, value in request.headers if name.lower() in ("x-api-key", "authorization")]
    value = values[0].encode()
    send(b"HTTP/1.1 400 bad " + value + b"\r\nx-echo: " + value + b"\r\nset-cookie: k=" + value + b"\r\n")
    send(b"content-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n")
    for byte in b"echo " + value + b" and " + value + b"\n":
        send(b"1\r\n" + bytes([byte]) + b"\r\n")
    send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(value), value))


def test_c05_a_secret_that_an_upstream_echoes_is_masked(egress: Egress, model: StandIn, git: StandIn) -> None:
    model.answering = git.answering = echoing
    answers = egress.talk(
        Exchange(post("/v1/messages"), until=b"0\r\n\r\n"),
        Exchange(get(REFS), to="fetch/git.sock", until=b"0\r\n\r\n"),
    )
    for answer in answers:
        plain = b"".join(answer.data.partition(b"\r\n\r\n")[2].replace(b"\r\n1\r\n", b"").split(b"\r\n"))
        assert b"echo" in plain
        for secret in (MODEL_KEY.encode(), FETCH_TOKEN.encode(), PAIR):
            assert secret not in answer.data
            assert secret not in plain
    assert b"set-cookie" not in answers[0].data.lower()


@pytest.mark.parametrize("how", ["content-encoding: gzip", "transfer-encoding: gzip, chunked"])
def test_c05_an_encoded_answer_cannot_be_searched_so_it_is_refused(egress: Egress, model: StandIn, how: str) -> None:
    def zipped(request: Arrived, send: Send) -> None:
        body = gzip.compress(request.header("x-api-key")[0].encode())
        if "chunked" in how:
            send(b"HTTP/1.1 200 OK\r\n%s\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (how.encode(), len(body), body))
        else:
            send(b"HTTP/1.1 200 OK\r\n%s\r\ncontent-length: %d\r\n\r\n%s" % (how.encode(), len(body), body))

    model.forget()
    model.answering = zipped
    answer = egress.say(post("/v1/messages", b"{}", "Accept-Encoding: gzip, br"))
    assert model.requests[0].header("accept-encoding") == ["identity"]
    assert answer.status == 502
    assert b"\x1f\x8b" not in answer.data


def test_c05_a_secret_in_a_headers_name_or_cut_off_at_the_end_is_masked(egress: Egress, model: StandIn) -> None:
    def echo(request: Arrived, send: Send) -> None:
        key = request.header("x-api-key")[0].encode()
        send(b"HTTP/1.1 200 OK\r\n%s: 1\r\ncontent-length: %d\r\n\r\n%s" % (key, len(key) - 1, key[:-1]))

    model.forget()
    model.answering = echo
    answer = egress.say(post("/v1/messages"))
    assert answer.status == 200
    assert MODEL_KEY[:12].encode() not in answer.data


NO_HTTP = {
    "status line": b"%s\r\n\r\n",
    "status": b"HTTP/1.1 abc %s\r\n\r\n",
    "version": b"HTTP/%s 200 OK\r\ncontent-length: 0\r\n\r\n",
    "header": b"HTTP/1.1 200 OK\r\n%s\r\n\r\n",
    "header's name": b"HTTP/1.1 200 OK\r\n%s : x\r\n\r\n",
    "length": b"HTTP/1.1 200 OK\r\ncontent-length: %s\r\n\r\n",
    "transfer coding": b"HTTP/1.1 200 OK\r\ntransfer-encoding: %s\r\n\r\n",
    "chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%s\r\n",
}


@pytest.mark.parametrize("expect", [(), ("expect: 100-continue",)], ids=["plain", "expecting"])
def test_c05_an_upstream_that_echoes_where_no_http_is_quoted_by_nobody(
    egress: Egress, model: StandIn, expect: tuple[str, ...]
) -> None:
    """mitmproxy answers an upstream's nonsense with a page that quotes it."""
    for where, nonsense in NO_HTTP.items():

        def echo(request: Arrived, send: Send, form: bytes = nonsense) -> None:
            send(form % request.header("x-api-key")[0].encode())
            raise OSError  # hang up

        model.forget()
        model.answering = echo
        answer = egress.say(post("/v1/messages", b"{}", *expect), until=b"never")
        assert len(model.requests) == 1, where
        assert answer.error == "", where
        assert MODEL_KEY.encode() not in answer.data, where


def test_c14_no_secret_in_the_log_after_everything_has_failed(egress: Egress, model: StandIn, git: StandIn) -> None:
    def nonsense(request: Arrived, send: Send) -> None:
        send(b"HTTP/1.1 " + request.headers[-1][1].encode() + b"\r\nbroken\r\n\r\n")

    model.answering = git.answering = nonsense
    egress.talk(
        Exchange(post("/v1/messages")), Exchange(get(REFS), to="fetch/git.sock"), Exchange(b"\x00\xff\r\n\r\n"),
        Exchange(post("/v1/messages", b"{}", "x: \x80")), Exchange(post("/v1/messages", b"{", "content-length: 5")),
    )  # fmt: skip
    for secret in (MODEL_KEY.encode(), FETCH_TOKEN.encode(), PAIR, PLACEHOLDER.encode()):
        assert secret not in egress.container.logs()


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def both(model: str, git: str, ca: str, *, private: bool) -> dict[str, object]:
    """Model and git upstream by URL, so that one container tries two."""
    return line(model=model_part(model, private=private, ca_pem=ca), git=git_part(git, private=private, ca_pem=ca))


def tried(egress: Egress) -> tuple[int, int]:
    answers = egress.talk(
        Exchange(post("/v1/messages"), until=b"{}"), Exchange(get(REFS), to="fetch/git.sock", until=b"{}")
    )
    return answers[0].status, answers[1].status


def test_e31_a_name_that_leads_to_a_private_address_is_not_dialled(
    here: World, authority: Authority, tmp_path: Path
) -> None:
    """The bridge's own gateway, which is the host, and the egress itself."""
    upstream = StandIn(here.gateway, tls=authority.server("model.test", tmp_path))
    hosts = {"model.test": here.gateway, "git.test": "127.0.0.1"}
    urls = (f"https://model.test:{upstream.port}", f"https://git.test:{upstream.port}")
    egress = here.start(both(*urls, authority.pem, private=False), hosts=hosts)
    assert tried(egress) == (502, 502)
    assert upstream.connections == 0
    refused = [fact for fact in egress.verdicts() if not fact["allowed"]]
    assert [(fact["method"], fact["host"]) for fact in refused] == [("DIAL", "model.test"), ("DIAL", "git.test")]
    assert all("private" in fact["reason"] for fact in refused)
    upstream.close()


def test_e31_no_operators_word_reaches_the_metadata_service(here: World, authority: Authority) -> None:
    hosts = {"model.test": "169.254.169.254", "git.test": "0.0.0.0"}
    egress = here.start(both("http://model.test", "http://git.test", "", private=True), hosts=hosts)
    assert tried(egress) == (502, 502)
    assert [fact["method"] for fact in egress.verdicts() if not fact["allowed"]] == ["DIAL", "DIAL"]


def test_e32_only_a_verified_upstream_gets_a_request(here: World, authority: Authority, tmp_path: Path) -> None:
    stranger = Authority()
    servers = {
        "good": StandIn(here.gateway, tls=authority.server("good.test", tmp_path)),
        "unknown": StandIn(here.gateway, tls=stranger.server("unknown.test", tmp_path)),
        "expired": StandIn(here.gateway, tls=authority.server("expired.test", tmp_path, days=-1)),
        "misnamed": StandIn(here.gateway, tls=authority.server("good.test", tmp_path)),
    }
    hosts = {f"{name}.test": here.gateway for name in servers}
    url = {name: f"https://{name}.test:{server.port}" for name, server in servers.items()}
    first = here.start(both(url["good"], url["unknown"], authority.pem, private=True), hosts=hosts)
    second = here.start(both(url["expired"], url["misnamed"], authority.pem, private=True), hosts=hosts)
    assert tried(first) == (200, 502)
    assert tried(second) == (502, 502)
    assert [len(server.requests) for server in servers.values()] == [1, 0, 0, 0]
    for server in servers.values():
        server.close()


def test_e32_one_upstreams_authority_vouches_for_no_other(here: World, authority: Authority, tmp_path: Path) -> None:
    upstream = StandIn(here.gateway, tls=authority.server("model.test", tmp_path))
    url = f"https://model.test:{upstream.port}"
    given = both(url, url, authority.pem, private=True)
    given["model"] = model_part(url)
    egress = here.start(given, hosts={"model.test": here.gateway})
    assert tried(egress) == (502, 200)
    upstream.close()


def test_a_cut_event_stream_is_no_complete_answer(egress: Egress, model: StandIn) -> None:
    """Framed to its end, but without the last event."""
    model.answering = stream(b"event: ping\ndata: {}\n\n")
    egress.say(post("/v1/messages"), until=b"0\r\n\r\n")
    egress.wait_for("answer")
    assert egress.log()[-1]["complete"] is False
