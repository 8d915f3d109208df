"""A redirect is passed on if following it would be let through."""

from __future__ import annotations

import pytest

from sandbox.egress.general import upstream
from sandbox.egress.redirects import Elsewhere, target
from tests.sandbox.egress.test_general import POLICY

GENERAL = POLICY.general
NPM = upstream(GENERAL, "npm.test", 443)
assert NPM is not None
ORIGIN = NPM

PASSED = [
    ("/b", "https://npm.test/b"),
    ("b", "https://npm.test/dir/b"),
    ("../b", "https://npm.test/b"),
    ("/b?x=1", "https://npm.test/b?x=1"),
    ("/@scope%2fname", "https://npm.test/@scope%2fname"),
    ("https://npm.test/b", "https://npm.test/b"),
    ("https://NPM.test:443/b#part", "https://npm.test/b"),
    ("https://npm.test", "https://npm.test/"),
    ("https://lan.test:8443/b", "https://lan.test:8443/b"),
    ("//lan.test:8443/b", "https://lan.test:8443/b"),
]


@pytest.mark.parametrize(("location", "passed_on"), PASSED)
def test_to_an_allowed_destination_it_is_passed_on_in_one_spelling(location: str, passed_on: str) -> None:
    assert target(GENERAL, ORIGIN, "/dir/a", location) == passed_on


REMOVED = [
    ("https://evil.test/b", "evil.test"),
    ("//evil.test/b", "evil.test"),
    ("http://npm.test/b", "npm.test"),
    ("https://lan.test/b", "lan.test"),
    ("https://user:pw@npm.test/b", "npm.test"),
    ("https://npm.test@evil.test/b", "evil.test"),
    ("https://npm.test.evil.test/b", "npm.test.evil.test"),
    ("https://npm.test/a%2e%2e/b", "npm.test"),
    ("https://npm.test/b?token=x", "npm.test"),
    ("https:\\\\evil.test/b", "npm.test"),
    ("/\\evil.test/b", "npm.test"),
    ("https://npm.test:99999/", "npm.test"),
    ("https://[::1/", "npm.test"),
    ("file:///etc/passwd", "that host"),
    ("/b\r\nset-cookie: x", "npm.test"),
    ("/é", "npm.test"),
    ("/" + "a" * 3000, "npm.test"),
]


@pytest.mark.parametrize(("location", "host"), REMOVED)
def test_to_anywhere_else_it_is_words(location: str, host: str) -> None:
    with pytest.raises(Elsewhere, match=r"npm\.test redirects to ") as caught:
        target(GENERAL, ORIGIN, "/dir/a", location)
    assert caught.value.host == host


def test_no_location_is_the_same_page() -> None:
    """A redirect without one leads back to where it came from: a client's loop, and nobody else's."""
    assert target(GENERAL, ORIGIN, "/dir/a", "") == "https://npm.test/dir/a"
