"""The policy: only exact strings pass, and what passes is what is sent."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.egress.policy import (
    GIT_BODY_BYTES,
    MODEL_BODY_BYTES,
    Policy,
    Request,
    body_limit,
    decide,
    parse,
    rules,
    shown_host,
    shown_method,
    shown_path,
)

PREFIX = "/v1/account/gateway"
MODEL = {"base_url": f"https://gateway.test{PREFIX}", "header": "x-api-key", "private": False, "ca_pem": ""}
GIT = {"base_url": "https://github.test", "private": False, "ca_pem": "", "repository": "Octo/hello.world"}
POLICY = parse({"model": MODEL, "git": GIT})
CHAT = Request("model", "POST", "/v1/messages", has_body=True, length=2, content_type="application/json")
REFS = Request("git", "GET", "/Octo/hello.world.git/info/refs?service=git-upload-pack")
PACK = Request(
    "git", "POST", "/Octo/hello.world/git-upload-pack", has_body=True, length=4,
    content_type="application/x-git-upload-pack-request",
)  # fmt: skip


def test_what_a_client_and_a_fetch_need_is_allowed() -> None:
    """The control of every refusal below."""
    sent = {request: decide(POLICY, request) for request in (CHAT, REFS, PACK)}
    assert all(verdict.allowed and verdict.status == 200 for verdict in sent.values())
    assert sent[CHAT].target == f"{PREFIX}/v1/messages"
    assert sent[REFS].target == REFS.target
    assert sent[PACK].target == PACK.target
    assert [body_limit(POLICY, request) for request in sent] == [MODEL_BODY_BYTES, 0, GIT_BODY_BYTES]


def test_the_tables_hold_these_strings_and_no_more() -> None:
    assert set(rules(POLICY, "model")) == {
        f"{prefix}/v1/messages{rest}{query}"
        for prefix in ("", PREFIX)
        for rest in ("", "/count_tokens")
        for query in ("", "?beta=true")
    }
    assert set(rules(POLICY, "git")) == {
        f"/Octo/hello.world{suffix}{rest}"
        for suffix in ("", ".git")
        for rest in ("/info/refs?service=git-upload-pack", "/git-upload-pack")
    }
    assert rules(POLICY, "general") == {}
    assert rules(POLICY, "anything") == {}


REFUSED = [
    (replace(CHAT, method="GET"), 405),
    (replace(CHAT, method="post"), 405),
    (replace(CHAT, method="TRACE"), 405),
    (replace(CHAT, target="/v1/files"), 403),
    (replace(CHAT, target="/v1/messages/batches"), 403),
    (replace(CHAT, target=f"{PREFIX}x/v1/messages"), 403),
    (replace(CHAT, absolute=True, host="gateway.test"), 421),
    (replace(CHAT, upgrade=True), 403),
    (replace(CHAT, version="HTTP/1.0"), 400),
    (replace(CHAT, version="HTTP/2.0"), 400),
    (replace(CHAT, has_body=False), 400),
    (replace(CHAT, content_type="text/plain"), 415),
    (replace(CHAT, content_type=""), 415),
    (replace(CHAT, content_encoding="gzip"), 415),
    (replace(CHAT, length=MODEL_BODY_BYTES + 1), 413),
    (replace(CHAT, listener="git"), 403),
    (replace(CHAT, listener="general"), 403),
    (replace(CHAT, listener="nobody"), 403),
    (replace(REFS, method="POST"), 405),
    (replace(REFS, has_body=True), 400),
    (replace(REFS, listener="model"), 403),
    (replace(REFS, target=REFS.target.replace("upload", "receive")), 403),
    (replace(REFS, target=REFS.target.lower()), 403),
    (replace(REFS, target=f"{REFS.target}&x=1"), 403),
    (replace(REFS, target=REFS.target.replace(".git/", ".git.git/")), 403),
    (replace(PACK, content_type="application/x-git-receive-pack-request"), 415),
    (replace(PACK, content_encoding="br"), 415),
    (replace(PACK, length=GIT_BODY_BYTES + 1), 413),
    (replace(PACK, target="/Octo/other/git-upload-pack"), 403),
]


@pytest.mark.parametrize(("request_", "status"), REFUSED, ids=range(len(REFUSED)))
def test_everything_else_is_refused_with_a_reason(request_: Request, status: int) -> None:
    verdict = decide(POLICY, request_)
    assert (verdict.allowed, verdict.status, verdict.target) == (False, status, "")
    assert verdict.reason
    assert body_limit(POLICY, request_) == 0


def test_gzip_is_allowed_where_git_uses_it() -> None:
    assert decide(POLICY, replace(PACK, content_encoding="gzip")).allowed


def test_a_length_that_is_not_told_is_counted_later() -> None:
    assert decide(POLICY, replace(CHAT, length=None)).allowed


WORDS = [
    (Request("general", "GET", "/", host="gateway.test"), "gateway.test is reachable only over HTTPS"),
    (Request("general", "GET", "/", host="GitHub.test"), "github.test is reachable only over HTTPS"),
    (Request("general", "GET", "/", host="evil.test"), "evil.test is not reachable from this sandbox"),
    (Request("general", "GET", "/", host="x.github.test"), "x.github.test is not reachable from this sandbox"),
    (Request("general", "GET", "/", host="github.test."), "github.test. is not reachable from this sandbox"),
    (Request("general", "CONNECT", "", host="gateway.test"), "gateway.test is not reachable from this sandbox"),
    (Request("general", "GET", "/", host="<b>\n"), "?b?? is not reachable from this sandbox"),
    (replace(CHAT, method="GET", target="/v1/models"), "GET /v1/models is not reachable from this sandbox"),
    (replace(CHAT, absolute=True, host="evil.test"), "evil.test is not reachable from this sandbox"),
    (
        replace(REFS, target="/Octo/hello.world.git/info/refs?service=git-receive-pack"),
        "pushing is refused: this sandbox may only read Octo/hello.world",
    ),
    (replace(REFS, target="/o/r/info/refs"), "only Octo/hello.world can be fetched from this sandbox"),
]


@pytest.mark.parametrize(("request_", "words"), WORDS, ids=range(len(WORDS)))
def test_a_refusal_says_why(request_: Request, words: str) -> None:
    assert decide(POLICY, request_).reason == words


def test_after_fetching_nothing_can_be_fetched() -> None:
    over = replace(POLICY, git=None)
    assert not decide(over, REFS).allowed
    assert decide(over, REFS).reason == "nothing can be fetched from this sandbox now"


def test_a_demo_upstream_over_plain_http_is_not_said_to_be_reachable_over_https() -> None:
    model = {**MODEL, "base_url": "http://demo.test:8080", "private": True}
    policy = parse({"model": model, "git": None})
    asked = Request("general", "GET", "/", host="demo.test")
    assert decide(policy, asked).reason == "demo.test is not reachable from this sandbox"


ALLOWED_TARGETS = sorted({*rules(POLICY, "model"), *rules(POLICY, "git")})
PIECES = [
    "..",
    ".",
    "/",
    "//",
    "\\",
    "%2e",
    "%2E",
    "%2f",
    "%00",
    "%252e",
    ";",
    ";x",
    "?",
    "&",
    "#",
    " ",
    "\t",
    "\x00",
    "é",
    "A",
]


@settings(deadline=None)  # a busy machine is no fault of the code
@given(
    target=st.one_of(
        st.text(max_size=80),
        st.builds(
            lambda base, piece, at: base[: at % (len(base) + 1)] + piece + base[at % (len(base) + 1) :],
            st.sampled_from(ALLOWED_TARGETS), st.sampled_from(PIECES), st.integers(0, 200),
        ),
        st.builds(
            lambda base, at: base[: at % len(base)] + base[at % len(base)].swapcase() + base[at % len(base) + 1 :],
            st.sampled_from(ALLOWED_TARGETS), st.integers(0, 200),
        ),
        st.sampled_from(ALLOWED_TARGETS),
    ),
    listener=st.sampled_from(["model", "git", "general", ""]),
    method=st.sampled_from(["GET", "POST", "HEAD", "get", "CONNECT"]),
    kind=st.sampled_from(["application/json", "application/x-git-upload-pack-request", ""]),
    has_body=st.booleans(),
)  # fmt: skip
def test_whatever_is_allowed_is_sent_in_its_one_spelling(
    target: str, listener: str, method: str, kind: str, has_body: bool
) -> None:
    verdict = decide(POLICY, Request(listener, method, target, content_type=kind, has_body=has_body))
    if verdict.allowed:
        assert target in rules(POLICY, listener)
        assert verdict.target in rules(POLICY, listener), "sending it again gives the same"
        assert re.fullmatch(r"(/[A-Za-z0-9_][A-Za-z0-9._-]*)+(\?(beta=true|service=git-upload-pack))?", verdict.target)
        assert ".." not in verdict.target
    else:
        assert verdict.target == ""


@settings(deadline=None)  # a busy machine is no fault of the code
@given(st.text(max_size=400))
def test_a_clients_words_are_harmless_when_shown(text: str) -> None:
    for shown in (shown_host(text), shown_path(text), shown_method(text)):
        assert re.fullmatch(r"[!-~ ]{0,256}", shown)
        assert not set(shown) & set("<>\"`'") - {"'"}


BAD_POLICIES: list[tuple[str, Any]] = [
    ("model", {**MODEL, "base_url": "http://gateway.test"}),
    ("model", {**MODEL, "base_url": "ftp://gateway.test"}),
    ("model", {**MODEL, "base_url": "https://user:pw@gateway.test"}),
    ("model", {**MODEL, "base_url": "https://Gateway.test@evil.test"}),
    ("model", {**MODEL, "base_url": "https://gateway..test"}),
    ("model", {**MODEL, "base_url": "https://gateway.test."}),
    ("model", {**MODEL, "base_url": "https://GATEWAY.test"}),
    ("model", {**MODEL, "base_url": "https://g\u0430teway.test"}),
    ("model", {**MODEL, "base_url": "https://gateway.test:0"}),
    ("model", {**MODEL, "base_url": "https://gateway.test:65536"}),
    ("model", {**MODEL, "base_url": "https://gateway.test:44x"}),
    ("model", {**MODEL, "base_url": "https://gateway.test/a/../b"}),
    ("model", {**MODEL, "base_url": "https://gateway.test/a//b"}),
    ("model", {**MODEL, "base_url": "https://gateway.test/a%2fb"}),
    ("model", {**MODEL, "base_url": "https://gateway.test/a?x=1"}),
    ("model", {**MODEL, "base_url": "https://gateway.test/a#x"}),
    ("model", {**MODEL, "base_url": "https://gateway.test/a;x"}),
    ("model", {**MODEL, "base_url": ""}),
    ("model", {**MODEL, "base_url": 7}),
    ("model", {**MODEL, "private": "yes"}),
    ("model", {**MODEL, "header": "X-API-Key"}),
    ("model", {**MODEL, "header": "host"}),
    ("model", {**MODEL, "header": "x\r\ny"}),
    ("model", {**MODEL, "extra": 1}),
    ("model", {"base_url": "https://gateway.test"}),
    ("model", None),
    ("git", {**GIT, "repository": "octo"}),
    ("git", {**GIT, "repository": "octo/hello/world"}),
    ("git", {**GIT, "repository": "octo/.."}),
    ("git", {**GIT, "repository": "../x"}),
    ("git", {**GIT, "repository": "octo/hello.git"}),
    ("git", {**GIT, "repository": "octo/hello?x"}),
    ("git", {**GIT, "repository": ""}),
    ("git", {**GIT, "repository": None}),
    ("git", "https://github.test"),
    ("more", {}),
]


@pytest.mark.parametrize(("part", "given_"), BAD_POLICIES, ids=range(len(BAD_POLICIES)))
def test_e25_a_policy_that_is_unclear_is_none(part: str, given_: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        parse({"model": MODEL, "git": GIT, part: given_})


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://api.test", "api.test"),
        ("https://api.test/", "api.test"),
        ("https://api.test:443", "api.test"),
        ("https://api.test:8443/x", "api.test:8443"),
        ("http://10.0.0.1:80", "10.0.0.1"),
        ("http://[fd00::1]:8080", "[fd00::1]:8080"),
    ],
)
def test_the_host_header_is_the_configured_one(url: str, authority: str) -> None:
    policy: Policy = parse({"model": {**MODEL, "base_url": url, "private": True}, "git": None})
    assert policy.model.authority == authority
