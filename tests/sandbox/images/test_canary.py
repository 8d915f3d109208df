"""What the operator hands to a build is in no layer and no history of what is kept: searched for byte by byte."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from os import environ

import docker
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from sandbox.images.build import Options, build, tag
from sandbox.images.options import fetch_args, options_from, pip_configured
from sandbox.images.plan import RECIPES
from tests.engine import remove_stages


def certificate(name: str) -> bytes:
    """A self-signed certificate of that name, PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return made.sign(key, SHA256()).public_bytes(Encoding.PEM)


def found(stream: Iterator[bytes], wanted: set[bytes]) -> set[bytes]:
    """Those of ``wanted`` that are in the stream, across the borders of its pieces too."""
    seen, tail = set(), b""
    longest = max(len(word) for word in wanted)
    for piece in stream:
        held = tail + piece
        seen |= {word for word in wanted if word in held}
        tail = held[-longest:]
    return seen


def test_a_canary_across_two_pieces_is_found() -> None:
    assert found(iter([b"xxcan", b"aryxx"]), {b"canary", b"other"}) == {b"canary"}


@pytest.mark.engine
@pytest.mark.slow
def test_certificates_and_arguments_of_a_build_are_in_no_layer(docker_client: docker.DockerClient) -> None:
    canary = f"canary{secrets.token_hex(8)}.invalid"
    pem = certificate(canary)
    usual = options_from(environ)

    def args() -> dict[str, str]:
        return {**fetch_args(environ, pip_configured()), "PIP_TRUSTED_HOST": canary, "no_proxy": canary}

    options = replace(usual, prefix=f"gofer-{canary[:14]}", ca=usual.ca + pem, args=args)
    body = b"".join(pem.splitlines()[1:-1])
    # The name as text, the certificate's body with and without line ends (a line of PEM has 64 characters).
    wanted = {canary.encode(), body[:64], base64.b64decode(body)}
    try:
        build(docker_client, options, fresh=True)
        for name in RECIPES:
            image = docker_client.images.get(tag(options, name))
            assert found(iter(image.save(named=True)), wanted) == set(), name
            # The search is able to find: what is known to be in there.
            assert found(iter(image.save(named=True)), {b"gofer.inputs"}) == {b"gofer.inputs"}
    finally:
        remove(docker_client, options, canary)


def remove(client: docker.DockerClient, options: Options, canary: str) -> None:
    """The images of this test, and the stages that the engine keeps as its cache: their history has the canary."""
    for name in reversed(RECIPES):
        client.images.remove(tag(options, name), force=True)
    remove_stages(client, canary)
