"""Where an allowed destination sends a client: on to an allowed one, or nowhere. Pure.

Package indexes redirect (to the canonical name of a package, to where their files are), so a redirect is passed on if
the client, following it, would be let through; otherwise it is words.
"""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

from sandbox.egress import paths, shown
from sandbox.egress.places import General
from sandbox.egress.reach import Upstream

# 304 is about a cache and names no place; 300 and 305 are for nobody.
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_LOCATION_CHARS = 2048


class Elsewhere(Exception):
    """A redirect that is not passed on; ``str()`` says so, ``host`` is where it would have led."""

    def __init__(self, words: str, host: str) -> None:
        super().__init__(words)
        self.host = host


def target(general: General, origin: Upstream, asked: str, location: str) -> str:
    """The absolute address to pass on in ``Location``, for a request of the path ``asked``. Raises ``Elsewhere``."""
    if len(location) > MAX_LOCATION_CHARS or not location.isascii() or not location.isprintable() or "\\" in location:
        raise Elsewhere(f"{origin.host} redirects to something that is no address", origin.host)
    try:
        url = urlsplit(urljoin(f"https://{origin.authority}{asked}", location))
        host, port = (url.hostname or "").lower(), url.port or 443
    except ValueError:
        raise Elsewhere(f"{origin.host} redirects to something that is no address", origin.host) from None
    place = general.place(host, port)
    if url.scheme != "https" or place is None or "@" in url.netloc:
        words = f"{origin.host} redirects to {shown.host(host)}, which is not reachable from this sandbox"
        raise Elsewhere(words, shown.host(host))
    path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    if paths.refusal(path, place.grammar):
        raise Elsewhere(
            f"{origin.host} redirects to {shown.host(host)} by a path that is not passed on", shown.host(host)
        )
    authority = f"[{host}]" if ":" in host else host
    return f"https://{authority if port == 443 else f'{authority}:{port}'}{path}"
