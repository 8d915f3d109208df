"""Which repository a source names, and what the fetch helper is told. Pure."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from sandbox.inside.bounds import Failed
from sandbox.inside.refs import check_commit, check_ref
from sandbox.job import Limits, Secrets, Source
from sandbox.settings import GitHost

# GitHub's own rules are narrower; these are the ones that keep a URL path a URL path.
OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,99})")
REPOSITORY = re.compile(r"[A-Za-z0-9._-]{1,100}")
# Where the fetch helper finds the git socket's relay.
RELAY = "http://127.0.0.1:9002"
DEFAULT_PORTS = {"https": 443, "http": 80}


def repository(url: str, host: GitHost) -> str:
    """OWNER/REPO of a URL on the configured git host. Raises ``ValueError`` with the form to send."""
    form = f"{host.base_url.rstrip('/')}/OWNER/REPO"
    wanted, given = urlsplit(host.base_url), urlsplit(url)
    prefix = wanted.path.rstrip("/") + "/"
    same = (_place(wanted), True) == (_place(given), given.path.startswith(prefix))
    if not same or given.username or given.password or given.query or given.fragment:
        raise ValueError(f"the repository must be given as {form}")
    owner, _, name = given.path.removeprefix(prefix).removesuffix("/").removesuffix(".git").partition("/")
    if not OWNER.fullmatch(owner) or not REPOSITORY.fullmatch(name) or name in {".", ".."}:
        raise ValueError(f"the repository must be given as {form}")
    return f"{owner}/{name}"


def fetchable(source: Source, given: Secrets) -> None:
    """What the fetch helper and the egress would refuse, whatever the host has. Raises ``ValueError`` with the reason,
    which never quotes the token."""
    try:
        if source.ref:
            check_ref(source.ref)
        if source.commit:
            check_commit(source.commit)
    except Failed as error:
        raise ValueError(f"The repository could not be fetched: {error}") from error
    token = given.fetch_token.get_secret_value() if given.fetch_token is not None else ""
    if not token.isascii() or (token and not token.isprintable()):
        raise ValueError("The repository could not be fetched: its token is not printable ASCII")


def identity(repository: str, host: GitHost) -> str:
    """What the mirror of OWNER/REPO on this host says that it is the mirror of; hosts take no notice of case."""
    return f"{host.base_url} {repository.lower()}"


def fetch_request(source: Source, repository: str | None, limits: Limits, mirror: str = "") -> dict[str, object]:
    """``/inputs/fetch.json``. The origin that the agent sees holds no credential and no address of ours.

    ``mirror``: the ``identity`` where one is mounted.
    """
    return {
        "url": f"{RELAY}/{repository}.git" if repository else "",
        "ref": source.ref,
        "commit": source.commit,
        "origin": source.url,
        "seconds": limits.fetch_seconds,
        "mirror": mirror,
        "instructions": source.instructions,
    }


def _place(parts: SplitResult) -> tuple[str, str, int | None]:
    try:
        port = parts.port
    except ValueError:  # no number, or none of a port: no host has it
        port = -1
    return parts.scheme.lower(), (parts.hostname or "").lower(), port or DEFAULT_PORTS.get(parts.scheme.lower())
