"""A request on its way in: what the policy gets to judge, and how it is built anew from what was judged."""

from __future__ import annotations

from mitmproxy import http

from sandbox.egress import headers
from sandbox.egress.credentials import Credentials, Outgoing
from sandbox.egress.door import listener_of
from sandbox.egress.policy import Request, Verdict
from sandbox.egress.reach import Upstream


def connect(flow: http.HTTPFlow) -> Request:
    """A CONNECT, which names a host and nothing else."""
    listener = listener_of(flow.client_conn.peername)
    return Request(
        listener, "CONNECT", "", host=flow.request.host, scheme="", absolute=True, port=flow.request.port,
        inside=flow.client_conn.tls,
    )  # fmt: skip


def judged(flow: http.HTTPFlow) -> Request:
    """What the policy judges: bytes as they came, one character a byte."""
    data, fields = flow.request.data, flow.request.headers
    length = fields.get("content-length", "")
    return Request(
        listener=listener_of(flow.client_conn.peername),
        method=data.method.decode("latin-1"),
        target=data.path.decode("latin-1"),
        host=flow.request.host,
        scheme=data.scheme.decode("latin-1"),
        absolute=data.authority != b"",
        version=data.http_version.decode("latin-1"),
        upgrade="upgrade" in fields or "http2-settings" in fields,
        has_body="transfer-encoding" in fields or length not in ("", "0"),
        length=int(length) if length.isdecimal() else None,
        content_type=fields.get("content-type", ""),
        content_encoding=fields.get("content-encoding", "") or _hidden(fields.get("transfer-encoding", "")),
        port=flow.request.port,
        inside=flow.client_conn.tls,
        sni=flow.client_conn.sni or "",
        named=tuple(fields.get_all("host")),
    )


def _hidden(transfer_encoding: str) -> str:
    """``gzip, chunked`` is an encoded body under another header's name."""
    return "" if transfer_encoding.lower() == "chunked" else transfer_encoding


def rewrite(
    flow: http.HTTPFlow,
    request: Request,
    verdict: Verdict,
    upstream: Upstream,
    credentials: Credentials,
    body: bytes | None = None,
) -> None:
    """Build the request anew from what was judged. ``body``: all of it, where it has been judged too."""
    fields = flow.request.headers.fields
    if body is not None:
        fields = headers.whole(fields, len(body))
        flow.request.trailers = None
    kept = headers.sent(request.listener, fields, upstream.authority)
    outgoing = Outgoing(request.method, upstream.authority, verdict.target, kept, body)
    flow.request.headers = http.Headers(credentials.set_on(request.listener, outgoing))
    data = flow.request.data
    data.method, data.path, data.authority = request.method.encode(), verdict.target.encode(), b""
    data.host, data.port = upstream.host, upstream.port
    data.scheme = b"https" if upstream.tls else b"http"
    data.http_version = b"HTTP/1.1"
