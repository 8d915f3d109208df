"""An operator's list of destinations: presets and exact hosts, and words for every mistake."""

from __future__ import annotations

import pytest

from sandbox.egress.places import GRAMMARS, is_name
from sandbox.egress.places import parse as egress_parse
from sandbox.presets import PRESETS, among, parse, preset
from sandbox.settings import Destination


def test_every_preset_is_what_the_egress_takes() -> None:
    everything = parse(" ".join(PRESETS))
    assert all(is_name(place.host) and place.grammar in GRAMMARS and not place.private for place in everything)
    assert len(everything) == sum(len(preset(name)) for name in PRESETS)
    lines = [place.model_dump(include={"host", "port", "private", "ca_pem", "grammar"}) for place in everything]
    assert len(egress_parse({"allowed": lines, "setup": False}).allowed) == len(everything)


def test_npm_has_its_own_grammar() -> None:
    assert {place.grammar for place in parse("npm")} == {"npm"}
    assert {place.grammar for place in parse("pypi, crates")} == {"plain"}


def test_hosts_ports_and_twice_the_same() -> None:
    assert parse("a.test, b.test:8443\na.test:443") == (
        Destination(host="a.test"),
        Destination(host="b.test", port=8443),
    )
    assert parse("") == ()


def test_private_ones_are_named_one_by_one() -> None:
    found = parse("lan.test:8443 10.0.0.5 mirror a.test", private=["lan.test:8443", "10.0.0.5", "mirror"], ca_pem="PEM")
    assert [(place.host, place.port, place.private, place.ca_pem) for place in found] == [
        ("lan.test", 8443, True, "PEM"),
        ("10.0.0.5", 443, True, "PEM"),
        ("mirror", 443, True, "PEM"),
        ("a.test", 443, False, ""),
    ]
    assert parse("[fd00::5]:8443", private=["[fd00::5]:8443"])[0].host == "fd00::5"


MISTAKES = [
    ("*.a.test", "wildcards"),
    ("A.test", "lower case"),
    ("https://a.test", "no address of a page"),
    ("a.test/path", "no address of a page"),
    ("me@a.test", "no address of a page"),
    ("10.0.0.5", "only where it is private"),
    ("::1", "neither a preset"),
    ("[::1]", "only where it is private"),
    ("npmm", "neither a preset (npm, pypi, crates, go, debian)"),
    ("[fd00::0005]:443", "plain form"),
    ("[fe80::1%eth0]", "plain form"),
    ("a.test:0", "no such port"),
    ("a.test:65536", "no such port"),
    ("a.test:x", "neither a preset"),
    ("a.test.", "no host name"),
    ("-a.test", "no host name"),
    ("a.1", "no host name"),
    ("né.test", "no host name"),
]


@pytest.mark.parametrize(("entry", "words"), MISTAKES)
def test_a_mistake_is_named_in_words(entry: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse(f"npm, {entry}")
    assert str(caught.value).startswith(f"{entry}: ")
    assert words in str(caught.value)


def test_private_that_is_not_in_the_list_is_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"b\.test is said to be private and is not in the list"):
        parse("a.test", private=["b.test"])


def test_those_among_the_allowed_that_are_named_are_as_the_operator_has_them() -> None:
    allowed = parse("npm, inner.example.org", private=["inner.example.org"], ca_pem="CA")
    (inner,) = among(["inner.example.org"], allowed)
    assert (inner.private, inner.ca_pem) == (True, "CA")
    assert among(["npm"], allowed) == preset("npm")
    assert among(PRESETS, allowed) == preset("npm")
    for nothing in ("go", "other.example.org", "inner.example.org:444", "*", "https://x/", ""):
        assert among([nothing], allowed) == ()
