"""Mask known secrets in a stream of bytes, wherever the chunks end: pure, standard library only."""

from __future__ import annotations

from collections.abc import Sequence

# Fewer bytes of a secret than this say nothing, and ordinary text may end in them.
PART_BYTES = 8


class Scrubber:
    """``feed`` chunk by chunk, ``finish`` once. The length never changes, so the framing stays true.

    Nothing waits that need not: only the end of a chunk that could be the beginning of a secret is held back until
    the next one tells.
    """

    __slots__ = ("_held", "_secrets", "hits")

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._secrets = tuple(sorted((secret for secret in secrets if secret), key=len, reverse=True))
        self._held = b""
        self.hits = 0

    def feed(self, chunk: bytes) -> bytes:
        data = self._mask(self._held + chunk)
        keep = self._open_end(data)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def finish(self) -> bytes:
        """The rest. A secret that the end cut off is masked as far as it came, unless that is next to nothing."""
        data, self._held = self._held, b""
        if len(data) < PART_BYTES:
            return data
        self.hits += 1
        return b"*" * len(data)

    def whole(self, data: bytes) -> bytes:
        """Mask a value that is complete in itself, such as a header's."""
        return self._mask(data)

    def _mask(self, data: bytes) -> bytes:
        for secret in self._secrets:
            if (count := data.count(secret)) > 0:
                self.hits += count
                data = data.replace(secret, b"*" * len(secret))
        return data

    def _open_end(self, data: bytes) -> int:
        """Length of the longest end of ``data`` that begins a secret."""
        longest = 0
        for secret in self._secrets:
            for size in range(min(len(secret) - 1, len(data)), longest, -1):
                if data.endswith(secret[:size]):
                    longest = size
                    break
        return longest
