"""Whether a webhook's body was signed with our secret. Pure."""

from __future__ import annotations

import hmac
import re

from pydantic import SecretStr

MIN_SECRET_BYTES = 32
"""As long as the digest: a shorter secret would be the weakest part. An empty one would let everybody sign."""

# Lower case only, as GitHub sends it. Checked before comparing: `compare_digest` raises TypeError for non-ASCII text.
_FORM = re.compile(r"sha256=([0-9a-f]{64})", re.ASCII)


class Signer:
    """Holds the secret; ``repr`` does not show it. Raises ``ValueError`` for one that is too short."""

    __slots__ = ("_key",)

    def __init__(self, secret: SecretStr) -> None:
        self._key = secret.get_secret_value().encode()
        if len(self._key) < MIN_SECRET_BYTES:
            raise ValueError(f"the webhook secret has fewer than {MIN_SECRET_BYTES} bytes")

    def signed(self, body: bytes | bytearray, header: str | None) -> bool:
        """Whether ``header`` is the signature of exactly these bytes. In constant time once its form is right."""
        form = _FORM.fullmatch(header or "")
        return form is not None and hmac.compare_digest(bytes.fromhex(form[1]), self._digest(body))

    def sign(self, body: bytes) -> str:
        """The header for ``body``: what the demo and the tests send."""
        return f"sha256={self._digest(body).hex()}"

    def _digest(self, body: bytes | bytearray) -> bytes:
        return hmac.digest(self._key, body, "sha256")
