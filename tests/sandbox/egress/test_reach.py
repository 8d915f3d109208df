"""The operator's words: unclear ones are no policy."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.egress.reach import Policy, parse
from tests.sandbox.egress.policies import GIT, MODEL, line

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
    ("model", "https://gateway.test"),
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
    ("model", {**MODEL, "apis": []}),
    ("model", {**MODEL, "apis": ["anything"]}),
    ("model", {**MODEL, "apis": "openai-chat"}),
    ("model", {**MODEL, "oauth": "yes"}),
    ("model", {**MODEL, "server_side": 1}),
    ("proxy", {"url": "http://proxy.test/path", "user": "", "ca_pem": ""}),
    ("proxy", {"url": "socks5://proxy.test", "user": "", "ca_pem": ""}),
    ("proxy", {"url": "http://me:pw@proxy.test", "user": "", "ca_pem": ""}),
    ("proxy", {"url": "http://proxy.test", "user": "a:b", "ca_pem": ""}),
    ("proxy", {"url": "http://proxy.test"}),
    ("general", None),
    ("budget", {}),
]


@pytest.mark.parametrize(("part", "given_"), BAD_POLICIES, ids=range(len(BAD_POLICIES)))
def test_e25_a_policy_that_is_unclear_is_none(part: str, given_: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        parse(line(**{part: given_}))


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
    policy: Policy = parse(line(model={**MODEL, "base_url": url, "private": True}, git=None))
    assert policy.model is not None
    assert policy.model.authority == authority
