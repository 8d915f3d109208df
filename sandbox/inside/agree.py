"""Two looks at one work tree must name the same changed paths (pure).

The manifest compares raw bytes; Git compares what its conversions make of them. Where the base's attributes convert a
file, both may rightly differ. Anything else that only one of them sees is something hidden, and is refused.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sandbox.inside.bounds import Refused
from sandbox.inside.manifest import Difference
from sandbox.inside.names import examples


@dataclass(frozen=True)
class Agreement:
    """The tracked paths that both call changed, and those whose raw bytes alone did."""

    modified: frozenset[bytes]
    deleted: frozenset[bytes]
    normalised: frozenset[bytes]


def disputed(difference: Difference, by_git: Collection[bytes]) -> frozenset[bytes]:
    """Tracked paths that only one of the two looks calls changed."""
    return (difference.modified | difference.deleted) ^ frozenset(by_git)


def agree(difference: Difference, by_git: Collection[bytes], converted: Collection[bytes]) -> Agreement:
    """Settle it. ``converted``: those of the disputed paths that the base's attributes convert.

    A path that Git alone calls changed is left as it is in the base: its bytes are those of the checkout, so the agent
    did not touch it (a base that was never normalised shows this right after a clone).
    """
    open_questions = disputed(difference, by_git) - frozenset(converted)
    open_questions |= difference.deleted - frozenset(by_git)
    if open_questions:
        raise Refused(
            "two independent looks at the work tree disagree on what has changed: " + examples(open_questions)
        )
    return Agreement(
        modified=difference.modified & frozenset(by_git),
        deleted=difference.deleted,
        normalised=difference.modified - frozenset(by_git),
    )
