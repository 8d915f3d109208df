"""Which headers travel, and that no credential is shown."""

from __future__ import annotations

import base64

import pytest

from sandbox.egress.headers import Credentials, answered, sent

KEY, TOKEN = "sk-ant-0123456789", "ghs_0123456789"
PAIR = base64.b64encode(f"x-access-token:{TOKEN}".encode())


@pytest.mark.parametrize(
    "name",
    [
        "Authorization", "x-api-key", "X-Goog-Api-Key", "api-key", "Cookie", "Proxy-Authorization",
        "cf-aig-authorization", "anthropic-api-key", "x-anthropic-token", "x-stainless-secret",
        "x-anthropic-authorization", "anthropic-authorization", "x-claude-author",
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


def test_credentials_are_set_per_listener() -> None:
    held = Credentials({"model": KEY, "fetch": TOKEN}, "x-api-key")
    assert held.set_on("model") == ((b"x-api-key", KEY.encode()),)
    assert held.set_on("git") == ((b"authorization", b"Basic " + PAIR),)
    assert held.set_on("general") == held.set_on("anything") == ()
    bearer = Credentials({"model": KEY, "fetch": ""}, "authorization")
    assert bearer.set_on("model") == ((b"authorization", f"Bearer {KEY}".encode()),)
    assert bearer.set_on("git") == ()


def test_a_dropped_token_is_not_set_but_still_masked() -> None:
    held = Credentials({"model": KEY, "fetch": TOKEN}, "x-api-key")
    held.drop("git")
    held.drop("git")
    assert held.set_on("git") == ()
    assert {KEY.encode(), TOKEN.encode(), PAIR} <= set(held.masked())


def test_c14_credentials_show_no_secret() -> None:
    held = Credentials({"model": KEY, "fetch": TOKEN}, "x-api-key")
    assert repr(held) == str(held) == f"{held}" == "Credentials(model, git)"
    assert not hasattr(held, "__dict__")


@pytest.mark.parametrize(
    "secrets",
    [
        {},
        {"model": KEY},
        {"model": KEY, "fetch": "", "x": ""},
        {"model": "a\r\nb", "fetch": ""},
        {"model": "é", "fetch": ""},
    ],
)
def test_secrets_that_no_header_can_carry_are_refused(secrets: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="secret"):
        Credentials(secrets, "x-api-key")


def test_a_key_that_must_be_escaped_is_masked_in_json_and_urls_too() -> None:
    held = Credentials({"model": 'Bearer a/b"c+0123', "fetch": ""}, "cf-aig-authorization")
    assert {b'a/b"c+0123', b'a/b\\"c+0123', b'a\\/b\\"c+0123', b"a%2Fb%22c%2B0123"} <= set(held.masked())
