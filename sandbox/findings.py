"""What ``gofer doctor`` has found: the facts of an examination -> findings in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from sandbox.job import Frozen
from sandbox.settings import Destination, Settings


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Finding(Frozen):
    """One thing that was looked at. ``remedy`` says what to do; empty where all is well."""

    subject: str
    health: Health
    words: str
    remedy: str = ""


def ok(subject: str, words: str) -> Finding:
    return Finding(subject=subject, health=Health.OK, words=words)


def warning(subject: str, words: str, remedy: str) -> Finding:
    return Finding(subject=subject, health=Health.WARNING, words=words, remedy=remedy)


def failed(subject: str, words: str, remedy: str) -> Finding:
    return Finding(subject=subject, health=Health.FAILED, words=words, remedy=remedy)


def container(look: Mapping[str, Any]) -> Iterable[Finding]:
    """Of the probe's look at its own container. A fact that is missing is one that failed."""
    network = look.get("interfaces") == ["lo"] and look.get("lookup") is False
    yield (
        ok("network", "the agent has none: loopback alone, and no name is looked up")
        if network
        else failed("network", f"the agent sees {look.get('interfaces')}", "the engine must honour network mode none")
    )
    seccomp = look.get("seccomp") == "2" and look.get("unshare") is False and look.get("packets") is False
    yield (
        ok("seccomp", "our profile is in force: new namespaces and raw sockets are refused")
        if seccomp
        else failed("seccomp", "the agent may make system calls that our profile forbids", "an engine with seccomp")
    )
    rights = look.get("no_new_privileges") == "1" and set(str(look.get("capabilities"))) == {"0"}
    yield (
        ok("privileges", f"none: uid {look.get('uid')}, no capability, and none can be gained")
        if rights and look.get("uid") != 0
        else failed("privileges", "the agent has rights, or can gain them", "no-new-privileges must be honoured")
    )
    yield (
        ok("image", "read-only for the agent")
        if look.get("root") is False
        else failed("image", "the agent can write to its image", "the engine must honour read-only containers")
    )


def workspace(fill: Mapping[str, Any], cap: int) -> Finding:
    """Of the attempt to write twice as much as the workspace may hold."""
    written, subject = fill.get("written"), "workspace"
    if isinstance(written, int) and 0 < written <= cap and fill.get("full"):
        return ok(subject, f"capped: full after {written / 2**20:.0f} MiB of {cap / 2**20:.0f}")
    words = f"{written} bytes were written into a workspace of {cap}"
    return failed(subject, words, "the store needs loop devices (deploy/operator.md)")


_REFUSED = {
    401: "it does not take the key",
    402: "the account behind the key has no credit",
    403: "it does not take the key, or not for this model",
}


def gateway(subject: str, answer: Mapping[str, Any]) -> Finding:
    """Of one small question to a model, asked the way that an agent's go."""
    status, words = answer.get("status"), shown(str(answer.get("words", "")))
    if not isinstance(status, int) or status == 0:
        return failed(subject, f"it was not asked: {words or 'no answer'}", "look at the egress's log")
    if 200 <= status < 300:
        return ok(subject, "it answered")
    said = f"{status}: {words}" if words else str(status)
    if status in _REFUSED:
        return failed(subject, f"{_REFUSED[status]} ({said})", "check the key and the gateway's settings")
    if status in (429, 529) or (status >= 500 and status not in (502, 504)):
        return warning(subject, f"it answers, and has no time now ({said})", "try again later")
    if status >= 500:
        return failed(subject, f"it cannot be reached ({said})", "check its address, its certificate and the proxy")
    return warning(subject, f"it answers, and did not take the question ({said})", "check the model's name")


def allowed(settings: Settings) -> Finding:
    """The list as it is in force."""
    if not settings.allowed:
        return ok("destinations", "none is allowed beside model and repository (the default)")
    return ok("destinations", "agents may read from " + ", ".join(place_name(place) for place in settings.allowed))


def place_name(place: Destination) -> str:
    host = f"[{place.host}]" if ":" in place.host else place.host
    return host if place.port == 443 else f"{host}:{place.port}"


# That an answer of the other side came through: a status, or git's and npm's words for it.
_ANSWERED = re.compile(
    r"\bstatus [2-4]\d\d\b|\b[234]\d\d (Client Error|OK|[A-Z][a-z])|E4\d\d\b|repository '.*' not found"
)
_OURS = re.compile(r"is not reachable from this sandbox|could not be reached|cannot be resolved|is not dialled")
_TRUST = re.compile(r"certificate|self.signed|CERT_|SSLError|TLS", re.IGNORECASE)


def tool(name: str, output: str | None, place: Destination) -> Finding:
    """Of what a tool printed that asked an allowed destination for something."""
    subject, where = f"tool {name}", place_name(place)
    if output is None:
        return warning(subject, "it is not in the image", "nothing, unless tasks need it")
    if _OURS.search(output):
        return failed(subject, f"{where} did not answer it: {shown(output)}", "check the destination and the proxy")
    if _ANSWERED.search(output):
        return ok(subject, f"reads from {where}")
    if _TRUST.search(output):
        return failed(subject, f"it does not trust the way out: {shown(output)}", "build the images anew: make images")
    return failed(subject, f"it had no answer from {where}: {shown(output)}", "try it in a task by hand")


def shown(text: str) -> str:
    """The end of what a program or a server said, on one line and harmless to a terminal."""
    line = " ".join(text.split())[-300:]
    return "".join(char if char.isprintable() else "?" for char in line)
