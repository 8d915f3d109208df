"""What a setting must look like. Each check gives the value back or raises ``ValueError`` with words that hold no
secret."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from bot.permissions import Served

# Docker's own name for the machine that it runs on: resolved in the egress container where a setting names it.
DOCKER_HOST_NAME = "host.docker.internal"
# Characters. GitHub's own manifest flow makes longer ones; shorter ones can be guessed offline from one delivery.
MIN_WEBHOOK_SECRET = 32
# Different characters. Less is one key held down, or a word repeated until it was long enough.
MIN_DIFFERENT = 8
# Bytes. A key file is under four thousand; a larger file is the wrong file.
MAX_SECRET_FILE = 65_536

_PLACEHOLDER = re.compile(
    r"change.?me|replace.?me|placeholder|example|your.{0,3}secret|secret.?here|webhook.?secret|password|<[^>]*>"
    r"|xxxx|1234567890|abcdefghij|todo",
    re.IGNORECASE,
)


def webhook_secret(value: object) -> object:
    """Long enough and no placeholder."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    if len(text) < MIN_WEBHOOK_SECRET:
        raise ValueError(f"it has {len(text)} characters; {MIN_WEBHOOK_SECRET} or more are needed")
    if _PLACEHOLDER.search(text) or len(set(text)) < MIN_DIFFERENT:
        raise ValueError("it looks like a placeholder; make one with: openssl rand -hex 32")
    return value


def header_value(value: object) -> object:
    """What a header can carry: printable ASCII without spaces, and the line end of a file at its end is left out."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    text = text.rstrip("\r\n")
    if re.search(r"[^!-~]", text):
        raise ValueError("it holds a space, a line end or a character that no header can carry; copy it again")
    return SecretStr(text)


def pem_key(value: object) -> object:
    """A private key in PEM; a variable may have its line ends as backslash and n."""
    text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
    text = text.replace("\\n", "\n").strip() + "\n"
    if not re.match(r"-----BEGIN (RSA )?PRIVATE KEY-----\n", text) or "\n-----END " not in text:
        raise ValueError("it is no PEM private key; give the file that GitHub let you download")
    return SecretStr(text)


def served_list(value: object) -> str:
    """At least one entry, each an owner or owner/repository."""
    text = str(value)
    if not Served.parse(text).entries:
        raise ValueError("it is empty; name the owners and repositories to serve")
    return text


def base_url(value: object) -> str:
    """An http or https URL with a host and nothing after the path; without the last slash."""
    text = str(value).rstrip("/")
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise ValueError("it is no URL") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("it must be an https:// URL")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("it must hold no user, password, query or fragment")
    return text


def engine_address(value: object) -> str:
    """A socket or a host of a Docker Engine, as DOCKER_HOST has it."""
    text = str(value)
    if not re.match(r"(unix:///|(tcp|https?|ssh)://)[^/]", text):
        raise ValueError("it must be unix:///PATH or tcp://HOST:PORT")
    return text


def not_empty(value: object) -> object:
    """An empty path would be the directory that the command happens to stand in."""
    if value == "":
        raise ValueError("it is empty; leave it out for the default")
    return value


def listen_address(value: object) -> str:
    """``HOST:PORT``, an IPv6 address in brackets."""
    text = str(value)
    host, _, port = text.rpartition(":")
    bare_ipv6 = ":" in host and not re.fullmatch(r"\[[0-9a-fA-F:.]+\]", host)
    if not host or bare_ipv6 or not re.fullmatch(r"\d{1,5}", port, re.ASCII) or int(port) > 65_535:
        raise ValueError("it must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080")
    return text


def runner_address(value: object) -> str:
    """As ``listen_address``, or the absolute path of a Unix socket."""
    text = str(value)
    if text.startswith("unix:"):
        if not re.fullmatch(r"unix:///[^\0]+", text):
            raise ValueError("a socket is given as unix:///PATH")
        return text
    return listen_address(text)


def read_secret_file(name: str, path: str) -> str:
    """The text in the file, without the line end at its end."""
    try:
        raw = Path(path).read_bytes()[: MAX_SECRET_FILE + 1]
    except OSError as error:
        raise ValueError(f"{name}: {path} cannot be read: {error.strerror}") from None
    if not raw.strip() or len(raw) > MAX_SECRET_FILE:
        raise ValueError(f"{name}: {path} is empty or too large to be a secret")
    try:
        return raw.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError(f"{name}: {path} is no text") from None


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant."""
    return difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
