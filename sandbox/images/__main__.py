"""``python -m sandbox.images build [NAME...] | check [NAME...] | prune``: the only reader of the build's environment.

GOFER_BUILD_CA names a PEM bundle (SSL_CERT_FILE and its like count too), GOFER_DEBIAN_IMAGE another root,
GOFER_DEBIAN_MIRROR a mirror for debootstrap; proxies, PIP_INDEX_URL and npm_config_registry are honoured as their own
tools do. See deploy/images.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import docker
from docker.errors import APIError, DockerException

from sandbox.images.build import BuildFailed, Options, build, needed, tag
from sandbox.images.plan import IMAGE_LABEL, RECIPES
from sandbox.images.root import DEFAULT_MIRROR, DEFAULT_ROOT, RootMissing

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
# Who set one of these for this machine's tools means it for the build's downloads as well.
_CA_CONVENTIONS = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# pip's own words for the same things, in case the variables are not set.
_PIP_KEYS = {"PIP_INDEX_URL": "index-url", "PIP_EXTRA_INDEX_URL": "extra-index-url", "PIP_TRUSTED_HOST": "trusted-host"}
# `pip config get` answers in 0.3 s; it reads files only.
_PIP_SECONDS = 20


def options_from(environment: Mapping[str, str], pip: Mapping[str, str]) -> Options:
    """The build's options. ``pip`` are pip's configured values under their variables' names.

    Raises ``ValueError`` for a CA bundle that cannot be read or holds no certificate.
    """
    args = {name: environment[name] for name in _PROXIES if environment.get(name)}
    for name in _PIP_KEYS:
        # A file: index is a folder of this machine, which the build cannot see.
        words = environment.get(name, pip.get(name, "")).split()
        if usable := [word for word in words if not word.startswith("file:")]:
            args[name] = " ".join(usable)
    if registry := environment.get("npm_config_registry"):
        args["NPM_REGISTRY"] = registry
    return Options(
        prefix=environment.get("GOFER_IMAGE_PREFIX") or "gofer",
        root=environment.get("GOFER_DEBIAN_IMAGE") or DEFAULT_ROOT,
        mirror=environment.get("GOFER_DEBIAN_MIRROR") or DEFAULT_MIRROR,
        ca=_read_ca(*_ca_setting(environment)),
        args=args,
    )


def _ca_setting(environment: Mapping[str, str]) -> tuple[str, str]:
    """The variable that names the extra CA bundle, and its value. GOFER_BUILD_CA set to nothing means none at all."""
    for name in ("GOFER_BUILD_CA", *_CA_CONVENTIONS):
        if name in environment:
            return name, environment[name]
    return "GOFER_BUILD_CA", ""


def _read_ca(name: str, path: str) -> bytes:
    if not path:
        return b""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"{name}: {error}") from None
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise ValueError(f"{name}: {path} holds no PEM certificate")
    return content


def pip_configured() -> dict[str, str]:
    """What this machine's pip is configured with, for the keys that the build can use."""
    found = {}
    for name, key in _PIP_KEYS.items():
        asked = subprocess.run(
            [sys.executable, "-m", "pip", "config", "get", f"global.{key}"],
            capture_output=True, text=True, timeout=_PIP_SECONDS, check=False,
        )  # fmt: skip
        if asked.returncode == 0:
            found[name] = asked.stdout.strip()
    return found


def client_from(environment: Mapping[str, str]) -> docker.DockerClient:
    return docker.DockerClient(base_url=environment.get("DOCKER_HOST") or "unix:///var/run/docker.sock", timeout=600)


def say(words: str) -> None:
    print(f"images: {words}", flush=True)


def run(command: str, names: list[str], *, fresh: bool) -> int:
    options = options_from(os.environ, pip_configured())
    client = client_from(os.environ)
    try:
        if command == "prune":
            return _prune(client)
        if command == "check":
            stale = needed(client, options, names, say)
            for step in stale:
                say(f"{tag(options, step.name)} must be built: {step.why}")
            return 1 if stale else 0
        for name, image in build(client, options, names, say=say, fresh=fresh).items():
            say(f"{tag(options, name)} is {image}")
        return 0
    finally:
        client.close()


def _prune(client: docker.DockerClient) -> int:
    """Remove images of ours that were replaced and that no container uses. Not while a server is running."""
    for image in client.images.list(filters={"dangling": True, "label": IMAGE_LABEL}):
        try:
            client.images.remove(str(image.id))
            say(f"removed {image.short_id}")
        except APIError as error:
            say(f"kept {image.short_id}: {error.explanation}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox.images", description=__doc__)
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
        return 1


if __name__ == "__main__":
    sys.exit(main())
