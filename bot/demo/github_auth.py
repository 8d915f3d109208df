"""Who calls the local GitHub: nobody, the App (JWT), or an installation (token). Checked as GitHub checks it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from bot.demo.github_state import App, State, Token

# GitHub: "the expiration time can be no more than 10 minutes into the future".
LONGEST_JWT_SECONDS = 600


class Refusal(Exception):
    """An answer that is an error: status, GitHub's words, and a JSON body of more fields where GitHub gives them."""

    def __init__(self, status: int, message: str, **fields: Any) -> None:
        super().__init__(f"{status} {message}")
        self.status = status
        self.body: dict[str, Any] = {
            "message": message,
            "documentation_url": "https://docs.github.com/rest",
        } | fields
        if status != 422:  # the description of a validation error has no such field
            self.body["status"] = str(status)


@dataclass(frozen=True)
class Caller:
    """Who calls. ``kind`` is what the log shows instead of the secret."""

    kind: str
    token: Token | None = None


NOBODY = Caller("none")


def new_key() -> tuple[rsa.RSAPublicKey, SecretStr]:
    """A key pair for the App: GitHub keeps the public half; the private one is PKCS#1 PEM, as GitHub hands it out."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return key.public_key(), SecretStr(pem.decode())


def caller(authorization: str, *, state: State, app: App, public_key: rsa.RSAPublicKey, now: datetime) -> Caller:
    """Read the Authorization header of an API call. Raises ``Refusal`` for what is neither absent nor good."""
    if not authorization:
        return NOBODY
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() not in {"bearer", "token"}:
        raise Refusal(401, "Bad credentials")
    if secret.count(".") == 2:
        check_jwt(secret, app, public_key, now)
        return Caller("app")
    return Caller("installation", token_of(secret, state, now))


def check_jwt(secret: str, app: App, public_key: rsa.RSAPublicKey, now: datetime) -> None:
    """GitHub's rules for an App's JWT, by GitHub's clock."""
    unchecked = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
    try:
        claims = jwt.decode(secret, public_key, algorithms=["RS256"], options=unchecked)  # type: ignore[arg-type]
    except jwt.PyJWTError:
        raise Refusal(401, "A JSON web token could not be decoded") from None
    issued, expires, issuer = claims.get("iat"), claims.get("exp"), claims.get("iss")
    seconds = now.timestamp()
    if not isinstance(issued, int) or issued > seconds:
        words = "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
        raise Refusal(401, words)
    if not isinstance(expires, int) or expires <= seconds:
        words = "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the "
        raise Refusal(401, words + "assertion expires")
    if expires > seconds + LONGEST_JWT_SECONDS:
        raise Refusal(401, "'Expiration time' claim ('exp') is too far in the future")
    if str(issuer) not in {str(app.id), app.client_id}:
        raise Refusal(404, "Integration not found")


def token_of(secret: str, state: State, now: datetime) -> Token:
    """The living token of this value."""
    token = state.tokens.get(secret)
    if token is None or token.revoked or token.expires_at <= now:
        raise Refusal(401, "Bad credentials")
    token.uses += 1
    return token


def git_caller(authorization: str, state: State, now: datetime) -> Caller:
    """Read the Authorization header of a git request: HTTP Basic with the token as the password, nothing else."""
    if not authorization:
        return NOBODY
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        raise Refusal(401, "Bad credentials")
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise Refusal(401, "Bad credentials") from None
    if user != "x-access-token":
        raise Refusal(401, "Bad credentials")
    return Caller("installation", token_of(password, state, now))


def grants(token: Token, permission: str, level: str) -> bool:
    """Whether the token has at least this level. Metadata can always be read."""
    if (permission, level) == ("metadata", "read"):
        return True
    order = ("", "read", "write", "admin")
    return order.index(token.permissions.get(permission, "")) >= order.index(level)
