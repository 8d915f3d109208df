"""GitHub's roles. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# What GitHub calls the roles, and the legacy level that each must come with. A custom role has a name of its own and
# counts as its level.
ROLES: Final[Mapping[str, str]] = {
    "admin": "admin",
    "maintain": "write",
    "write": "write",
    "triage": "read",
    "read": "read",
    "none": "none",
}


def role(permission: str, role_name: str) -> str:
    """One of ``ROLES``. A name that does not go with its level counts as the level; an unknown level as none."""
    if ROLES.get(role_name) == permission:
        return role_name
    return permission if permission in {"admin", "write", "read"} else "none"


def role_in(answer: Any, login: str, user_id: int | None) -> str:
    """The role in GitHub's answer about ``login``; none where it is about somebody else (a login can change hands).

    Raises a lookup or type error for an answer of another shape.
    """
    user = answer["user"] or {}
    same_id = user_id is None or user.get("id") == user_id
    if user.get("login", "").lower() != login.lower() or not same_id:
        return "none"
    return role(answer["permission"], answer.get("role_name", ""))
