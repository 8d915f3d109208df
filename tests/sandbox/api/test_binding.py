"""Where the API may listen."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import ApiSettings
from sandbox.api.binding import place_of
from tests.sandbox.api.certificates import certificate

TOKENS = Path("/tokens")


@pytest.mark.parametrize(
    ("listen", "url"),
    [
        ("127.0.0.1:8081", "http://127.0.0.1:9"),
        ("127.9.9.9:8081", "http://127.9.9.9:9"),
        ("[::1]:8081", "http://[::1]:9"),
        ("localhost:8081", "http://localhost:9"),
        ("unix:///run/gofer/api.sock", "http+unix:///run/gofer/api.sock"),
    ],
)
def test_this_machine_alone_needs_no_more(listen: str, url: str) -> None:
    assert place_of(ApiSettings(listen=listen, tokens_file=TOKENS)).url(9) == url


@pytest.mark.parametrize("listen", ["0.0.0.0:8081", "10.0.0.5:8081", "[::]:8081", "[fd00::1]:8081", "runner:8081"])
def test_elsewhere_it_is_tls_or_said_in_so_many_words(listen: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the tokens would travel in plain text"):
        place_of(ApiSettings(listen=listen, tokens_file=TOKENS))
    assert place_of(ApiSettings(listen=listen, tokens_file=TOKENS, plain=True)).tls is None
    paths = certificate(tmp_path)
    with_tls = ApiSettings(listen=listen, tokens_file=TOKENS, tls_certificate=paths.certificate, tls_key=paths.key)
    assert place_of(with_tls).url(8081).startswith("https://")


@pytest.mark.parametrize("listen", ["8081", ":8081", "127.0.0.1:", "127.0.0.1:70000", "unix://run/x", "", "host:http"])
def test_what_is_no_address(listen: str) -> None:
    with pytest.raises(ValueError, match=r"HOST:PORT|absolute"):
        place_of(ApiSettings(listen=listen, tokens_file=TOKENS))


def test_certificate_and_key_come_together_and_must_fit(tmp_path: Path) -> None:
    paths, others = certificate(tmp_path), certificate(tmp_path / "other")
    with pytest.raises(ValueError, match="together or not at all"):
        place_of(ApiSettings(tokens_file=TOKENS, tls_certificate=paths.certificate))
    with pytest.raises(ValueError, match="cannot be used"):
        place_of(ApiSettings(tokens_file=TOKENS, tls_certificate=paths.certificate, tls_key=others.key))
    with pytest.raises(ValueError, match="cannot be used: No such file"):
        place_of(ApiSettings(tokens_file=TOKENS, tls_certificate=tmp_path / "no", tls_key=paths.key))
    tls = {"tls_certificate": paths.certificate, "tls_key": paths.key}
    on_a_socket = ApiSettings(listen="unix:///run/x.sock", tokens_file=TOKENS, **tls)
    with pytest.raises(ValueError, match="needs no TLS"):
        place_of(on_a_socket)
