"""A response on its way back: which is not passed on, and what of the others is taken out."""

from __future__ import annotations

from collections.abc import Callable

from mitmproxy import http

from sandbox.egress import headers
from sandbox.egress.redirects import REDIRECTS
from sandbox.egress.scrub import Scrubber


def unwanted(response: http.Response, *, reading: bool = False) -> str:
    """Why this response is not passed on, in words; empty where it is. ``reading``: of an allowed destination, whose
    redirects are judged apart."""
    if response.status_code < 200:
        return "wanted to change the protocol, which is not possible from this sandbox"
    passed = REDIRECTS | {304} if reading else frozenset()
    if 300 <= response.status_code < 400 and response.status_code not in passed:
        return "answered with a redirect, which is not followed from this sandbox"
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    transfer = response.headers.get("transfer-encoding", "chunked").strip().lower()  # "gzip, chunked" is one too
    if encoding not in ("", "identity") or transfer != "chunked":
        return "encoded its answer although it was asked not to, so it cannot be checked for secrets"
    return ""


def clean(response: http.Response, listener: str, scrubber: Scrubber, location: str = "") -> None:
    """The head of a response as the client gets to see it. ``location``: where it may be sent on to."""
    response.headers = http.Headers(
        [(scrubber.whole(name), scrubber.whole(value)) for name, value in headers.answered(response.headers.fields)]
    )
    if location:
        response.headers["location"] = scrubber.whole(location.encode("ascii")).decode("ascii")
    response.data.reason = scrubber.whole(response.data.reason)
    if listener == "git" and response.status_code == 401:
        response.status_code = 403  # git would ask for a password that nobody is there to give


def stream(
    scrubber: Scrubber, seen: Callable[[bytes], bool], failed: Callable[[Exception], None]
) -> Callable[[bytes], list[bytes]]:
    """Every chunk goes on at once, without our secrets. mitmproxy ends with an empty one.

    ``seen`` looks at every chunk as it came, and says no to one that must not be passed on. Nothing is a list of
    nothing here: mitmproxy would write an empty chunk, and that ends a chunked body. An
    exception goes to ``failed``, and the chunk goes nowhere.
    """

    def pass_on(chunk: bytes) -> list[bytes]:
        try:
            if chunk and not seen(chunk):
                return []
            clean = scrubber.feed(chunk) if chunk else scrubber.finish()
            return [clean] if clean else []
        except Exception as error:
            failed(error)
            return []

    return pass_on
