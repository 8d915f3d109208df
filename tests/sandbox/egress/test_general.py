"""The general way out: one host in CONNECT, SNI and Host, one of those allowed, and reading alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sandbox.egress import general
from sandbox.egress.general import decide, is_allowed, key, upstream, upstreams
from sandbox.egress.reach import parse
from sandbox.egress.request import Request
from tests.sandbox.egress.policies import MODEL, line

ALLOWED = [
    {"host": "npm.test", "port": 443, "private": False, "ca_pem": "", "grammar": "npm"},
    {"host": "lan.test", "port": 8443, "private": True, "ca_pem": "PEM", "grammar": "plain"},
    {"host": "10.0.0.5", "port": 443, "private": True, "ca_pem": "", "grammar": "plain"},
]
POLICY = parse(line(general={"allowed": ALLOWED, "setup": True}))
NOTHING = parse(line())
GET = Request(
    "general", "GET", "/left-pad", host="npm.test", port=443, scheme="http", inside=True, sni="npm.test",
    named=("npm.test",),
)  # fmt: skip
LAN = replace(GET, host="lan.test", port=8443, sni="lan.test", named=("lan.test:8443",), target="/a")
CONNECT = Request("general", "CONNECT", "", host="npm.test", port=443, scheme="", absolute=True)


def test_reading_from_an_allowed_destination_is_allowed() -> None:
    """The control of every refusal below."""
    address = replace(GET, host="10.0.0.5", sni="", named=("10.0.0.5",))
    for request in (GET, replace(GET, method="HEAD"), replace(GET, listener="setup"), LAN, address):
        verdict = decide(POLICY, request)
        assert (verdict.allowed, verdict.target) == (True, request.target)
    assert decide(POLICY, replace(GET, target="/@scope%2fname")).allowed


OUTSIDE = [
    (replace(GET, method="POST"), 405),
    (replace(GET, method="get"), 405),
    (replace(GET, method="TRACE"), 405),
    (replace(GET, method="CONNECT"), 405),
    (replace(GET, version="HTTP/1.0"), 400),
    (replace(GET, version="HTTP/2.0"), 400),
    (replace(GET, upgrade=True), 403),
    (replace(GET, has_body=True), 400),
    (replace(GET, absolute=True), 421),
    (replace(GET, sni="cdn.test"), 421),
    (replace(GET, sni=""), 421),
    (replace(GET, named=("cdn.test",)), 421),
    (replace(GET, named=("npm.test:443",)), 421),
    (replace(GET, named=("npm.test", "npm.test")), 421),
    (replace(GET, named=()), 421),
    (replace(GET, named=("npm.test.",)), 421),
    (replace(LAN, named=("lan.test",)), 421),
    (replace(GET, target="/a/../b"), 403),
    (replace(LAN, target="/@scope%2fname"), 403),
    (replace(GET, host="evil.test", sni="evil.test", named=("evil.test",)), 403),
    (replace(GET, port=8443, named=("npm.test:8443",)), 403),
    (replace(GET, host="x.npm.test", sni="x.npm.test", named=("x.npm.test",)), 403),
    (replace(GET, inside=False), 403),
    (replace(GET, listener="model"), 403),
    (replace(GET, listener="nobody"), 403),
]


@pytest.mark.parametrize(("request_", "status"), OUTSIDE, ids=range(len(OUTSIDE)))
def test_everything_else_is_refused_with_a_reason(request_: Request, status: int) -> None:
    verdict = decide(POLICY, request_)
    assert (verdict.allowed, verdict.status, verdict.target) == (False, status, "")
    assert verdict.reason


def test_off_by_default() -> None:
    assert not decide(NOTHING, GET).allowed
    assert upstreams(NOTHING.general) == ()
    assert decide(NOTHING, CONNECT).allowed, "a tunnel, so that the refusal is seen"


def test_a_connect_to_any_name_is_a_tunnel_and_no_more() -> None:
    for host, port in (
        ("npm.test", 443),
        ("evil.test", 443),
        ("EVIL.test", 8443),
        ("lan.test", 8443),
        ("10.0.0.5", 443),
    ):
        verdict = decide(POLICY, replace(CONNECT, host=host, port=port))
        assert (verdict.allowed, verdict.target) == (True, "")
    hosts = ("npm.test", "NPM.test", "evil.test")
    assert [is_allowed(POLICY.general, replace(CONNECT, host=host)) for host in hosts] == [True, True, False]


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("1.2.3.4", 443), ("10.0.0.6", 443), ("::1", 443), ("127.1", 443), ("2130706433", 443), ("0x7f.1", 443),
        ("evil.test.", 443), ("evil..test", 443), ("a" * 64 + ".test", 443), (".".join(["a" * 60] * 5), 443),
        ("e v", 443), ("evil\n.test", 443), ("évil.test", 443), ("", 443), ("evil.test", 80), ("npm.test", 80),
        ("evil.test", 0), ("evil.test", 65536),
    ],
)  # fmt: skip
def test_no_tunnel_for_addresses_odd_names_and_plain_http(host: str, port: int) -> None:
    verdict = decide(POLICY, replace(CONNECT, host=host, port=port))
    assert (verdict.allowed, verdict.status) == (False, 403)


WORDS = [
    (Request("general", "GET", "/", host="gateway.test"), "gateway.test is reachable only over HTTPS"),
    (Request("general", "GET", "/", host="GitHub.test"), "github.test is reachable only over HTTPS"),
    (Request("general", "GET", "/", host="npm.test"), "npm.test is reachable only over HTTPS"),
    (Request("setup", "GET", "/", host="npm.test"), "npm.test is reachable only over HTTPS"),
    (Request("general", "GET", "/", host="evil.test"), "evil.test is not reachable from this sandbox"),
    (Request("general", "GET", "/", host="x.github.test"), "x.github.test is not reachable from this sandbox"),
    (Request("general", "GET", "/", host="github.test."), "github.test. is not reachable from this sandbox"),
    (Request("general", "GET", "/", host="<b>\n"), "?b?? is not reachable from this sandbox"),
    (
        replace(GET, host="evil.test", sni="evil.test", named=("evil.test",)),
        "evil.test is not reachable from this sandbox",
    ),
    (replace(GET, named=("cdn.test",)), "cdn.test is not reachable from this sandbox by way of npm.test"),
    (replace(GET, method="POST"), "npm.test may only be read from this sandbox: GET and HEAD"),
]


@pytest.mark.parametrize(("request_", "words"), WORDS, ids=range(len(WORDS)))
def test_a_refusal_says_why(request_: Request, words: str) -> None:
    assert decide(POLICY, request_).reason == words


def test_a_demo_upstream_over_plain_http_is_not_said_to_be_reachable_over_https() -> None:
    policy = parse(line(model={**MODEL, "base_url": "http://demo.test:8080", "private": True}, git=None))
    asked = Request("general", "GET", "/", host="demo.test")
    assert decide(policy, asked).reason == "demo.test is not reachable from this sandbox"


def test_after_the_setup_its_listener_lets_nothing_through() -> None:
    over = replace(POLICY, general=replace(POLICY.general, setup=False))
    for request in (GET, CONNECT):
        assert not decide(over, replace(request, listener="setup")).allowed
        assert decide(over, request).allowed


def test_a_destination_is_dialled_as_the_operator_wrote_it() -> None:
    found = upstream(POLICY.general, "LAN.test", 8443)
    assert found is not None
    assert (found.host, found.port, found.tls, found.private, found.ca_pem) == ("lan.test", 8443, True, True, "PEM")
    assert upstream(POLICY.general, "lan.test", 443) is None
    assert len({key(found) for found in upstreams(POLICY.general)}) == len(ALLOWED)


def test_the_listeners_are_these_two() -> None:
    assert frozenset({"general", "setup"}) == general.LISTENERS
