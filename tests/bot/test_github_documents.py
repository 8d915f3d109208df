"""Every GraphQL document is valid against GitHub's published schema (tests/openapi/github.graphql, a cut of it)."""

from __future__ import annotations

import pytest
from graphql import parse, validate

from bot.github_documents import ALL
from tests.openapi.conform import graphql_schema


@pytest.mark.parametrize("document", ALL, ids=lambda text: text.split("(")[0].split()[-1])
def test_a_document_is_what_github_understands(document: str) -> None:
    assert validate(graphql_schema(), parse(document)) == []


def test_a_field_that_github_does_not_have_is_found() -> None:
    wrong = 'query X($owner: String!) { repository(owner: $owner, name: "x") { refs_ { id } } }'
    assert validate(graphql_schema(), parse(wrong)) != []
