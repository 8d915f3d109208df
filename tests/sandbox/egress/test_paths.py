"""Group E19: paths that can be spelled in one way only, with the few escapes that a registry's own clients write."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.egress.paths import MAX_QUERY_CHARS, MAX_TARGET_CHARS, refusal

NEEDED = [
    ("npm", "/left-pad"),
    ("npm", "/@scope%2fname"),
    ("npm", "/@scope%2Fname"),
    ("npm", "/@scope/name/-/name-1.0.0.tgz"),
    ("npm", "/-/npm/v1/security/advisories/bulk"),
    ("plain", "/simple/requests/"),
    ("plain", "/packages/ab/cd/0123/requests-2.32.3-py3-none-any.whl.metadata"),
    ("plain", "/to/ki/tokio"),
    ("plain", "/crates/libgit2-sys/0.12.26+1.3.0/download"),
    ("plain", "/config.json"),
    ("plain", "/"),
    ("go", "/github.com/%21burnt%21sushi/toml/@v/v1.4.0.mod"),
    ("go", "/github.com/!burnt!sushi/toml/@v/list"),
    ("go", "/golang.org/x/mod/@v/v0.1.0+incompatible.info"),
    ("go", "/lookup/golang.org/x/mod@v0.1.0"),
    ("debian", "/debian/pool/main/g/gcc-14/libstdc%2b%2b6_14.2.0-19_amd64.deb"),
    ("debian", "/debian/dists/trixie/by-hash/SHA256/00ff"),
    ("plain", "/x?go-get=1&version=1.0,2.0"),
]


@pytest.mark.parametrize(("grammar", "target"), NEEDED)
def test_what_package_tools_ask_for_is_passed_on(grammar: str, target: str) -> None:
    assert refusal(target, grammar) == ""


SPELLINGS = [
    "/a/../b", "/..", "/a/..", "/a/.", "/./a", "/a//b", "//a", "/a/b//", "/a/.../b", "/a./b", "/a;x=1", "/a;/b",
    "/a\\b",
    "\\a", "/a%2fb", "/a%2Fb", "/a%5cb", "/a%2e%2e/b", "/%2e%2e/b", "/a%252e", "/a%00", "/a%0a", "/a%", "/a%2", "/a%zz",
    "/a b", "/a\tb", "/a\x00b", "/a\x7f", "/a\xe9", "/aé", "/a#b", "/a?", "/a?x#y", "/a?x=%41", "/a?x y", "/a?x;y",
    "/a?x=1?y=2", "/a?token=1", "/a?api_key=1", "/a?ACCESS_TOKEN=1", "/a?x=secret", "a", "", "*", "https://x.test/a",
    "/a<b>", '/a"b', "/a|b", "/a^b", "/a`b", "/{a}", "/[a]", "/a/%21", "/a/%2b", "/@scope%2f..", "/@scope%2f",
    "/@scope%2fname%2fmore", "/@%2fname", "/x/@scope%2fname", "/scope%2fname", "/@scope%252fname", "/@../%2fname",
]  # fmt: skip


@pytest.mark.parametrize("grammar", ["plain", "npm"])
def test_e19_every_other_spelling_is_refused(grammar: str) -> None:
    assert [target for target in SPELLINGS if not refusal(target, grammar)] == []


def test_escapes_belong_to_one_grammar_each() -> None:
    escaped = {"npm": "/@scope%2fname", "go": "/%21a", "debian": "/a%2b"}
    for grammar in ("plain", "npm", "go", "debian"):
        assert [name for name, target in escaped.items() if not refusal(target, grammar)] == (
            [grammar] if grammar in escaped else []
        )


def test_length_is_bounded() -> None:
    assert refusal("/" + "a" * (MAX_TARGET_CHARS - 1), "plain") == ""
    assert "too long" in refusal("/" + "a" * MAX_TARGET_CHARS, "plain")
    assert "too long" in refusal("/?" + "a" * (MAX_QUERY_CHARS + 1), "plain")


@settings(deadline=None)
@given(
    grammar=st.sampled_from(["plain", "npm", "go", "debian"]),
    pieces=st.lists(
        st.sampled_from(
            ["/", "..", ".", "a", "@s", "%2f", "%2e", "%21", "%2b", "%5c", "//", ";", "\\", "?", "=", "é", "\0"]
        ),
        max_size=8,
    ),
)
def test_what_passes_means_the_same_however_it_is_read(grammar: str, pieces: list[str]) -> None:
    target = "/" + "".join(pieces)
    if refusal(target, grammar) == "":
        path = unquote(target.partition("?")[0])
        assert not re.search(r"//|\\|;|[\x00-\x20\x7f]|(^|/)\.{1,2}(/|$)", path)
        assert unquote(path) == path, "nothing is left that a second decoding would change"
