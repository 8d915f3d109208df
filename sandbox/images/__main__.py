"""``python -m sandbox.images build [NAME...] | check [NAME...] | prune``; the environment is read in ``options``."""

from __future__ import annotations

import argparse
import os
import sys

import docker
from docker.errors import APIError, DockerException, ImageNotFound

from sandbox.images.build import BuildFailed, build, needed, tag
from sandbox.images.options import options_from
from sandbox.images.plan import IMAGE_LABEL, RECIPES, STAGE_LABEL
from sandbox.images.root import RootMissing

# One step of a build may say nothing for long: a download over a slow line.
ENGINE_SECONDS = 1200
# Most builds that fail do so on a download, and the downloads' own words seldom name the cause.
HINT = (
    "a download that fails (a certificate, no such version, no connection) may need the CA of a network that inspects "
    "TLS (make ... GOFER_BUILD_CA=/path/to/ca-bundle.pem), a proxy or a mirror: deploy/images.md, Options"
)


def say(words: str) -> None:
    print(f"images: {words}", flush=True)


def run(command: str, names: list[str], *, fresh: bool) -> int:
    """Do it and return the exit status: 0 done or current, 1 (``check``) something must be built."""
    options = options_from(os.environ)
    address = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    client = docker.DockerClient(base_url=address, timeout=ENGINE_SECONDS)
    try:
        if command == "prune":
            prune(client)
            return 0
        if command == "check":
            stale = needed(client, options, names, say, fresh=fresh)
            for step in stale:
                say(f"{tag(options, step.name)} must be built: {step.why}")
            return 1 if stale else 0
        for name, image in build(client, options, names, say=say, fresh=fresh).items():
            say(f"{tag(options, name)} is {image}")
        return 0
    finally:
        client.close()


def prune(client: docker.DockerClient) -> None:
    """Remove images of ours that were replaced and that no container uses, and the build's stages that were not kept.

    Not while a server runs that was started before they were replaced: it makes containers from them, by ID.
    """
    for label in (IMAGE_LABEL, STAGE_LABEL):
        for image in client.images.list(filters={"dangling": True, "label": label}):
            try:
                client.images.remove(str(image.id))
                say(f"removed {image.short_id}")
            except ImageNotFound:
                continue  # with the one that stood on it
            except APIError as error:
                say(f"kept {image.short_id}: {error.explanation}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox.images")
    parser.add_argument("command", choices=["build", "check", "prune"])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RECIPES)}; all by default")
    parser.add_argument("--fresh", action="store_true", help="build all anew, for newer Debian packages")
    given = parser.parse_args()
    if unknown := set(given.names) - set(RECIPES):
        parser.error(f"no such image: {', '.join(sorted(unknown))}")
    if given.fresh and given.names:
        parser.error("--fresh builds all images: a fresh parent under an old child would be neither")
    try:
        return run(given.command, given.names or list(RECIPES), fresh=given.fresh)
    except (BuildFailed, RootMissing, ValueError, FileNotFoundError, DockerException) as error:
        print(f"images: {error}", file=sys.stderr)
        if isinstance(error, BuildFailed):
            print(f"images: {HINT}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
