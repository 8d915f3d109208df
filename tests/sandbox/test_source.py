"""Which repository a URL means: the configured host's, or none."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from sandbox.job import Limits, Secrets, Source
from sandbox.settings import GitHost
from sandbox.source import fetch_request, fetchable, repository

GITHUB = GitHost()
LOCAL = GitHost(base_url="http://host.docker.internal:4321/git", private=True)


@pytest.mark.parametrize(
    ("url", "host", "wanted"),
    [
        ("https://github.com/octo/hello", GITHUB, "octo/hello"),
        ("https://github.com/octo/hello.git", GITHUB, "octo/hello"),
        ("https://github.com/octo/hello/", GITHUB, "octo/hello"),
        ("https://GitHub.com/Octo/.github", GITHUB, "Octo/.github"),
        ("https://github.com:443/octo/hello", GITHUB, "octo/hello"),
        ("http://host.docker.internal:4321/git/octo/hello", LOCAL, "octo/hello"),
    ],
)
def test_a_repository_of_the_host(url: str, host: GitHost, wanted: str) -> None:
    assert repository(url, host) == wanted


@pytest.mark.parametrize(
    "url",
    [
        "http://github.com/octo/hello",
        "https://github.com.evil.example/octo/hello",
        "https://evil.example/github.com/octo/hello",
        "https://token@github.com/octo/hello",
        "https://github.com:8443/octo/hello",
        "https://github.com:x/octo/hello",
        "https://github.com/octo",
        "https://github.com/octo/hello/tree/main",
        "https://github.com/octo/..",
        "https://github.com/../hello",
        "https://github.com/-o/hello",
        "https://github.com/octo/he%2fllo",
        "https://github.com/octo/hello?x=1",
        "https://github.com/octo/hello#x",
        "git@github.com:octo/hello",
        "file:///etc/passwd",
        "ext::sh -c id",
        "",
    ],
)
def test_anything_else_is_refused_with_the_form_to_send(url: str) -> None:
    with pytest.raises(ValueError, match=r"https://github\.com/OWNER/REPO"):
        repository(url, GITHUB)


def test_the_helper_is_told_the_relay_and_the_agent_the_public_address() -> None:
    source = Source(url="https://github.com/o/r", ref="main")
    request = fetch_request(source, "o/r", Limits())
    assert request["url"] == "http://127.0.0.1:9002/o/r.git"
    assert request["origin"] == "https://github.com/o/r"
    assert fetch_request(source, None, Limits())["url"] == ""


@pytest.mark.parametrize(
    ("ref", "token", "words"),
    [
        ("--upload-pack=x", None, "'--upload-pack=x' is not a name"),
        ("a b", None, "'a b' is not a name"),
        (None, "sec\nret", "its token is not printable ASCII"),
        (None, "gehe\u00edm", "its token is not printable ASCII"),
    ],
)
def test_what_nobody_could_fetch_is_told_without_its_token(ref: str | None, token: str | None, words: str) -> None:
    given = Secrets(fetch_token=SecretStr(token)) if token else Secrets()
    with pytest.raises(ValueError, match=words) as refused:
        fetchable(Source(url="https://github.com/o/r", ref=ref), given)
    assert token is None or token not in str(refused.value)
    fetchable(Source(url="https://github.com/o/r", ref="feature/one"), Secrets(fetch_token=SecretStr("ghs_x")))
