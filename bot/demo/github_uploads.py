"""Uploads on the local GitHub's own pages. A private repository's need the signature that rendered HTML gives."""

from __future__ import annotations

import html
import re
import uuid
from dataclasses import dataclass

from aiohttp import web

PATH = "/user-attachments/assets/"
SIGNATURE = "jwt=local"


@dataclass(frozen=True)
class Upload:
    data: bytes
    private: bool = False


class Uploads:
    """By their paths. ``asked`` has each request's path and whether it held a credential."""

    def __init__(self) -> None:
        self._kept: dict[str, Upload] = {}
        self.asked: list[tuple[str, bool]] = []

    def keep(self, data: bytes, *, private: bool = False) -> str:
        """The path under which it is served from now on."""
        path = f"{PATH}{uuid.uuid4()}"
        self._kept[path] = Upload(data, private)
        return path

    def serve(self, request: web.Request) -> web.Response:
        """As GitHub: without a signature a private one is not there."""
        self.asked.append((request.path, "Authorization" in request.headers))
        found = self._kept.get(request.path)
        if found is None or (found.private and SIGNATURE not in request.query_string):
            return web.Response(status=404, text="<html>Not Found</html>", content_type="text/html")
        return web.Response(body=found.data, content_type="application/octet-stream")


_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")


def rendered(body: str) -> str:
    """As much of rendering as anybody looks at: images, with a signature."""
    return _IMAGE.sub(r'<img src="\2?' + SIGNATURE + r'" alt="\1">', html.escape(body, quote=False))
