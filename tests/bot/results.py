"""Outcomes of agents that wrote something, whole enough to be published."""

from __future__ import annotations

from sandbox import ChangedFile, Changes, Outcome, Reason, State

PATCH = b"diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Hello\n+# Hello!\n"


def changed(base: str, text: bytes = b"# Hello!\n", reply: str = "I did it.") -> Outcome:
    """An agent that wrote ``README.md`` anew on the commit ``base``."""
    file = ChangedFile(
        path="README.md", status="modified", old_mode="100644", new_mode="100644", added=1, removed=1,
        raw_path=b"README.md", content=text,
    )  # fmt: skip
    changes = Changes(base_commit=base, patch=PATCH, files=(file,))
    return Outcome(
        state=State.SUCCEEDED, reason=Reason.OK, reply=reply, exit_code=0, changes=changes, duration_seconds=1.0
    )
