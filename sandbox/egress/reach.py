"""What one sandbox may reach: the operator's words, parsed. Pure; standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\]")
_PREFIX = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){0,8}")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}|\.[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}")
_HEADER = re.compile(r"[a-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class Upstream:
    """One pinned destination. ``private``: the operator named it, so it may be plain http and a private address."""

    host: str
    port: int
    tls: bool
    prefix: str
    private: bool
    ca_pem: str

    @property
    def authority(self) -> str:
        """The Host header: the port is left out where it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that one sandbox may reach. ``git`` is None where nothing is fetched, and once fetching is over."""

    model: Upstream
    model_header: str
    git: Upstream | None
    repository: str

    def upstream(self, listener: str) -> Upstream | None:
        return {"model": self.model, "git": self.git}.get(listener)


def parse(given: Mapping[str, Any]) -> Policy:
    """The operator's words -> Policy. Raises ``ValueError`` for anything unknown, missing or ambiguous."""
    if set(given) != {"model", "git"}:
        raise ValueError("policy must have exactly: model, git")
    model, git = given["model"], given["git"]
    _keys("model", model, {"base_url", "header", "private", "ca_pem"})
    header = model["header"]
    if not isinstance(header, str) or not _HEADER.fullmatch(header) or header in {"host", "content-length"}:
        raise ValueError("model.header is not a header name in lower case")
    if git is None:
        return Policy(_upstream("model", model), header, None, "")
    _keys("git", git, {"base_url", "private", "ca_pem", "repository"})
    owner, slash, name = str(git["repository"]).partition("/")
    if not (slash and _NAME.fullmatch(owner) and _NAME.fullmatch(name)) or name.endswith(".git"):
        raise ValueError("git.repository must be OWNER/REPO")
    return Policy(_upstream("model", model), header, _upstream("git", git), f"{owner}/{name}")


def _keys(what: str, given: object, wanted: set[str]) -> None:
    if not isinstance(given, dict) or set(given) != wanted:
        raise ValueError(f"{what} must have exactly: {', '.join(sorted(wanted))}")


def _upstream(what: str, given: Mapping[str, Any]) -> Upstream:
    private, ca_pem = given["private"], given["ca_pem"]
    if not isinstance(private, bool) or not isinstance(ca_pem, str) or not isinstance(given["base_url"], str):
        raise ValueError(f"{what}: base_url and ca_pem are text, private is true or false")
    url = urlsplit(given["base_url"].removesuffix("/"))
    if url.scheme not in {"https", "http"} or (url.scheme == "http" and not private):
        raise ValueError(f"{what}.base_url must be https (plain http only where it is private)")
    tls, port = url.scheme == "https", url.port
    bare = url.netloc if port is None else url.netloc.rsplit(":", 1)[0]
    if not _HOST.fullmatch(bare) or ".." in bare:
        raise ValueError(f"{what}.base_url must hold a plain host name in lower case")
    if not _PREFIX.fullmatch(url.path) or ".." in url.path or url.query or url.fragment:
        raise ValueError(f"{what}.base_url has a path that can be spelled in more than one way")
    if port == 0:
        raise ValueError(f"{what}.base_url has no port 0")
    return Upstream(bare.strip("[]"), port or (443 if tls else 80), tls, url.path, private, ca_pem)
