"""The build's options from the environment, as the tools that fetch would read it themselves.

GOFER_BUILD_CA names a PEM bundle (SSL_CERT_FILE and its like count too), GOFER_DEBIAN_IMAGE another root,
GOFER_DEBIAN_MIRROR a mirror for debootstrap, GOFER_IMAGE_PREFIX the images' names; proxies, PIP_INDEX_URL with pip's
own configuration, and npm_config_registry are honoured. See deploy/images.md.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from sandbox.images.build import Options
from sandbox.images.root import DEFAULT_ROOT

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
# Who set one of these for this machine's tools means it for the build's downloads as well.
_CA_CONVENTIONS = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# pip's variables and its own words for the same things in its files.
_PIP_KEYS = {"PIP_INDEX_URL": "index-url", "PIP_EXTRA_INDEX_URL": "extra-index-url", "PIP_TRUSTED_HOST": "trusted-host"}
# `pip config list` reads files only and answers in half a second.
_PIP_SECONDS = 20


def options_from(environment: Mapping[str, str]) -> Options:
    """The options. Raises ``ValueError`` for a CA bundle that cannot be read or holds no certificate."""
    return Options(
        prefix=environment.get("GOFER_IMAGE_PREFIX") or "gofer",
        root=environment.get("GOFER_DEBIAN_IMAGE") or DEFAULT_ROOT,
        mirror=environment.get("GOFER_DEBIAN_MIRROR", ""),
        ca=_read_ca(*_ca_setting(environment)),
        args=lambda: fetch_args(environment, pip_configured()),
    )


def fetch_args(environment: Mapping[str, str], pip: Mapping[str, str]) -> dict[str, str]:
    """Build arguments that say where to fetch from. ``pip`` has pip's configured values under their own words."""
    args = {name: environment[name] for name in _PROXIES if environment.get(name)}
    for name, key in _PIP_KEYS.items():
        # A file: index is a folder of this machine, which the build cannot see.
        words = environment.get(name, pip.get(key, "")).split()
        if usable := [word for word in words if not word.startswith("file:")]:
            args[name] = " ".join(usable)
    if registry := environment.get("npm_config_registry"):
        args["NPM_REGISTRY"] = registry
    return args


def pip_configured() -> dict[str, str]:
    """What this machine's pip is configured with in its files; nothing where pip cannot be asked."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True, text=True, timeout=_PIP_SECONDS, check=False,
    )  # fmt: skip
    return parse_pip(asked.stdout)


def parse_pip(listed: str) -> dict[str, str]:
    """``global.index-url='https://…'`` lines to a mapping; the variables' own lines (``:env:``) are not wanted."""
    found = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        if key.startswith("global."):
            # pip prints a value of several lines as Python would, with \n in it.
            found[key.removeprefix("global.")] = value.strip("'\"").replace("\\n", " ").strip()
    return found


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
