"""An operator's own HTTP proxy, as the egress meets one: CONNECT with a password, names resolved by the proxy."""

from __future__ import annotations

import base64
import contextlib
import socket
import socketserver
import ssl
import threading
from typing import Any

# A tunnel of a test lasts milliseconds.
IDLE_SECONDS = 10


class ConnectProxy:
    """``names`` is its name service: host name -> (address, port). ``heads`` and ``raw`` are all that came to it."""

    def __init__(
        self, address: str, names: dict[str, tuple[str, int]], *, pair: str = "", tls: ssl.SSLContext | None = None
    ) -> None:
        self.names, self.pair = names, pair
        self.heads: list[list[str]] = []
        self.raw = bytearray()
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    if tls is not None:
                        self.request = tls.wrap_socket(self.request, server_side=True)
                    proxy.serve(self.request)
                self.request.close()

            def finish(self) -> None:
                with contextlib.suppress(OSError):
                    super().finish()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server((address, 0), Handler)
        self.host, self.port = address, self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def serve(self, client: Any) -> None:
        client.settimeout(IDLE_SECONDS)
        head = bytearray()
        while not head.endswith(b"\r\n\r\n"):
            byte = client.recv(1)
            if not byte:
                return
            head += byte
        self.raw += head
        lines = head.decode("latin-1").split("\r\n")[:-2]
        self.heads.append(lines)
        wanted = f"proxy-authorization: Basic {base64.b64encode(self.pair.encode()).decode()}"
        target = lines[0].split(" ")[1].rpartition(":")[0]
        if self.pair and wanted not in lines:
            client.sendall(b"HTTP/1.1 407 No %s\r\ncontent-length: 0\r\n\r\n" % "".join(lines[1:]).encode("latin-1"))
        elif not lines[0].startswith("CONNECT ") or target not in self.names:
            client.sendall(b"HTTP/1.1 502 Unknown\r\ncontent-length: 0\r\n\r\n")
        else:
            with socket.create_connection(self.names[target], IDLE_SECONDS) as upstream:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                self._join(client, upstream)

    def _join(self, client: Any, upstream: socket.socket) -> None:
        def back() -> None:
            with contextlib.suppress(OSError):
                while data := upstream.recv(65536):
                    client.sendall(data)
                client.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=back, daemon=True)
        thread.start()
        while data := client.recv(65536):
            self.raw += data
            upstream.sendall(data)
        upstream.shutdown(socket.SHUT_WR)
        thread.join(IDLE_SECONDS)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
