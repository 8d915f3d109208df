"""What a reviewer should read beside the patch: one sentence each (pure)."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping

from sandbox.inside.names import examples
from sandbox.inside.newfiles import NewFiles


def about_new(new: NewFiles) -> list[str]:
    """New files that are not in the patch, and why."""
    notes = []
    if new.newly_ignored:
        notes.append(
            "Left out only because of ignore rules that this patch itself adds or edits"
            f" ({len(new.newly_ignored):,}): {examples(new.newly_ignored)}."
        )
    if new.leftovers:
        notes.append(f"Left out as tool leftovers ({len(new.leftovers):,}): {examples(new.leftovers)}.")
    if new.special:
        notes.append(f"Left out, being pipes, sockets or devices: {examples(new.special)}.")
    return notes


def about_repositories(repositories: Iterable[bytes], taken: Collection[bytes], new: NewFiles) -> list[str]:
    """Directories that are repositories of their own, and those that only look like one."""
    others = new.ignored | new.leftovers
    nested = {folder for folder in repositories if _any_below(folder, taken) or not _any_below(folder, others)}
    notes = []
    if nested:
        notes.append(
            "Directories with a .git of their own; their files are taken as ordinary files, their history is not:"
            f" {examples(nested)}."
        )
    bare = {
        path[: -len(b"/HEAD")]
        for path in taken
        if path.endswith(b"/HEAD") and path[: -len(b"HEAD")] + b"config" in taken
    }
    if bare:
        notes.append(f"Looks like a bare Git repository; run no git inside: {examples(bare)}.")
    return notes


def _any_below(folder: bytes, paths: Iterable[bytes]) -> bool:
    return any(path.startswith(folder + b"/") for path in paths)


def about_links(targets: Mapping[bytes, bytes]) -> list[str]:
    """Symbolic links, by path, that lead out of the repository or into a ``.git``."""
    out = {path for path, target in targets.items() if _leads_out(path, target)}
    return [f"Symbolic links that lead out of the repository: {examples(out)}."] if out else []


def _leads_out(path: bytes, target: bytes) -> bool:
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    parts = place.split(b"/")
    return target.startswith(b"/") or parts[0] == b".." or b".git" in (part.lower() for part in parts)


def about_attributes(changed: Collection[bytes], converted: Mapping[bytes, set[str]]) -> list[str]:
    """Edited attributes, and files that Git LFS would have kept."""
    notes = []
    if any(path.rsplit(b"/", 1)[-1] == b".gitattributes" for path in changed):
        notes.append(
            "The patch edits .gitattributes. It was made with the attributes of the base commit;"
            " with the new ones Git may store other bytes."
        )
    large = {path for path in changed if "filter" in converted.get(path, ())}
    if large:
        notes.append(
            f"Kept by a content filter such as Git LFS; the patch holds the files as they are: {examples(large)}."
        )
    return notes


def about_contents(left_out: Collection[bytes]) -> list[str]:
    """Changed files whose bytes are in the patch alone."""
    if not left_out:
        return []
    return [f"Too large to be handed over beside the patch ({len(left_out):,}): {examples(left_out)}."]


def about_tracked(normalised: Collection[bytes], changed_submodules: Collection[bytes]) -> list[str]:
    """Differences that a patch does not show."""
    notes = []
    if normalised:
        notes.append(
            "Changed only in what Git normalises (line endings, $Id$, encoding), so not in the patch"
            f" ({len(normalised):,}): {examples(normalised)}."
        )
    if changed_submodules:
        notes.append(
            "Submodules that are gone from the work tree or hold a repository of their own now;"
            f" the patch leaves them as they were: {examples(changed_submodules)}."
        )
    return notes
