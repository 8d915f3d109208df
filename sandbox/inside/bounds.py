"""Every ceiling of the helper scripts, with its unit and its reason, and the two ways in which they give up."""

from __future__ import annotations

import time
from dataclasses import dataclass

MIB = 2**20

# The workspace's own inode cap is lower; this one holds where an operator raises it. Paths cost memory here.
MAX_ENTRIES = 500_000
# Git and most file systems stop at 4,096 bytes (PATH_MAX), macOS at 1,024: a longer path could not be checked out.
MAX_PATH_BYTES = 1_024
# Deeper nesting than this is no source tree; Git itself recurses when it writes trees.
MAX_DEPTH = 200
# GitHub warns at 50 MiB and refuses a file of 100 MiB.
MAX_FILE_BYTES = 50 * MIB
# New contents of all changed files together: they pass through the extractor's tmpfs and memory.
MAX_CHANGED_BYTES = 128 * MIB
# A changed file that is handed over as it is, beside the patch: what GitHub's API takes as one blob in good time.
MAX_CONTENT_BYTES = 10 * MIB
# Names listed in a note or as examples; the count is always told in full.
MAX_EXAMPLES = 20
# The whole extraction. A tree at every other ceiling takes about a minute on two slow cores.
EXTRACT_SECONDS = 180.0
# Of what git says, the end is kept: its last lines hold the reason.
MAX_WORDS = 4_000
# Listings that git prints (one entry a path), far above MAX_ENTRIES ordinary paths.
MAX_LISTING_BYTES = 256 * MIB


class Refused(Exception):
    """What the agent left cannot be carried by a patch; ``str()`` is the sentence for the user."""


class Failed(Exception):
    """Nothing can be said: our own side is broken, or the fetch did not work; ``str()`` says how."""


@dataclass(frozen=True)
class Deadline:
    """A moment on the monotonic clock that every step of one run shares."""

    at: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds, seconds)

    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - time.monotonic())

    def check(self) -> None:
        """Raise ``Refused`` when it has passed. Called in loops over what the agent made."""
        if not self.left():
            raise Refused(f"the work tree could not be read within {self.seconds:.0f} seconds")
