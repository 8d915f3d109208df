from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.images.options import fetch_args, options_from, parse_pip

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def test_nothing_set_gives_the_public_defaults() -> None:
    options = options_from({})
    assert (options.prefix, options.root, options.ca) == ("gofer", "debian:trixie-slim", b"")


def test_proxies_indexes_and_registry_are_honoured() -> None:
    given = {
        "HTTPS_PROXY": "http://proxy.example:3128",
        "no_proxy": "localhost",
        "PIP_INDEX_URL": "https://index.example/simple",
        "npm_config_registry": "https://npm.example",
        "ANTHROPIC_API_KEY": "never",
    }
    assert fetch_args(given, {}) == {
        "HTTPS_PROXY": "http://proxy.example:3128",
        "no_proxy": "localhost",
        "PIP_INDEX_URL": "https://index.example/simple",
        "NPM_REGISTRY": "https://npm.example",
    }


def test_pips_own_files_count_where_no_variable_is_set() -> None:
    configured = parse_pip(
        "global.index-url='https://files.example/simple'\n"
        "global.extra-index-url='file:///srv/wheels\\nhttps://more.example/simple'\n"
        ":env:.index-url='https://variable.example'\n"
    )
    assert fetch_args({}, configured) == {
        "PIP_INDEX_URL": "https://files.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://more.example/simple",
    }
    assert fetch_args({"PIP_INDEX_URL": "https://mine.example"}, configured)["PIP_INDEX_URL"] == "https://mine.example"


def test_an_index_in_a_folder_of_this_machine_is_left_out() -> None:
    assert fetch_args({"PIP_EXTRA_INDEX_URL": "file:///srv/wheels"}, {}) == {}


def test_the_ca_bundle_is_the_named_one_else_that_of_this_machines_tools(tmp_path: Path) -> None:
    named, usual = tmp_path / "named.pem", tmp_path / "usual.pem"
    named.write_text(PEM + "# named\n")
    usual.write_text(PEM)
    assert options_from({"GOFER_BUILD_CA": str(named), "SSL_CERT_FILE": str(usual)}).ca == named.read_bytes()
    assert options_from({"SSL_CERT_FILE": str(usual)}).ca == usual.read_bytes()
    assert options_from({"GOFER_BUILD_CA": "", "SSL_CERT_FILE": str(usual)}).ca == b""


@pytest.mark.parametrize("content", [None, "a private key or anything else"])
def test_a_ca_bundle_that_is_none_is_refused_before_anything_is_built(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match="GOFER_BUILD_CA"):
        options_from({"GOFER_BUILD_CA": str(path)})


def test_options_show_no_password_that_an_index_address_holds() -> None:
    assert "hunter2" not in repr(options_from({"PIP_INDEX_URL": "https://me:hunter2@index.example/simple"}))
