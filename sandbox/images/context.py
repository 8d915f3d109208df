"""The files of an image's build, read from the project, and the archive that the engine is sent."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from sandbox.images.plan import Recipe

PROJECT = Path(__file__).resolve().parent.parent.parent
CA_NAME = "ca.pem"
"""The extra CA bundle's name in the build context; the Dockerfiles take it by a pattern, so that it may be missing."""

# Editors and running tests leave these beside the sources; they decide nothing.
_IGNORED_SUFFIXES = {".pyc", ".swp", ".tmp", ".orig"}


def read_files(recipe: Recipe, project: Path = PROJECT) -> dict[str, bytes]:
    """Every file of the recipe by its path below the project. Raises ``FileNotFoundError`` for a missing source."""
    files: dict[str, bytes] = {}
    for source in recipe.sources:
        top = project / source
        if not top.exists():
            raise FileNotFoundError(f"{top} is missing: images are built from a checkout of the project")
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            name = path.relative_to(project).as_posix()
            if path.is_file() and path.suffix not in _IGNORED_SUFFIXES and name not in recipe.excluded:
                files[name] = path.read_bytes()
    return files


def archive(files: Mapping[str, bytes], ca: bytes = b"") -> bytes:
    """A tar of the files with fixed owners, modes and times, so that the engine's layer cache sees only content."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in {**dict(sorted(files.items())), CA_NAME: ca}.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()
