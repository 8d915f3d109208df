"""Which headers travel."""

from __future__ import annotations

import pytest

from sandbox.egress.headers import answered, sent


@pytest.mark.parametrize(
    "name",
    [
        "Authorization", "x-api-key", "X-Goog-Api-Key", "api-key", "Cookie", "Proxy-Authorization",
        "cf-aig-authorization", "anthropic-api-key", "x-anthropic-token", "x-stainless-secret",
        "x-anthropic-authorization", "anthropic-authorization", "x-claude-author",
        "OpenAI-Organization", "OpenAI-Project", "chatgpt-account-id", "anthropic-organization-id",
        "X-HTTP-Method-Override", "X-Forwarded-For", "Forwarded", "Connection", "Upgrade", "TE", "Host",
        "Accept-Encoding", "Transfer-Encoding ", "X-Original-URL",
    ],
)  # fmt: skip
@pytest.mark.parametrize("listener", ["model", "git"])
def test_c04_what_is_not_listed_stays(listener: str, name: str) -> None:
    fields = sent(listener, [(name.encode(), b"CANARY")], "up.test")
    assert fields == ((b"host", b"up.test"), (b"accept-encoding", b"identity"))


def test_what_the_clients_need_travels() -> None:
    model = [b"Content-Type", b"User-Agent", b"anthropic-version", b"anthropic-beta", b"X-Stainless-Lang", b"x-app"]
    model += [b"originator", b"session-id", b"session_id", b"thread-id", b"x-codex-turn-metadata", b"OpenAI-Beta"]
    model += [b"x-session-affinity", b"x-session-id", b"x-openai-internal-codex-responses-lite"]
    git = [b"Content-Type", b"User-Agent", b"Git-Protocol", b"Content-Encoding", b"Pragma"]
    for listener, names in (("model", model), ("git", git)):
        kept = sent(listener, [(name, b"v") for name in names], "up.test")[2:]
        assert [name for name, _ in kept] == [name.lower() for name in names]


@pytest.mark.parametrize("value", [b"a\r\n b", b"a\nb", b"a\x00b", b"\x7f"])
def test_a_value_that_servers_read_differently_stays(value: bytes) -> None:
    assert len(sent("model", [(b"user-agent", value)], "up.test")) == 2


@pytest.mark.parametrize(
    ("name", "value", "spelled"),
    [
        (b"Transfer-Encoding", b"CHUNKED", b"chunked"),
        (b"transfer-encoding", b"chunked", b"chunked"),
        (b"Content-Length", b"007", b"7"),
    ],
)
def test_e22_the_length_of_a_body_is_told_in_one_spelling(name: bytes, value: bytes, spelled: bytes) -> None:
    """An upstream that knows ``chunked`` in lower case only would take the body for further requests, with our key."""
    assert sent("model", [(name, value)], "up.test")[2:] == ((name.lower(), spelled),)


@pytest.mark.parametrize(("name", "value"), [(b"transfer-encoding", b"gzip, chunked"), (b"content-length", b"x")])
def test_e22_a_length_that_has_no_such_spelling_is_an_error_and_so_a_refusal(name: bytes, value: bytes) -> None:
    with pytest.raises(ValueError, match=r"coded in another way|invalid literal"):
        sent("model", [(name, value)], "up.test")


def test_only_the_one_known_expectation_travels() -> None:
    fields = [(b"Expect", b"100-continue"), (b"Expect", b"something")]
    assert sent("model", fields, "up.test")[2:] == ((b"expect", b"100-continue"),)


def test_what_would_send_the_client_elsewhere_is_not_answered() -> None:
    names = [b"Location", b"Set-Cookie", b"WWW-Authenticate", b"Alt-Svc", b"Refresh", b"Proxy-Authenticate", b"Upgrade"]
    assert answered([(name, b"x") for name in names]) == ()
    assert answered([(b"Content-Type", b"x"), (b"Retry-After", b"7")]) == (
        (b"Content-Type", b"x"),
        (b"Retry-After", b"7"),
    )
