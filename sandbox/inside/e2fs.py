"""ext4 images by e2fsprogs, without mounting them: make, repair, put a file in."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sandbox.inside.bounds import Failed
from sandbox.inside.gitcmd import PATH

# mkfs takes about 10 ms; on a disk under full load it has been seen to take seconds.
TOOL_SECONDS = 60
REPAIRED = (0, 1)  # e2fsck: nothing to do; all mended


def tool(argv: list[str], good: tuple[int, ...] = (0,)) -> bytes:
    """Run to its end, and answer what it said. Raises ``Failed`` with its last words."""
    done = subprocess.run(
        argv,
        env={"PATH": PATH, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TOOL_SECONDS,
        check=False,
    )
    if done.returncode not in good:
        words = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-500:]
        raise Failed(f"{argv[0]} failed: {words or done.returncode}")
    return done.stdout


def repair(image: Path) -> None:
    """Write the journal's last entries where they belong, as a mount would. Raises ``Failed`` for what is beyond it."""
    tool(["e2fsck", "-p", str(image)], REPAIRED)


def set_fields(image: Path, file: str, **fields: int | str) -> None:
    """Owner and mode of a file in the image. Not by chown before it is made: that would need one capability more."""
    for field, value in fields.items():
        tool(["debugfs", "-w", "-R", f"set_inode_field {file} {field} {value}", str(image)])


def replace_file(image: Path, name: str, source: Path) -> None:
    """Root's, for reading. debugfs ends with 0 whatever happens, so what is there afterwards is read back."""
    tool(["debugfs", "-w", "-R", f"rm {name}", str(image)])
    tool(["debugfs", "-w", "-R", f"write {source} {name}", str(image)])
    set_fields(image, name, mode="0100444", uid=0, gid=0)
    if tool(["debugfs", "-R", f"cat {name}", str(image)]) != source.read_bytes():
        raise Failed(f"{name} could not be written into the image")
