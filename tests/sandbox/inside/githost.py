"""A small git host for tests: ``git http-backend`` behind a real HTTP server on loopback, with faults on request."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.sandbox.inside.bases import ENVIRONMENT

BACKEND_SECONDS = 30


@dataclass
class GitHost:
    """Serves the bare repositories below ``root`` at ``url``/NAME.git."""

    root: Path
    url: str = ""
    status: int = 0
    """Answer every request with this instead."""
    hang: threading.Event = field(default_factory=threading.Event)
    """While it is unset after ``hanging`` was called, requests wait."""
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hang.set()

    def __repr__(self) -> str:
        return f"GitHost({self.url})"


@contextlib.contextmanager
def serving(root: Path) -> Iterator[GitHost]:
    """The host, up for the length of the block."""
    host = GitHost(root)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            _answer(self, host)

        def do_POST(self) -> None:
            _answer(self, host)

        def log_message(self, format: str, *args: object) -> None:
            host.requests.append(f"{self.command} {self.path}")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    host.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield host
    finally:
        host.hang.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(handler: BaseHTTPRequestHandler, host: GitHost) -> None:
    body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    host.hang.wait()
    if host.status:
        handler.send_response(host.status)
        if host.status == 401:
            handler.send_header("WWW-Authenticate", 'Basic realm="x"')
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return
    path, _, query = handler.path.partition("?")
    done = subprocess.run(
        ["git", "http-backend"],
        input=body,
        env={
            **ENVIRONMENT,
            "GIT_PROJECT_ROOT": str(host.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": handler.headers.get("Git-Protocol") or "",
            "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding") or "",
            "REQUEST_METHOD": handler.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": handler.headers.get("Content-Type") or "",
        },
        capture_output=True,
        timeout=BACKEND_SECONDS,
        check=False,
    )
    head, _, rest = done.stdout.partition(b"\r\n\r\n")
    headers = [line.split(": ", 1) for line in head.decode().split("\r\n")]
    status = next((int(value.split()[0]) for key, value in headers if key == "Status"), 200)
    handler.send_response(status)
    for key, value in headers:
        if key != "Status":
            handler.send_header(key, value)
    handler.send_header("Content-Length", str(len(rest)))
    handler.end_headers()
    handler.wfile.write(rest)
