"""What the images are made of, and which must be built. Pure: values in, values out.

An image is current when its label ``gofer.inputs`` equals the hash of everything that decides what is in it: the
Dockerfile, the files it copies, the root image's ID, and the same of the image it stands on. What only decides where
the same bytes are fetched from (proxies, indexes, certificates) is left out: packages are pinned by hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

INPUTS_LABEL = "gofer.inputs"
IMAGE_LABEL = "gofer.image"
STAGE_LABEL = "gofer.stage"
"""On the stages of a build that are not kept; the engine holds them, with their build arguments, as its cache."""


@dataclass(frozen=True)
class Recipe:
    """One image. ``sources`` are files or folders below the project's root; a folder stands for all files in it."""

    name: str
    sources: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    parent: str | None = None
    """The image of ours that it stands on; None for the Debian root."""

    @property
    def dockerfile(self) -> str:
        return f"images/{self.name}/Dockerfile"


_NODE = ("images/npm/environment.sh", "images/npm/node.sh", "images/npm/requirements.txt")
_FETCH = (*_NODE, "images/npm/fetch.sh")

# In the order of building: a parent comes before its children.
RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("base", ("images/base", *_NODE, "sandbox/inside")),
        Recipe("claude", ("images/claude", *_FETCH), parent="base"),
        Recipe("codex", ("images/codex", *_FETCH), parent="base"),
        Recipe("opencode", ("images/opencode", *_FETCH), parent="base"),
        Recipe("pi", ("images/pi", *_NODE), parent="base"),
        Recipe("egress", ("images/egress", "sandbox/egress"), excluded=("sandbox/egress/report.py",)),
    )
}


@dataclass(frozen=True)
class Step:
    """Build ``name`` because of ``why``; the finished image is labelled with ``inputs``."""

    name: str
    inputs: str
    why: str


def inputs_hash(files: Mapping[str, bytes], args: Mapping[str, str], under: str) -> str:
    """The sha256 over files (path, content), build arguments and what the image stands on (``under``).

    Each part is framed by its length, so that no two different inputs run together to the same bytes.
    """
    total = hashlib.sha256()
    parts = [json.dumps([dict(sorted(args.items())), under]).encode()]
    for path in sorted(files):
        parts += [path.encode(), files[path]]
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


def all_inputs(files: Mapping[str, Mapping[str, bytes]], root_id: str) -> dict[str, str]:
    """The inputs hash of every image, from each one's files and the ID of the Debian root."""
    hashes: dict[str, str] = {}
    for recipe in RECIPES.values():
        under = root_id if recipe.parent is None else hashes[recipe.parent]
        # The root is in the parent's hash, but a child may have a stage of its own on it.
        hashes[recipe.name] = inputs_hash(files[recipe.name], {"root": root_id}, under)
    return hashes


def plan(
    wanted: Sequence[str], hashes: Mapping[str, str], found: Mapping[str, str | None], *, fresh: bool = False
) -> list[Step]:
    """What to build, in order, so that every image in ``wanted`` and all it stands on is current.

    ``found`` has the label of each local image; None where there is no such image. ``fresh`` builds all of them.
    """
    steps = []
    for name in (recipe for recipe in RECIPES if recipe in with_parents(wanted)):
        if found.get(name) is None:
            steps.append(Step(name, hashes[name], "there is no such image"))
        elif fresh:
            steps.append(Step(name, hashes[name], "asked to build it afresh"))
        elif found[name] != hashes[name]:
            steps.append(Step(name, hashes[name], "its inputs have changed"))
    return steps


def with_parents(wanted: Sequence[str]) -> set[str]:
    """``wanted`` and every image of ours below them."""
    names: set[str] = set()
    for name in wanted:
        step: str | None = name
        while step is not None:
            names.add(step)
            step = RECIPES[step].parent
    return names
