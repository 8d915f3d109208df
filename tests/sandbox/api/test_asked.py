"""What a call may ask for, in which form."""

from __future__ import annotations

import pytest

from sandbox.api import asked, wire
from sandbox.api.asked import NAME_RULE, Refused


@pytest.mark.parametrize("name", ["a", "0", "a-b", "a" * 63, "t0123456789"])
def test_names(name: str) -> None:
    assert asked.named_in(f"/sandboxes/{name}/task") == name
    assert asked.named_in(f"/sandboxes/{name}") == name


@pytest.mark.parametrize(
    "name", ["", "-", "-a", "a-", "A", "a" * 64, "a.b", "a_b", "a%2Fb", "..", "%2e%2e", "a b", "ä", "a\n", "a%0A"]
)
def test_what_is_no_name_is_refused_with_the_rule(name: str) -> None:
    with pytest.raises(Refused) as caught:
        asked.named_in(f"/sandboxes/{name}/whatever")
    assert (caught.value.status, str(caught.value)) == (400, NAME_RULE)


@pytest.mark.parametrize("path", ["/", "/sandboxes", "/sandboxesx/A", "/x/sandboxes/A", "//sandboxes/A"])
def test_paths_about_no_sandbox_hold_no_name(path: str) -> None:
    assert asked.named_in(path) is None


def test_query_is_known_and_once() -> None:
    assert asked.query([("a", "1")], ("a", "b")) == {"a": "1"}
    with pytest.raises(Refused, match="'c' is no parameter of this call; it takes a, b"):
        asked.query([("c", "1")], ("a", "b"))
    with pytest.raises(Refused, match="it takes none"):
        asked.query([("c", "1")], ())
    with pytest.raises(Refused, match="the parameter a is there twice"):
        asked.query([("a", "1"), ("a", "2")], ("a",))


@pytest.mark.parametrize("body", [b"", b" \n\t", "\u00a0\u2003".encode()])
def test_blank_prompt(body: bytes) -> None:
    with pytest.raises(Refused, match="blank"):
        asked.prompt(body)


def test_prompt_is_text() -> None:
    assert asked.prompt("  tu es – así\n".encode()) == "  tu es – así\n"
    with pytest.raises(Refused, match="not UTF-8"):
        asked.prompt(b"\xff")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b'{"url": 1}',
        b'{"url": "u", "url": "v"}',
        b'{"url": "u", "more": "canary"}',
        b'{"url": "u", "commit": "main"}',
        b'{"url": "u", "token": ""}',
        b'{"ref": "main"}',
    ],
)
def test_body_that_does_not_fit_is_refused_with_the_form_and_is_not_quoted(body: bytes) -> None:
    with pytest.raises(Refused) as caught:
        asked.value(wire.Repository, body, "THE FORM")
    assert caught.value.status == 400
    assert str(caught.value).endswith("send THE FORM")
    assert "canary" not in str(caught.value)


def test_body_that_fits() -> None:
    got = asked.value(wire.Repository, b'{"url": "u", "ref": "main", "token": "canary"}', "")
    assert (got.url, got.ref) == ("u", "main")
    assert "canary" not in repr(got)
