"""What may be fetched: names of branches and tags, and commit ids, by a grammar of our own (pure).

Nothing that passes can be read as an option, a refspec or a revision expression by git.
"""

from __future__ import annotations

import re

from sandbox.inside.bounds import Failed

# As git check-ref-format has it, and without what git would allow but no host serves.
MAX_REF_BYTES = 255
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def check_ref(ref: str) -> str:
    """The name as given, or ``Failed`` with the reason."""
    parts = ref.split("/")
    bad = (
        not ref
        or len(ref.encode("utf-8", "surrogatepass")) > MAX_REF_BYTES
        or ref.startswith(("-", "/"))
        or ref.endswith(("/", "."))
        or ref == "@"
        or _FORBIDDEN.search(ref) is not None
        or any(part.startswith(".") or part.endswith(".lock") for part in parts)
    )
    if bad:
        raise Failed(f"{ref[:100]!r} is not a name that a branch or tag can have")
    return ref


def check_commit(commit: str) -> str:
    """A full commit id, or ``Failed``."""
    if not _COMMIT.fullmatch(commit):
        raise Failed(f"{commit[:100]!r} is not a full commit id")
    return commit


def branch_of(ref: str | None) -> str:
    """The branch name to check out for a ref: its own short name; empty (a detached checkout) for other refs."""
    if ref is None:
        return ""
    if ref.startswith("refs/heads/"):
        return ref.removeprefix("refs/heads/")
    return "" if ref.startswith("refs/") else ref
