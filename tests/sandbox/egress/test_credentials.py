"""Each secret is set on its own listener's requests, in the form its upstream takes, and shown by nothing."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from sandbox.egress.credentials import Credentials, Outgoing
from sandbox.egress.headers import Fields
from sandbox.egress.reach import parse
from tests.sandbox.egress.policies import MODEL, line

KEY, TOKEN, PASSWORD = "sk-ant-0123456789", "ghs_0123456789", "proxy-0123456789"
PAIR = base64.b64encode(f"x-access-token:{TOKEN}".encode())
PROXY = {"url": "http://proxy.test:3128", "user": "me", "ca_pem": ""}
VERSION = (b"anthropic-version", b"2023-06-01")


def held(model: str = KEY, fetch: str = TOKEN, proxy: str = "", **terms: Any) -> Credentials:
    policy = line(model={**MODEL, **terms}, proxy=PROXY if proxy else None)
    return Credentials({"model": model, "fetch": fetch, "proxy": proxy}, parse(policy))


def on(credentials: Credentials, listener: str, *headers: tuple[bytes, bytes]) -> Fields:
    return credentials.set_on(listener, Outgoing("POST", "up.test", "/v1/messages", headers))


def test_credentials_are_set_per_listener() -> None:
    both = held()
    assert on(both, "model") == ((b"x-api-key", KEY.encode()),)
    assert on(both, "git") == ((b"authorization", b"Basic " + PAIR),)
    assert on(both, "general") == on(both, "anything") == ()
    assert on(held(fetch=""), "git") == ()
    assert on(held(model=""), "model", (b"a", b"b")) == ((b"a", b"b"),)


@pytest.mark.parametrize(
    ("header", "key", "value"),
    [
        ("x-api-key", KEY, KEY),
        ("api-key", KEY, KEY),
        ("authorization", KEY, f"Bearer {KEY}"),
        ("cf-aig-authorization", KEY, f"Bearer {KEY}"),
        ("cf-aig-authorization", f"Bearer {KEY}", f"Bearer {KEY}"),
    ],
)
def test_a_key_goes_in_the_form_of_its_header(header: str, key: str, value: str) -> None:
    assert on(held(key, header=header), "model") == ((header.encode(), value.encode()),)


def test_what_was_there_under_that_name_is_replaced() -> None:
    assert on(held(), "model", (b"x-api-key", b"mine"), (b"a", b"b")) == ((b"a", b"b"), (b"x-api-key", KEY.encode()))


def test_an_oauth_token_is_a_bearer_whatever_the_header_and_says_what_the_provider_needs() -> None:
    token = held(oauth=True, header="x-api-key")
    assert on(token, "model", VERSION, (b"anthropic-beta", b"a-1, b-2")) == (
        VERSION,
        (b"authorization", f"Bearer {KEY}".encode()),
        (b"anthropic-beta", b"a-1,b-2,oauth-2025-04-20"),
    )
    said = (b"anthropic-beta", b"oauth-2025-04-20,a-1")
    assert on(token, "model", VERSION, said) == (VERSION, said, (b"authorization", f"Bearer {KEY}".encode()))
    assert on(token, "model") == ((b"authorization", f"Bearer {KEY}".encode()),), "no word of Anthropic's to another"


def test_the_operators_proxy_gets_its_own_and_no_other() -> None:
    with_proxy = held(proxy=PASSWORD)
    pair = base64.b64encode(f"me:{PASSWORD}".encode())
    assert on(with_proxy, "proxy") == ((b"proxy-authorization", b"Basic " + pair),)
    assert {PASSWORD.encode(), pair} <= set(with_proxy.masked())


def test_a_dropped_token_is_not_set_but_still_masked() -> None:
    both = held()
    both.drop("git")
    both.drop("git")
    assert on(both, "git") == ()
    assert {KEY.encode(), TOKEN.encode(), PAIR} <= set(both.masked())


def test_c14_credentials_show_no_secret() -> None:
    both = held()
    assert repr(both) == str(both) == f"{both}" == "Credentials(model, git)"
    assert not hasattr(both, "__dict__")


@pytest.mark.parametrize(
    "secrets",
    [
        {},
        {"model": KEY, "fetch": ""},
        {"model": KEY, "fetch": "", "proxy": "", "x": ""},
        {"model": "a\r\nb", "fetch": "", "proxy": ""},
        {"model": "é", "fetch": "", "proxy": ""},
    ],
)
def test_secrets_that_no_header_can_carry_are_refused(secrets: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="secret"):
        Credentials(secrets, parse(line()))


def test_a_key_that_must_be_escaped_is_masked_in_json_and_urls_too() -> None:
    odd = held('Bearer a/b"c+0123', header="cf-aig-authorization")
    assert {b'a/b"c+0123', b'a/b\\"c+0123', b'a\\/b\\"c+0123', b"a%2Fb%22c%2B0123"} <= set(odd.masked())
