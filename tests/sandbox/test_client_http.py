"""The way to a runner: which URLs, which certificates."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from sandbox import RunnerAccess, Unreachable, check_sandbox_url
from sandbox.api.serving import serving
from sandbox.client_http import check_url, open_wire
from sandbox.settings import ApiSettings, Settings
from tests.sandbox.api.certificates import certificate
from tests.sandbox.api.memory import TOKEN, Memory, tokens_file


@pytest.mark.parametrize(
    "url", ["https://runner", "https://runner:8081/", "http://127.0.0.1:1", "http://[::1]:1", "http+unix:///run/a.sock"]
)
def test_forms(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "local",
        "http://runner:8081",
        "http://10.0.0.5",
        "ftp://127.0.0.1",
        "https://u:p@runner",
        "https://runner/api",
        "https://runner?x=1",
        "https://",
        "https://runner:port",
        "http+unix://",
        "http+unix://run/a.sock",
        "unix:///run/a.sock",
        "docker:",
    ],
)
def test_what_is_none_is_refused_with_the_forms(url: str) -> None:
    with pytest.raises(ValueError, match="a runner is given as http"):
        check_url(url)
    with pytest.raises(ValueError, match="a runner is given as http"):
        check_sandbox_url(url)


def test_local_is_no_runner() -> None:
    check_sandbox_url("local:")


async def test_tls_is_held_against_the_named_certificates_alone(tmp_path: Path) -> None:
    paths, others = certificate(tmp_path), certificate(tmp_path / "other")

    async def opener() -> Memory:
        return Memory()

    api = ApiSettings(
        listen="127.0.0.1:0",
        tokens_file=tokens_file(tmp_path),
        tls_certificate=paths.certificate,
        tls_key=paths.key,
    )
    async with serving(Settings(state_dir=tmp_path), api, opener) as server:
        await server.opened()
        assert server.url.startswith("https://127.0.0.1:")
        for pem, trusted in (
            (paths.certificate.read_text(), True),
            (others.certificate.read_text(), False),
            ("", False),
        ):
            wire = open_wire(server.url, RunnerAccess(token=SecretStr(TOKEN), ca_pem=pem))
            try:
                if trusted:
                    assert (await wire.ask("GET", "/sandboxes")).status == 200
                else:
                    with pytest.raises(Unreachable, match="certificate is not to be trusted"):
                        await wire.ask("GET", "/sandboxes")
            finally:
                await wire.close()
