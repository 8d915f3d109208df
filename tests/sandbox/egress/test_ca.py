"""The certificates of one egress: C13 as far as no container is needed for it."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec

from sandbox.egress.ca import MAX_KEPT, Authority

NOW = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)


@pytest.fixture
def authority() -> Authority:
    return Authority(1800, NOW)


def test_c13_it_lives_two_hours_longer_than_the_task_and_signs_no_other_authority(authority: Authority) -> None:
    cert = authority.certificate
    assert cert.not_valid_after_utc - NOW == datetime.timedelta(hours=2, seconds=1800)
    basic = cert.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, 0)
    assert isinstance(cert.public_key(), ec.EllipticCurvePublicKey)


def test_c13_no_two_are_the_same_and_none_vouches_for_anothers_certificates(authority: Authority) -> None:
    other = Authority(1800, NOW)
    leaf = authority.for_host("npm.test")
    leaf.verify_directly_issued_by(authority.certificate)
    with pytest.raises((InvalidSignature, ValueError)):
        leaf.verify_directly_issued_by(other.certificate)
    assert authority.certificate.subject != other.certificate.subject


def test_what_is_published_is_public(authority: Authority) -> None:
    assert authority.pem.count(b"-----BEGIN") == 1
    assert b"PRIVATE" not in authority.pem
    assert repr(authority) == "Authority()"


def test_a_hosts_certificate_is_for_this_host_alone(authority: Authority) -> None:
    leaf = authority.for_host("npm.test")
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["npm.test"]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    address = authority.for_host("10.0.0.5").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(ip) for ip in address.get_values_for_type(x509.IPAddress)] == ["10.0.0.5"]


def test_the_longest_name_is_no_longer_than_a_certificate_can_carry(authority: Authority) -> None:
    name = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    assert len(name) == 253
    assert authority.for_host(name)


@pytest.mark.parametrize("host", ["*.test", "NPM.test", "a b", "", "npm.test.", "a" * 254, "1.2.3", "née.test"])
def test_no_certificate_for_what_is_no_host(authority: Authority, host: str) -> None:
    with pytest.raises(ValueError, match="no certificate"):
        authority.for_host(host)


def test_certificates_are_made_once_and_kept_in_a_bounded_number(authority: Authority) -> None:
    first = authority.for_host("h0.test")
    assert authority.for_host("h0.test") is first
    for number in range(1, MAX_KEPT + 1):
        authority.for_host(f"h{number}.test")
    assert authority.for_host("h0.test") is not first, "the one that was asked for longest ago is forgotten"
