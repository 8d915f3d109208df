"""Who may call: bearer tokens, each with a name for the log, from a file of ``NAME TOKEN`` lines."""

from __future__ import annotations

import hashlib
import hmac
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

# Characters. 32 of hex are 128 bits; what is shorter can be tried.
MIN_TOKEN = 32
# Characters. A header line holds 8,190 bytes; no token needs a tenth of it.
MAX_TOKEN = 512
# Different characters: less is one key held down, or a word repeated until it was long enough.
MIN_DIFFERENT = 8
# Callers of one runner. Each is compared at each call.
MAX_TOKENS = 64
MAX_FILE_BYTES = 65_536

MAKE_ONE = "openssl rand -hex 32"

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
_TOKEN = re.compile(r"[!-~]+", re.ASCII)
_PLACEHOLDER = re.compile(
    r"change.?me|replace.?me|placeholder|example|your.{0,3}token|token.?here|password|<[^>]*>|xxxx|1234567890"
    r"|abcdefghij|todo",
    re.IGNORECASE,
)
_BEARER = re.compile(r"bearer +([!-~]+)", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True)
class Token:
    """One caller. The token is never printed."""

    name: str
    secret: SecretStr


def parse(text: str) -> tuple[Token, ...]:
    """All lines; empty ones and those that start with ``#`` are left out. Raises ``ValueError`` with words that name
    the line and hold no token."""
    found: list[Token] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        token = _line(number, line.split())
        if token.name in {other.name for other in found}:
            raise ValueError(f"line {number}: the name {token.name} is there twice")
        if token.secret in {other.secret for other in found}:
            raise ValueError(f"line {number}: the token of {token.name} is another's too; each has its own")
        found.append(token)
    if not found:
        raise ValueError(f"there is no token; add a line: NAME TOKEN (make one with: {MAKE_ONE})")
    if len(found) > MAX_TOKENS:
        raise ValueError(f"there are {len(found)} tokens; {MAX_TOKENS} are the most")
    return tuple(found)


def _line(number: int, words: list[str]) -> Token:
    if len(words) != 2 or not _NAME.fullmatch(words[0]):
        raise ValueError(f"line {number}: it must be NAME TOKEN, the name of a-z, 0-9, dot, hyphen and underscore")
    name, token = words
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN or not _TOKEN.fullmatch(token):
        raise ValueError(
            f"line {number}: the token of {name} has {len(token)} characters; {MIN_TOKEN} to {MAX_TOKEN} printable "
            f"ones are needed (make one with: {MAKE_ONE})"
        )
    if _PLACEHOLDER.search(token) or len(set(token)) < MIN_DIFFERENT:
        raise ValueError(f"line {number}: the token of {name} looks like a placeholder; make one with: {MAKE_ONE}")
    return Token(name, SecretStr(token))


def read(path: Path) -> tuple[Token, ...]:
    """Raises ``ValueError`` with words, also for a file that everybody on this machine can read."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    if mode & stat.S_IRWXO:
        raise ValueError(f"{path} is open to everybody on this machine (mode {mode:04o}): chmod 0640 {path}")
    if len(raw) > MAX_FILE_BYTES:
        raise ValueError(f"{path} is larger than {MAX_FILE_BYTES} bytes")
    try:
        return parse(raw.decode("ascii"))
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no ASCII text") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


class Keyring:
    """Tells callers apart. How long that takes says nothing about any token."""

    def __init__(self, tokens: Iterable[Token]) -> None:
        self._digests = [(token.name, _digest(token.secret.get_secret_value())) for token in tokens]

    def who(self, headers: list[str]) -> str | None:
        """The caller's name, from the values of all ``Authorization`` headers; None for whoever it is not."""
        given = _BEARER.fullmatch(headers[0].strip()) if len(headers) == 1 else None
        digest = _digest(given.group(1) if given else "")
        found: str | None = None
        for name, known in self._digests:  # all of them, whichever matches: equal lengths, no early end
            if hmac.compare_digest(digest, known):
                found = name
        return found if given else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("ascii")).digest()
