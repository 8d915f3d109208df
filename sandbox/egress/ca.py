"""The certificate authority of one egress: made at its start, its key in this process's memory and nowhere else.

It vouches for every name that a client of this sandbox asks for, also for those that are refused: the refusal is
told inside TLS. So it has no name constraints; nobody but this one sandbox is asked to trust it.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections import OrderedDict

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sandbox.egress.places import is_address, is_name

# Beyond the task's own time: preparing it, and clocks that differ.
SPARE = datetime.timedelta(hours=2)
BACK = datetime.timedelta(hours=1)
# A task asks for a handful of hosts; one that asks for many makes old ones be forgotten, and made anew if need be.
MAX_KEPT = 128


class Authority:
    """Certificates by host. One key for all of them: they all end in this one process."""

    def __init__(self, seconds: int, now: datetime.datetime | None = None) -> None:
        """``seconds``: how long the task may take."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.key = ec.generate_private_key(ec.SECP256R1())
        """Of every host's certificate; never written anywhere."""
        begin = now or datetime.datetime.now(datetime.UTC)
        self._from, self._until = begin - BACK, begin + SPARE + datetime.timedelta(seconds=seconds)
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"gofer task {x509.random_serial_number():x}")])
        self._made: OrderedDict[str, x509.Certificate] = OrderedDict()
        self.certificate = self._own()

    def __repr__(self) -> str:
        return "Authority()"

    @property
    def pem(self) -> bytes:
        """The public half: what the sandbox trusts."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def for_host(self, host: str) -> x509.Certificate:
        """A certificate for this one host. Raises ``ValueError`` for what is neither a DNS name nor an address, each in
        its one spelling."""
        if (found := self._made.get(host)) is not None:
            self._made.move_to_end(host)
            return found
        made = self._made[host] = self._leaf(host)
        if len(self._made) > MAX_KEPT:
            self._made.popitem(last=False)
        return made

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._from)
            .not_valid_after(self._until)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )

    def _own(self) -> x509.Certificate:
        return (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(sign_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _leaf(self, host: str) -> x509.Certificate:
        if is_address(host):
            name: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        elif is_name(host):
            name = x509.DNSName(host)
        else:
            raise ValueError("no certificate can be made for such a name")
        # A constant for a common name: it may have 64 characters at most, and nobody compares it any more.
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gofer sandbox")])
        return (
            self._builder(subject, self.key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(sign_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName([name]), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=sign_certificates, crl_sign=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
