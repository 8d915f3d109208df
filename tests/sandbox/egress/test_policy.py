"""The policy: only exact strings pass, and what passes is what is sent."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.egress.policy import Request, body_limit, decide
from sandbox.egress.rules import GIT_BODY_BYTES, MODEL_BODY_BYTES, rules
from tests.sandbox.egress.policies import POLICY, PREFIX

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
