"""The oldest versions that are safe, and refusing to start below them."""

from __future__ import annotations

import sys

import h2
import h11
from mitmproxy import version

# Below these, known holes are open: CR and LF in an HTTP/2 request became a second request upstream (mitmproxy, h2),
# and a malformed chunk hid one (h11). HEAD needs Python 3.12.
FLOORS = {"python": (3, 12, 0), "mitmproxy": (12, 2, 3), "h2": (4, 3, 0), "h11": (0, 16, 0)}


def too_old(found: dict[str, tuple[int, ...]]) -> str:
    """Which of the floors is not met, in words; empty when all are."""
    below = [name for name, floor in FLOORS.items() if found[name] < floor]
    return f"too old to be safe: {', '.join(below)}" if below else ""


def versions() -> dict[str, tuple[int, ...]]:
    h11_version: str = h11.__version__  # type: ignore[attr-defined]
    words = {"mitmproxy": version.VERSION, "h2": h2.__version__, "h11": h11_version}
    found = {name: tuple(int(part) for part in text.split(".")[:3] if part.isdecimal()) for name, text in words.items()}
    return {**found, "python": tuple(sys.version_info[:3])}
