"""The operator's destinations: one spelling, exact, and nothing that a resolver takes for something else."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.egress.places import MAX_ALLOWED, Place, is_address, is_name, parse

PLACE = {"host": "npm.test", "port": 443, "private": False, "ca_pem": "", "grammar": "npm"}


def test_a_list_becomes_a_table_by_host_and_port() -> None:
    general = parse({"allowed": [PLACE, {**PLACE, "port": 8443, "grammar": "plain"}], "setup": True, "seconds": 60})
    assert general.place("npm.test", 443) == Place("npm.test", 443, "npm")
    assert general.place("npm.test", 8443) == Place("npm.test", 8443)
    assert general.place("npm.test", 80) is None
    assert general.place("x.npm.test", 443) is None
    assert (general.setup, general.seconds) == (True, 60)


BAD: list[Any] = [
    None,
    {},
    {"allowed": []},
    {"allowed": [], "setup": "yes"},
    {"allowed": {}, "setup": False},
    {"allowed": [], "setup": False, "more": 1},
    {"allowed": [], "setup": False, "seconds": -1},
    {"allowed": [], "setup": False, "seconds": True},
    {"allowed": [PLACE, PLACE], "setup": False},
    {"allowed": [{**PLACE, "port": port} for port in range(1, MAX_ALLOWED + 2)], "setup": False},
    *(
        {"allowed": [{**PLACE, **wrong}], "setup": False}
        for wrong in (
            {"host": "NPM.test"}, {"host": "npm.test."}, {"host": ".npm.test"}, {"host": "*.npm.test"}, {"host": ""},
            {"host": "10.0.0.5"}, {"host": "127.1"}, {"host": "0x7f.0x1"}, {"host": "a..b"}, {"host": "npm.test:443"},
            {"host": "né.test"}, {"host": 7}, {"host": "a" * 64 + ".test"}, {"host": "https://npm.test"},
            {"port": 0}, {"port": 65536}, {"port": "443"}, {"port": True}, {"private": 1}, {"ca_pem": None},
            {"grammar": "any"}, {"extra": 1},
            {"host": "010.0.0.5", "private": True}, {"host": "fe80::1%eth0", "private": True},
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("given", BAD, ids=range(len(BAD)))
def test_e25_a_list_that_is_unclear_is_none(given: Any) -> None:
    with pytest.raises(ValueError, match=r"general|each of"):
        parse(given)


def test_an_address_only_where_it_is_private() -> None:
    assert parse({"allowed": [{**PLACE, "host": "10.0.0.5", "private": True}], "setup": False}).place("10.0.0.5", 443)


def test_names_and_addresses_in_their_one_spelling() -> None:
    names = ["a.test", "x_y.test", "xn--bcher-kva.test", "a-b.c-d.test", "localhost", "1.2.3.test"]
    others = [
        "A.test",
        "a.test.",
        "-a.test",
        "a-.test",
        "1.2.3.4",
        "127.1",
        "2130706433",
        "0x7f000001",
        "::1",
        "a b",
        "",
    ]
    assert [name for name in names if not is_name(name)] == []
    assert [name for name in others if is_name(name)] == []
    assert [is_address(text) for text in ("1.2.3.4", "::1", "1.2.3", "01.2.3.4", "::0001", "a")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
