"""What may leave a sandbox: ``decide(policy, request) -> Verdict``. Default deny; pure; standard library only.

There is nothing to normalise here. All that a listener lets through is a handful of exact strings (method and
request target, byte for byte), each with the exact string that is sent upstream in its place. A spelling that would
need decoding to be understood (``%2e``, ``..``, ``//``, ``;``, another case) is not in the table, so it is refused,
and what was judged is what is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

Listener = Literal["model", "git", "general"]

# A model request of the agents is 55 to 100 kB at the start and grows with the conversation; providers refuse
# bodies above 32 MB themselves.
MODEL_BODY_BYTES = 32 * 2**20
# "want" and "have" lines of a fetch at depth 1 are a few kB.
GIT_BODY_BYTES = 4 * 2**20
# A DNS name has at most 253 characters. What a client calls a host is shown to people and logged.
SHOWN_HOST_CHARS = 253
# Enough to recognise a path in a log; a client can send 64 KiB of it.
SHOWN_PATH_CHARS = 256
SHOWN_METHOD_CHARS = 16

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


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came, before any of its body. ``host`` is what a client of the general listener asked for."""

    listener: str
    method: str
    target: str
    host: str = ""
    scheme: str = "http"
    absolute: bool = False
    """The request target named a host itself (absolute form or CONNECT)."""
    version: str = "HTTP/1.1"
    upgrade: bool = False
    has_body: bool = False
    length: int | None = None
    content_type: str = ""
    content_encoding: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reason`` is the sentence for the client; ``target`` is what goes upstream, empty when refused."""

    allowed: bool
    status: int
    reason: str
    host: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """What one request target is good for. ``content_type`` is empty where there must be no body."""

    method: str
    target: str
    content_type: str = ""
    body_bytes: int = 0
    encodings: tuple[str, ...] = ("",)


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


def rules(policy: Policy, listener: str) -> dict[str, Rule]:
    """Every request target that this listener knows, with what becomes of it."""
    upstream = policy.upstream(listener)
    if upstream is None:
        return {}
    return _model_rules(upstream) if listener == "model" else _git_rules(upstream, policy.repository)


def _model_rules(upstream: Upstream) -> dict[str, Rule]:
    """The agent may say the gateway's path prefix or leave it to us; it need not know it."""
    table = {}
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        for query in ("", "?beta=true"):
            rule = Rule("POST", f"{upstream.prefix}{path}{query}", "application/json", MODEL_BODY_BYTES)
            table[f"{path}{query}"] = table[rule.target] = rule
    return table


def _git_rules(upstream: Upstream, repository: str) -> dict[str, Rule]:
    """Git's smart protocol, reading half, of one repository: the two requests of a fetch."""
    table = {}
    for suffix in ("", ".git"):
        path = f"/{repository}{suffix}"
        refs, pack = f"{path}/info/refs?service=git-upload-pack", f"{path}/git-upload-pack"
        table[refs] = Rule("GET", f"{upstream.prefix}{refs}")
        table[pack] = Rule(
            "POST", f"{upstream.prefix}{pack}", "application/x-git-upload-pack-request", GIT_BODY_BYTES, ("", "gzip")
        )
    return table


def decide(policy: Policy, request: Request) -> Verdict:
    """The one decision. Everything is refused that no line below lets through."""
    upstream = policy.upstream(request.listener)
    if upstream is None:
        if request.listener == "git":
            return _no("git", 403, "nothing can be fetched from this sandbox now")
        return _general(policy, request)
    if request.version != "HTTP/1.1":
        return _no(upstream.host, 400, "only HTTP/1.1 is spoken here")
    if request.absolute:
        return _no(upstream.host, 421, f"{shown_host(request.host)} is not reachable from this sandbox")
    if request.upgrade:
        return _no(upstream.host, 403, "changing the protocol is not possible from this sandbox")
    rule = rules(policy, request.listener).get(request.target)
    if rule is None:
        return _no(upstream.host, 403, _unknown_target(policy, request))
    return _against(rule, upstream, request)


def _against(rule: Rule, upstream: Upstream, request: Request) -> Verdict:
    if request.method != rule.method:
        return _no(upstream.host, 405, f"{shown_path(request.target)} takes {rule.method} only")
    if bool(rule.content_type) != request.has_body:
        return _no(upstream.host, 400, "a body is missing" if rule.content_type else "no body belongs here")
    if rule.content_type and request.content_type.partition(";")[0].strip().lower() != rule.content_type:
        return _no(upstream.host, 415, f"the body must be {rule.content_type}")
    if request.content_encoding not in rule.encodings:
        return _no(upstream.host, 415, "the body must not be encoded")
    if request.length is not None and request.length > rule.body_bytes:
        return _no(upstream.host, 413, f"a body may have {rule.body_bytes} bytes at most")
    return Verdict(True, 200, "", upstream.host, rule.target)


def body_limit(policy: Policy, request: Request) -> int:
    """Bytes that the body of an allowed request may have; 0 for any other request."""
    rule = rules(policy, request.listener).get(request.target)
    return rule.body_bytes if rule is not None and decide(policy, request).allowed else 0


def _general(policy: Policy, request: Request) -> Verdict:
    """Nothing is reachable through the general proxy for now; the words depend on why."""
    host = shown_host(request.host)
    known = {up.host for up in (policy.model, policy.git) if up is not None and up.tls}
    if request.scheme == "http" and request.method.upper() != "CONNECT" and request.host.lower() in known:
        return _no(host, 403, f"{host} is reachable only over HTTPS")
    return _no(host, 403, f"{host} is not reachable from this sandbox")


def _unknown_target(policy: Policy, request: Request) -> str:
    if request.listener == "model":
        return f"{shown_method(request.method)} {shown_path(request.target)} is not reachable from this sandbox"
    if "receive-pack" in request.target:
        return f"pushing is refused: this sandbox may only read {policy.repository}"
    return f"only {policy.repository} can be fetched from this sandbox"


def _no(host: str, status: int, reason: str) -> Verdict:
    return Verdict(False, status, reason, host)


def shown_host(text: str) -> str:
    """A client's idea of a host, fit for a log and for a sentence: no space, control or markup character."""
    return re.sub(r"[^a-z0-9.:\[\]_-]", "?", text[:SHOWN_HOST_CHARS].lower()) or "that host"


def shown_path(text: str) -> str:
    return re.sub(r"[^!#-;=?-_a-~]", "?", text[:SHOWN_PATH_CHARS])


def shown_method(text: str) -> str:
    return re.sub(r"[^A-Za-z-]", "?", text[:SHOWN_METHOD_CHARS])
