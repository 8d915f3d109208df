"""TLS towards an upstream: verified, 1.2 or newer, HTTP/1.1 only, and with the upstream's own extra CA certificates."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import certifi
from mitmproxy.net import tls as net_tls
from OpenSSL import SSL

from sandbox.egress.reach import Upstream


def trusted(upstream: Upstream, folder: Path, name: str, inspecting: str = "") -> str:
    """A file with the public CA certificates and the upstream's own, which vouch for no other upstream; and those of
    a proxy on the way to it that looks inside (``inspecting``).

    Raises ``ValueError`` where the extra ones cannot be read: then nothing must start.
    """
    ca_pem = f"{upstream.ca_pem}\n{inspecting}"
    if not ca_pem.strip():
        return certifi.where()
    path = folder / f"ca-{name}.pem"
    path.write_text(f"{Path(certifi.where()).read_text()}\n{ca_pem}\n")
    try:
        for own in filter(str.strip, (upstream.ca_pem, inspecting)):
            alone = folder / f"ca-{name}-own.pem"
            alone.write_text(own)
            SSL.Context(SSL.TLS_CLIENT_METHOD).load_verify_locations(str(alone))
    except SSL.Error:
        raise ValueError(f"{name}.ca_pem holds no CA certificate that can be read") from None
    return str(path)


def connection(upstream: Upstream, ca_file: str) -> SSL.Connection:
    """A TLS client that accepts this upstream and no other."""
    context = net_tls.create_proxy_server_context(
        method=net_tls.Method.TLS_CLIENT_METHOD,
        min_version=net_tls.Version.TLS1_2,
        max_version=net_tls.Version.UNBOUNDED,
        cipher_list=None,
        ecdh_curve=None,
        verify=net_tls.Verify.VERIFY_PEER,
        ca_path=None,
        ca_pemfile=ca_file,
        client_cert=None,
        legacy_server_connect=False,
    )
    link = SSL.Connection(context)
    _expect(link, upstream.host)
    link.set_alpn_protos([b"http/1.1"])
    link.set_connect_state()
    return link


def _expect(link: SSL.Connection, host: str) -> None:
    """pyOpenSSL has no public call for OpenSSL's own check of the name; mitmproxy does it in the same way."""
    lib = SSL._lib  # type: ignore[attr-defined]
    parameters = lib.SSL_get0_param(link._ssl)
    lib.X509_VERIFY_PARAM_set_hostflags(parameters, lib.X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
    try:
        packed = ipaddress.ip_address(host).packed
    except ValueError:
        name = host.encode("ascii")
        link.set_tlsext_host_name(name)
        done = lib.X509_VERIFY_PARAM_set1_host(parameters, name, len(name))
    else:
        done = lib.X509_VERIFY_PARAM_set1_ip(parameters, packed, len(packed))
    if done != 1:
        raise ValueError("the upstream's name cannot be checked")
