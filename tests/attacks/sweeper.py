"""Runs as the agent, inside the sandbox: looks for credentials in every file and in every process's memory.

Tells what it found as one JSON object. Knows the shapes alone, so what it prints came from elsewhere than itself.
Standard library only.
"""

import json
import os
import re

# A token of an installation; a key as the test's model wants it; "x-access-token:" as HTTP Basic carries it; the
# App's own key. None of these expressions matches itself.
SHAPES = re.compile(rb"gh[s]_[A-Za-z0-9]{16,}|sk-rea[l]-[0-9a-f]{16,}|eC1hY2Nlc3[M]tdG9rZW46[A-Za-z0-9+/]{8,}")
FILE_BYTES = 1 << 30
PIECE_BYTES, OVERLAP = 1 << 24, 256


def matches(path: str, start: int, size: int) -> set[str]:
    """What is found in ``size`` bytes of a file, read piece by piece; the pieces overlap."""
    found: set[str] = set()
    try:
        with open(path, "rb", buffering=0) as source:
            while size > 0:
                source.seek(start)
                piece = source.read(min(size, PIECE_BYTES))
                found.update(match.decode() for match in SHAPES.findall(piece))
                step = PIECE_BYTES - OVERLAP
                start, size = start + step, size - step
                if len(piece) < PIECE_BYTES:
                    break
    except (OSError, ValueError):
        pass
    return found


def in_memory(pid: str) -> tuple[int, set[str]]:
    """How many bytes of another process could be read, and what was in them."""
    read, found = 0, set()
    try:
        with open(f"/proc/{pid}/maps") as maps:
            areas = [line.split() for line in maps]
    except OSError:
        return 0, set()
    for area in areas:
        if area[1].startswith("r") and area[-1] not in {"[vvar]", "[vsyscall]"}:
            first, last = (int(edge, 16) for edge in area[0].split("-"))
            if last - first < FILE_BYTES:
                found |= matches(f"/proc/{pid}/mem", first, last - first)
                read += last - first
    return read, found


def main() -> None:
    told: dict[str, list[str]] = {}
    files = 0
    for folder, folders, names in os.walk("/"):
        if folder == "/":
            folders[:] = [name for name in folders if name not in {"proc", "sys", "dev"}]
        for path in (os.path.join(folder, name) for name in names):
            if os.path.isfile(path) and not os.path.islink(path):
                files += 1
                if found := matches(path, 0, FILE_BYTES):
                    told[path] = sorted(found)
    processes = 0
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            read, found = in_memory(pid)
            processes += read > 0
            for place in ("environ", "cmdline"):
                found |= matches(f"/proc/{pid}/{place}", 0, FILE_BYTES)
            if found:
                told[f"process {pid}"] = sorted(found)
    print(json.dumps({"files": files, "processes": processes, "found": told}))


if __name__ == "__main__":
    main()
