"""Building what is not current, by the Docker Engine's own build call: no BuildKit and no docker command is needed."""

from __future__ import annotations

import fcntl
import io
import os
import re
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import docker
from docker.errors import ImageNotFound

from sandbox.images.context import archive, read_files
from sandbox.images.plan import IMAGE_LABEL, INPUTS_LABEL, RECIPES, Step, all_inputs, plan
from sandbox.images.root import DEFAULT_ROOT, root_id

# Enough of a failed build's output to see the cause: apt, pip and curl say it in their last lines.
SHOWN_LINES = 30
# The engine sends errors a few characters at a time; this many pieces hold SHOWN_LINES of them.
KEPT_PIECES = 2000
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class BuildFailed(Exception):
    """An image could not be built; ``str()`` has the end of the build's output."""


@dataclass(frozen=True)
class Options:
    """What the operator decides about builds. Nothing in here is left in an image."""

    prefix: str = "gofer"
    root: str = DEFAULT_ROOT
    mirror: str = ""
    ca: bytes = b""
    """Extra CA certificates, PEM, that the build's downloads trust."""
    args: Callable[[], dict[str, str]] = field(default=dict, repr=False)
    """Gives the build arguments that say where to fetch from (proxies, indexes); asked only when something is built.

    They may hold passwords: never shown, and given to stages that are not kept.
    """


def tag(options: Options, name: str) -> str:
    return f"{options.prefix}/{name}:latest"


def labels(client: docker.DockerClient, options: Options) -> dict[str, str | None]:
    """The inputs label of each local image; None where there is none (an unlabelled image counts as none)."""
    return {name: _label(client, tag(options, name)) for name in RECIPES}


def _label(client: docker.DockerClient, name: str) -> str | None:
    try:
        return client.images.get(name).labels.get(INPUTS_LABEL)
    except ImageNotFound:
        return None


def image_id(client: docker.DockerClient, options: Options, name: str) -> str:
    """The ID by which containers are made. Raises ``ImageNotFound``."""
    return str(client.images.get(tag(options, name)).id)


def needed(
    client: docker.DockerClient, options: Options, wanted: Sequence[str], say: Callable[[str], None], *, fresh: bool
) -> list[Step]:
    """What ``build`` would do now. Gets the Debian root where it is missing, since its ID is one of the inputs."""
    return _plan(client, options, wanted, _all_files(), say, fresh)


def _all_files() -> dict[str, dict[str, bytes]]:
    return {name: read_files(recipe) for name, recipe in RECIPES.items()}


def _plan(
    client: docker.DockerClient,
    options: Options,
    wanted: Sequence[str],
    files: Mapping[str, Mapping[str, bytes]],
    say: Callable[[str], None],
    fresh: bool,
) -> list[Step]:
    hashes = all_inputs(files, root_id(client, options.root, options.mirror, say))
    return plan(wanted, hashes, labels(client, options), fresh=fresh)


def build(
    client: docker.DockerClient,
    options: Options,
    wanted: Sequence[str] = tuple(RECIPES),
    *,
    say: Callable[[str], None] = print,
    fresh: bool = False,
) -> dict[str, str]:
    """Build what is not current and return the IDs of ``wanted``. One build at a time on this machine and prefix.

    The images that are replaced are kept (untagged): a server that is running still uses them by ID.
    """
    with _alone(options.prefix):
        # Read once: the label must be of the very bytes that are sent, even while somebody edits them.
        files = _all_files()
        for step in _plan(client, options, wanted, files, say, fresh):
            started = time.monotonic()
            say(f"building {tag(options, step.name)}: {step.why}")
            _perform(client, options, step, archive(files[step.name], options.ca), nocache=fresh)
            say(f"built {tag(options, step.name)} in {time.monotonic() - started:.0f} s")
        return {name: image_id(client, options, name) for name in wanted}


@contextmanager
def _alone(prefix: str) -> Iterator[None]:
    """Wait for any other build of this prefix to end: two would fetch everything twice."""
    path = Path(tempfile.gettempdir()) / f"gofer-images-{os.getuid()}-{prefix.replace('/', '_')}.lock"
    # O_NOFOLLOW: the folder is everybody's.
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _perform(client: docker.DockerClient, options: Options, step: Step, context: bytes, *, nocache: bool) -> None:
    recipe = RECIPES[step.name]
    parent = {} if recipe.parent is None else {"BASE": tag(options, recipe.parent)}
    output = client.api.build(
        fileobj=io.BytesIO(context),
        custom_context=True,
        dockerfile=recipe.dockerfile,
        tag=tag(options, step.name),
        buildargs={**options.args(), "DEBIAN": options.root, **parent},
        labels={INPUTS_LABEL: step.inputs, IMAGE_LABEL: step.name},
        nocache=nocache,
        pull=False,
        rm=True,
        forcerm=True,
        decode=True,
    )
    last: deque[str] = deque(maxlen=KEPT_PIECES)
    for event in output:
        last.append(event.get("stream", ""))
        if "error" in event:
            raise BuildFailed(f"{step.name}:\n{readable(''.join(last))}\n{event['error'].strip()}")


def readable(output: str) -> str:
    """The last lines of a build's output, without colours and empty lines."""
    lines = [line.rstrip() for line in _COLOUR.sub("", output).splitlines()]
    return "\n".join([line for line in lines if line][-SHOWN_LINES:])
