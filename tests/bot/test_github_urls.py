"""Names cannot leave their segment, redirects cannot leave their repository."""

from __future__ import annotations

import pytest

from bot import github_urls as urls
from bot.github_values import RepositoryRef

WHERE = RepositoryRef(installation_id=1, repository_id=42, owner="octo", name="hello")


@pytest.mark.parametrize("login", ["a/b", "..", ".", "a?b=c", "a#b", "a%2fb", "x y", "dependabot[bot]", "ü"])
def test_a_login_stays_one_segment(login: str) -> None:
    path = urls.permission(WHERE, login)
    assert path.startswith("/repos/octo/hello/collaborators/")
    assert path.count("/") == 6
    assert not set("?# ") & set(path)
    assert "/../" not in path
    assert "/./" not in path


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("https://api.github.com/repositories/42", "/repositories/42"),
        (
            "https://api.github.com/repositories/42/issues/1?page=2",
            "/repositories/42/issues/1?page=2",
        ),
        ("https://api.github.com/repositories/43/issues/1", None),  # transferred to another repository
        ("https://api.github.com/repositories/421", None),
        ("https://evil.example/repositories/42", None),
        ("http://api.github.com/repositories/42", None),
        ("https://api.github.com:444/repositories/42", None),
        ("https://user@api.github.com/repositories/42", None),
        ("https://api.github.com/repositories/42/../43", None),
        ("https://api.github.com/repositories/42/%2e%2e/43", None),
        ("https://api.github.com/repos/octo/other", None),
        ("/repositories/42", None),
        ("", None),
    ],
)
def test_only_a_redirect_to_the_same_repository_is_followed(location: str, path: str | None) -> None:
    assert urls.redirected("https://api.github.com", location, 42) == path


def test_a_redirect_keeps_the_base_path_of_an_enterprise_server() -> None:
    base = "https://ghe.example/api/v3"
    assert urls.redirected(base, f"{base}/repositories/42/issues/1", 42) == "/repositories/42/issues/1"
    assert urls.redirected(base, "https://ghe.example/repositories/42", 42) is None
