"""The check itself: each kind of mistake is seen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.demo.github_log import Exchange
from tests.openapi.conform import assert_conforms, problems_of

HEADERS = {"user-agent": "x", "accept": "x", "x-github-api-version": "2022-11-28"}


def post(path: str, body: Any, *, query: tuple[tuple[str, str], ...] = (), method: str = "POST") -> list[str]:
    raw = b"" if body is None else json.dumps(body).encode()
    exchange = Exchange("op", method, path, query, "installation", HEADERS, raw, 500, scripted=True)
    return list(problems_of(exchange))


COMMENTS = "/repos/o/r/issues/1/comments"
REACTIONS = "/repos/o/r/issues/comments/5/reactions"
MINT = "/app/installations/1/access_tokens"


def test_what_github_takes_passes() -> None:
    assert post(COMMENTS, {"body": "hi"}) == []
    assert post(REACTIONS, {"content": "eyes"}) == []
    assert post(MINT, {"repository_ids": [1], "permissions": {"contents": "read"}}) == []
    assert post(COMMENTS, None, query=(("per_page", "30"), ("page", "1")), method="GET") == []


@pytest.mark.parametrize(
    ("path", "body", "query", "method"),
    [
        (COMMENTS, {"text": "hi"}, (), "POST"),
        (COMMENTS, {"body": 5}, (), "POST"),
        (COMMENTS, {}, (), "POST"),
        (COMMENTS, None, (), "POST"),
        (COMMENTS, {"body": "hi", "bdoy": "typo"}, (), "POST"),
        (REACTIONS, {"content": "sheep"}, (), "POST"),
        (MINT, {"repository_ids": ["1"]}, (), "POST"),
        (MINT, {"permissions": {"contents": "all"}}, (), "POST"),
        (MINT, {"permissions": {"content": "read"}}, (), "POST"),
        (COMMENTS, None, (("perpage", "30"),), "GET"),
        (COMMENTS, None, (("per_page", "many"),), "GET"),
        ("/repos/o/r/issues/one/comments", {"body": "hi"}, (), "POST"),
        ("/repos/o/r/isues/1/comments", {"body": "hi"}, (), "POST"),
        (COMMENTS, {"body": "hi"}, (), "PUT"),
        ("/installation/token", {"token": "x"}, (), "DELETE"),
    ],
)
def test_each_mistake_in_a_request_is_seen(
    path: str, body: Any, query: tuple[tuple[str, str], ...], method: str
) -> None:
    assert post(path, body, query=query, method=method) != []


def answered(status: int, content: Any) -> list[str]:
    raw = b"" if content is None else json.dumps(content).encode()
    exchange = Exchange("op", "GET", "/repos/o/r", (), "installation", HEADERS, b"", status, {}, raw)
    return list(problems_of(exchange))


def test_each_mistake_in_an_answer_is_seen() -> None:
    assert answered(404, {"message": "Not Found", "documentation_url": "https://docs.github.com/"}) == []
    assert answered(404, {"message": "Not Found", "mesage": "typo"}) != []
    assert answered(404, {"message": 404}) != []
    assert answered(200, {"id": 1}) != []
    assert answered(299, {}) != []


def test_a_request_without_its_headers_is_seen() -> None:
    exchange = Exchange("op", "GET", "/app", (), "app", {}, b"", 500, scripted=True)
    assert len(list(problems_of(exchange))) == 3


def test_the_assertion_names_the_request() -> None:
    exchange = Exchange("op", "PUT", "/nothing", (), "app", HEADERS, b"", 404)
    with pytest.raises(AssertionError, match="PUT /nothing"):
        assert_conforms([exchange])
