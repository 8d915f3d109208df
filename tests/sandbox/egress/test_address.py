"""E31: which addresses are dialled, as a table."""

from __future__ import annotations

import pytest

from sandbox.egress.address import refusal

PUBLIC = ["8.8.8.8", "140.82.121.4", "2606:4700::6810:84e5", "::ffff:8.8.8.8"]
PRIVATE = [
    "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "::1",
    "fd12:3456::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "192.0.2.1", "198.18.0.1", "192.0.0.8",
]  # fmt: skip
NEVER = [
    "169.254.169.254", "169.254.0.1", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255", "100.100.100.200", "::", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "fd00:ec2::254",
    "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001:0:7f00:1::", "::ffff:169.254.169.254",
    "::ffff:0.0.0.0", "::127.0.0.1", "::10.0.0.1", "100::1",
    "", "localhost", "1", "0x7f.1", "127.1", "8.8.8.8.", " 8.8.8.8", "8.8.8.8/32",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_dialled(address: str) -> None:
    assert refusal(address, private=False) == refusal(address, private=True) == ""


@pytest.mark.parametrize("address", PRIVATE)
def test_e31_private_ones_only_where_the_operator_said_so(address: str) -> None:
    assert refusal(address, private=False) != ""
    assert refusal(address, private=True) == ""


@pytest.mark.parametrize("address", NEVER)
def test_e31_some_are_never_dialled(address: str) -> None:
    assert refusal(address, private=False) != ""
    assert refusal(address, private=True) != ""
