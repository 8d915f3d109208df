"""The secrets of one sandbox, and how each is set on a request: by a function of the whole request, so that a
provider which wants requests signed needs one class more and nothing else. Pure, standard library only.

The client's own credentials never get here: no header that could carry one travels (``headers.sent``).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from sandbox.egress.headers import Fields
from sandbox.egress.reach import Policy, Terms

# A secret shorter than this is no secret, and masking it would tear holes into ordinary text.
SECRET_BYTES = 8
# These carry "Bearer KEY"; every other header carries the bare key.
BEARER_HEADERS = frozenset({"authorization", "cf-aig-authorization"})
# Without this word Anthropic's API does not take a subscription's token.
OAUTH_BETA = b"oauth-2025-04-20"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it goes upstream but for its credential. ``body`` is None where it is not known beforehand."""

    method: str
    host: str
    target: str
    headers: Fields
    body: bytes | None = None


class Credential(Protocol):
    """Sets one secret. ``repr`` shows nothing of it."""

    def set_on(self, request: Outgoing) -> Fields:
        """All headers of the request, with the credential among them. Raises where it cannot be set."""
        ...


class Nothing:
    """No credential: the request goes as it is."""

    def set_on(self, request: Outgoing) -> Fields:
        return request.headers


class InHeader:
    """The same value in the same header of every request."""

    __slots__ = ("_name", "_value")

    def __init__(self, name: str, value: str) -> None:
        self._name, self._value = name.encode("ascii"), value.encode("ascii")

    def set_on(self, request: Outgoing) -> Fields:
        return (*(field for field in request.headers if field[0] != self._name), (self._name, self._value))


class OAuth:
    """A subscription's token: a bearer, and the word in ``anthropic-beta`` without which it is not taken."""

    __slots__ = ("_bearer",)

    def __init__(self, token: str) -> None:
        self._bearer = InHeader("authorization", f"Bearer {token}")

    def set_on(self, request: Outgoing) -> Fields:
        headers = self._bearer.set_on(request)
        said = [word.strip() for name, value in headers if name == b"anthropic-beta" for word in value.split(b",")]
        if not any(name == b"anthropic-version" for name, _ in headers) or OAUTH_BETA in said:
            return headers  # another provider's API, or the client has said it
        rest = tuple(field for field in headers if field[0] != b"anthropic-beta")
        return (*rest, (b"anthropic-beta", b",".join([*said, OAUTH_BETA])))


class Credentials:
    """The secrets of one sandbox by listener. Shown by nothing: ``repr`` names no value, and there is no attribute to
    log."""

    __slots__ = ("_by_listener", "_seen")

    def __init__(self, secrets: Mapping[str, str], policy: Policy) -> None:
        """Raises ``ValueError`` for anything but the three known secrets, or one that no header can carry."""
        if set(secrets) != {"model", "fetch", "proxy"}:
            raise ValueError("secrets must have exactly: model, fetch, proxy")
        for name, value in secrets.items():
            if not isinstance(value, str) or not value.isascii() or not (value == "" or value.isprintable()):
                raise ValueError(f"the secret {name} is not printable ASCII")
        proxy_pair = f"{policy.proxy_user}:{secrets['proxy']}"
        self._by_listener: dict[str, Credential] = {
            "model": _model(secrets["model"], policy.terms),
            "git": _basic("authorization", f"x-access-token:{secrets['fetch']}") if secrets["fetch"] else Nothing(),
            "proxy": _basic("proxy-authorization", proxy_pair) if proxy_pair != ":" else Nothing(),
        }
        forms = {form for value in secrets.values() for form in _forms(value)}
        if secrets["proxy"]:
            forms.add(base64.b64encode(proxy_pair.encode()))
        self._seen = tuple(sorted(forms, key=len)[::-1])

    def __repr__(self) -> str:
        held = (name for name, credential in self._by_listener.items() if not isinstance(credential, Nothing))
        return f"Credentials({', '.join(held)})"

    def set_on(self, listener: str, request: Outgoing) -> Fields:
        """The headers of one allowed request of this listener; its own where there is no credential."""
        return self._by_listener.get(listener, Nothing()).set_on(request)

    def drop(self, listener: str) -> None:
        """Forget it. What an upstream may still echo of it goes on being masked."""
        self._by_listener.pop(listener, None)

    def masked(self) -> tuple[bytes, ...]:
        """Every form of every secret that must not be seen by a client, longest first."""
        return self._seen


def _model(key: str, terms: Terms | None) -> Credential:
    if not key or terms is None:
        return Nothing()
    if terms.oauth:
        return OAuth(key.removeprefix("Bearer "))
    bearer = terms.header in BEARER_HEADERS
    return InHeader(terms.header, f"Bearer {key.removeprefix('Bearer ')}" if bearer else key)


def _basic(header: str, pair: str) -> Credential:
    return InHeader(header, f"Basic {base64.b64encode(pair.encode()).decode()}")


def _forms(secret: str) -> Iterable[bytes]:
    """The secret as we send it, and as an upstream may write it into JSON, a URL or its own log line."""
    for value in {secret, secret.removeprefix("Bearer ")}:
        if len(value) >= SECRET_BYTES:
            pair = f"x-access-token:{value}".encode()
            yield value.encode()
            yield base64.b64encode(pair)
            yield quote(value, safe="").encode()
            yield value.replace("\\", "\\\\").replace('"', '\\"').replace("/", "\\/").encode()
            yield value.replace("\\", "\\\\").replace('"', '\\"').encode()
