"""What Git itself says has changed, and the index that the patch is made of."""

from __future__ import annotations

from collections.abc import Iterable

from sandbox.inside.bounds import Failed, Refused
from sandbox.inside.gitcmd import Git, GitFailed, TooSlow
from sandbox.inside.names import shown

GITLINK = "160000"
# Attributes of the base under which the bytes of a checked-out file differ from those of its blob.
# Conversions that `git apply` does on the file it patches; for line endings it looks at the patch instead.
APPLIED = frozenset({"ident", "working-tree-encoding"})
CONVERSIONS = ("text", "eol", "crlf", "ident", "working-tree-encoding", "filter")


def nul(paths: Iterable[bytes]) -> bytes:
    """Paths as Git's ``-z --stdin`` takes them, in the order of the bytes."""
    return b"".join(path + b"\0" for path in sorted(paths))


def read_base(git: Git, base: str) -> dict[bytes, str]:
    """Fill the index from the base commit; answers mode by path."""
    git.run("read-tree", base)
    listing = git.run("ls-files", "-s", "-z").out
    modes: dict[bytes, str] = {}
    for record in listing.split(b"\0")[:-1]:
        meta, _, path = record.partition(b"\t")
        modes[path] = meta[:6].decode()
    return modes


def changed(git: Git) -> set[bytes]:
    """Tracked paths that Git finds changed or gone, by hashing each file; submodules are not looked into."""
    try:
        git.run("update-index", "-q", "--ignore-submodules", "--refresh")
    except GitFailed as error:
        if isinstance(error, TooSlow) or error.code != 1:  # 1: some need an update, which is the question
            raise
    raw = git.run("diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=all").out
    fields = raw.split(b"\0")[:-1]
    return set(fields[1::2])


def converted(git: Git, paths: Iterable[bytes]) -> dict[bytes, set[str]]:
    """Those of the paths for which the base's attributes ask for a conversion, with the attributes' names."""
    wanted = nul(paths)
    if not wanted:
        return {}
    fields = git.run("check-attr", "-z", "--stdin", *CONVERSIONS, stdin=wanted).out.split(b"\0")[:-1]
    found: dict[bytes, set[str]] = {}
    for path, name, value in zip(fields[0::3], fields[1::3], fields[2::3], strict=True):
        if value not in {b"unspecified", b"unset"}:
            found.setdefault(path, set()).add(name.decode())
    return found


def unknown_again(git: Git, base: str, paths: Iterable[bytes]) -> set[bytes]:
    """Those of the base's paths that Git takes for changed right after it has checked them out: their blobs are not
    what the base's own attributes make of them. ``git``: with an empty folder as its work tree, which is filled."""
    wanted = set(paths)
    if not wanted:
        return set()
    git.run("read-tree", base)
    git.run("checkout-index", "-q", "-z", "--stdin", stdin=nul(wanted))
    return changed(git) & wanted


def stage(git: Git, deleted: Iterable[bytes], written: Iterable[bytes]) -> str:
    """Take the deletions, then the files; answers the tree's id. Ignore rules do not count here."""
    try:
        git.run("update-index", "-z", "--force-remove", "--stdin", stdin=nul(deleted))
        git.run("update-index", "-z", "--add", "--stdin", stdin=nul(written))
        return git.run("write-tree").out.decode().strip()
    except TooSlow as error:
        raise Refused("the changed files could not be read in time") from error
    except GitFailed as error:
        raise Refused(f"Git cannot store what is in the work tree: {_last_line(error.words)}") from error


def _last_line(words: str) -> str:
    """The first complaint carries the path; Git's closing line repeats it less well."""
    lines = [line for line in words.splitlines() if line.strip()]
    return shown((lines[0] if lines else "no reason given").encode())[:300]


def check_modes(modes: dict[bytes, str], manifest: Iterable[bytes]) -> frozenset[bytes]:
    """The manifest must list what the base commit lists, submodules aside; answers the submodules."""
    gitlinks = frozenset(path for path, mode in modes.items() if mode == GITLINK)
    if set(manifest) != modes.keys() - gitlinks:
        raise Failed("the manifest and the base commit do not list the same files")
    return gitlinks
