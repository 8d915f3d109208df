"""The machine that figures were measured on, in a few lines."""

from __future__ import annotations

import os
import platform
import re
import tempfile
from pathlib import Path


def describe() -> str:
    """Processor, memory, system, Python, the disk under the temporary folder, and what else ran when it began."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    folder = tempfile.gettempdir()
    return (
        f"machine: {_processor()}, {os.cpu_count()} cores, {memory:.1f} GiB; {platform.system()} {platform.release()}; "
        f"Python {platform.python_version()}; {_file_system(Path(folder))} under {folder}; "
        f"load {os.getloadavg()[0]:.1f}"
    )


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def _file_system(path: Path) -> str:
    """Of the longest mount point above ``path``."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown file system"
    above = [(fields[1], fields[2]) for fields in mounts if path.resolve().is_relative_to(fields[1])]
    return max(above, key=lambda mount: len(mount[0]))[1]
