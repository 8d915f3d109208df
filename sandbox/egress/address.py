"""Which addresses may be dialled. A name is resolved once, vetted here, and that is dialled. Pure, standard library."""

from __future__ import annotations

import ipaddress

# Never dialled, whatever the operator named: the cloud's metadata services, this very host's "any" address, groups,
# and the forms that hide another address inside (whoever translates them decides where they lead).
_NEVER = [
    ipaddress.ip_network(block)
    for block in (
        "0.0.0.0/8",
        "100.100.100.200/32",  # metadata service of a cloud, in the middle of the shared range
        "169.254.0.0/16",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/128",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "2001::/32",
        "2002::/16",
        "fd00:ec2::/32",  # metadata service of a cloud, in the middle of the private range
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
]
# Special-purpose as a whole; which of it counts as global has changed between versions of Python.
_SPECIAL = ipaddress.ip_network("192.0.0.0/24")


def refusal(address: str, *, private: bool) -> str:
    """Why this address may not be dialled, in words; empty where it may. Anything that is no address is refused."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "it is no address"
    if isinstance(ip, ipaddress.IPv6Address):
        if "%" in address:
            return "it is link-local"
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif int(ip) >> 32 == 0 and ip != ipaddress.IPv6Address("::1"):
            return "it hides an IPv4 address"
    if any(ip.version == block.version and ip in block for block in _NEVER):
        return "it is link-local, a group or not a host"
    if private or (ip.is_global and ip not in _SPECIAL):
        return ""
    return "it is private"
