"""What one sandbox may reach: the operator's words, parsed. Pure; standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from sandbox.egress import places
from sandbox.egress.budget import Budget
from sandbox.egress.budget import parse as parse_budget
from sandbox.egress.places import General

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\]")
_PREFIX = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){0,8}")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}|\.[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}")
_HEADER = re.compile(r"[a-z0-9-]{1,64}")
APIS = ("anthropic-messages", "openai-responses", "openai-chat")


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
class Terms:
    """How the model's upstream is spoken with."""

    header: str
    """Which header carries the credential; an OAuth token is always ``authorization``."""
    apis: tuple[str, ...]
    oauth: bool = False
    server_side: bool = False
    """The provider may act by itself: search, fetch, run code, connect to others."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything that one sandbox may reach. ``git`` is None where nothing is fetched, and once fetching is over;
    ``model`` (and ``terms`` with it) where there is no agent: then no socket leads to it."""

    model: Upstream | None
    terms: Terms | None
    git: Upstream | None
    repository: str
    proxy: Upstream | None = None
    """The operator's own, through which whatever is not ``private`` is reached."""
    proxy_user: str = ""
    budget: Budget | None = None
    general: General = field(default_factory=General)
    """Beside model and repository; empty where the operator allows nothing."""

    def upstream(self, listener: str) -> Upstream | None:
        return {"model": self.model, "git": self.git}.get(listener)


def parse(given: Mapping[str, Any]) -> Policy:
    """The operator's words -> Policy. Raises ``ValueError`` for anything unknown, missing or ambiguous."""
    _keys("policy", given, {"model", "git", "general", "proxy", "budget"})
    model, terms = _model(given["model"])
    git, repository = _git(given["git"])
    general = places.parse(given["general"])
    proxy, user = _proxy(given["proxy"])
    return Policy(model, terms, git, repository, proxy, user, parse_budget(given["budget"]), general)


def _model(given: Any) -> tuple[Upstream | None, Terms | None]:
    if given is None:
        return None, None
    _keys("model", given, {"base_url", "header", "private", "ca_pem", "apis", "oauth", "server_side"})
    header, apis = given["header"], given["apis"]
    if not isinstance(header, str) or not _HEADER.fullmatch(header) or header in {"host", "content-length"}:
        raise ValueError("model.header is not a header name in lower case")
    if not isinstance(apis, list) or not apis or not all(api in APIS for api in apis):
        raise ValueError(f"model.apis must be some of: {', '.join(APIS)}")
    if not isinstance(given["oauth"], bool) or not isinstance(given["server_side"], bool):
        raise ValueError("model.oauth and model.server_side are true or false")
    return _upstream("model", given), Terms(header, tuple(apis), given["oauth"], given["server_side"])


def _git(given: Any) -> tuple[Upstream | None, str]:
    if given is None:
        return None, ""
    _keys("git", given, {"base_url", "private", "ca_pem", "repository"})
    owner, slash, name = str(given["repository"]).partition("/")
    if not (slash and _NAME.fullmatch(owner) and _NAME.fullmatch(name)) or name.endswith(".git"):
        raise ValueError("git.repository must be OWNER/REPO")
    return _upstream("git", given), f"{owner}/{name}"


def _proxy(given: Any) -> tuple[Upstream | None, str]:
    """The operator names it, so it may be anywhere, and plain http."""
    if given is None:
        return None, ""
    _keys("proxy", given, {"url", "user", "ca_pem"})
    upstream = _upstream("proxy", {"base_url": given["url"], "private": True, "ca_pem": given["ca_pem"]})
    user = given["user"]
    if upstream.prefix or not isinstance(user, str) or not user.isascii() or ":" in user:
        raise ValueError("proxy.url has no path, and proxy.user no colon and ASCII only")
    return upstream, user


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
