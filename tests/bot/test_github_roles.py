"""What a role counts for."""

from __future__ import annotations

import pytest

from bot.github_roles import role, role_in


@pytest.mark.parametrize(
    ("permission", "name", "expected"),
    [
        ("read", "admin", "read"),  # a custom role that borrows a name
        ("write", "admin", "write"),
        ("read", "maintain", "read"),
        ("write", "", "write"),
        ("godlike", "godlike", "none"),
        ("", "", "none"),
    ],
)
def test_a_role_never_counts_for_more_than_its_level(permission: str, name: str, expected: str) -> None:
    assert role(permission, name) == expected


def test_an_answer_without_a_user_is_nobodys_role() -> None:
    assert role_in({"permission": "admin", "role_name": "admin", "user": None}, "alice", None) == "none"
