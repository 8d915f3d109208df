"""Packages made on the spot, as a registry or a repository would have them."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import zipfile


def wheel(name: str, version: str, body: str) -> tuple[str, bytes]:
    """File name and bytes of a wheel with one module and one program of its name."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"{body}\ndef main():\n    print('{name} ran')\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tool = {name}:main\n",
    }
    record = "".join(f"{path},{_hash(text)},{len(text.encode())}\n" for path, text in files.items())
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return f"{name}-{version}-py3-none-any.whl", target.getvalue()


def _hash(text: str) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def npm_package(name: str, version: str, body: str) -> bytes:
    """The tarball of a package with one module and one program of its name."""
    files = {
        "package/package.json": json.dumps(
            {"name": name, "version": version, "main": "index.js", "bin": {f"{name}-tool": "tool.js"}}
        ),
        "package/index.js": body,
        "package/tool.js": f"#!/usr/bin/env node\nconsole.log('{name} ran')\n",
    }
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(text.encode()), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return target.getvalue()


def integrity(data: bytes) -> str:
    """As lock files of npm have it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
