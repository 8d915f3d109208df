"""The tables: these strings and no more."""

from __future__ import annotations

import pytest

from sandbox.egress.reach import parse
from sandbox.egress.rules import rules
from tests.sandbox.egress.policies import MODEL, POLICY, PREFIX, line


def test_the_tables_hold_these_strings_and_no_more() -> None:
    assert set(rules(POLICY, "model")) == {
        f"{prefix}/v1/messages{rest}{query}"
        for prefix in ("", PREFIX)
        for rest in ("", "/count_tokens")
        for query in ("", "?beta=true")
    }
    assert set(rules(POLICY, "git")) == {
        f"/Octo/hello.world{suffix}{rest}"
        for suffix in ("", ".git")
        for rest in ("/info/refs?service=git-upload-pack", "/git-upload-pack")
    }
    assert rules(POLICY, "general") == {}
    assert rules(POLICY, "anything") == {}


@pytest.mark.parametrize(
    ("base", "paths"),
    [
        ("https://api.test", {"/v1/responses": "/v1/responses", "/v1/chat/completions": "/v1/chat/completions"}),
        (
            "https://api.test/openai/v1",
            {"/v1/responses": "/openai/v1/responses", "/v1/chat/completions": "/openai/v1/chat/completions"},
        ),
    ],
)
def test_openais_paths_are_below_the_base_as_its_own_clients_have_it(base: str, paths: dict[str, str]) -> None:
    policy = parse(line(model={**MODEL, "base_url": base, "apis": ["openai-responses", "openai-chat"]}))
    table = rules(policy, "model")
    assert set(table) == {*paths, *paths.values()}
    assert {path: table[path].target for path in paths} == paths
    assert {table[path].api for path in paths} == {"openai-responses", "openai-chat"}


def test_where_there_is_no_model_there_is_no_target() -> None:
    assert rules(parse(line(model=None)), "model") == {}


def test_counting_tokens_is_judged_like_a_question_and_is_no_answer() -> None:
    table = rules(POLICY, "model")
    assert {path.partition("?")[0]: (rule.api, rule.answers) for path, rule in table.items() if "v1/m" in path[:5]} == {
        "/v1/messages": ("anthropic-messages", True),
        "/v1/messages/count_tokens": ("anthropic-messages", False),
    }
