"""The tables: these strings and no more."""

from __future__ import annotations

from sandbox.egress.rules import rules
from tests.sandbox.egress.policies import POLICY, PREFIX


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
