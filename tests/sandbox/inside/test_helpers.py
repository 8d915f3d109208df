"""The whole way of one task through the real commands: store, fetch over the socket, an agent, extract."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.inside.applied import applied, listing
from tests.sandbox.inside.bases import bundle
from tests.sandbox.inside.helpers import SIZE, Helpers

pytestmark = pytest.mark.engine

AGENT = "65532:65532"
FETCH = ["python3", "-I", "-m", "sandbox.inside.fetch"]
EXTRACT = ["python3", "-I", "-m", "sandbox.inside.extract", "1000000", "100", "1000000"]
# Stands for the egress: a git host behind the socket. It also writes down what it was asked.
HOST = """
import os, subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
os.makedirs("/tmp/r/octo")
subprocess.run(["git", "clone", "-q", "--bare", "/inputs/bundle", "/tmp/r/octo/plain.git"], check=True)

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        print(self.command, self.path, flush=True)
        out = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env={
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": "/tmp/r", "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or ""}).stdout
        head, _, rest = out.partition(b"\\r\\n\\r\\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\\r\\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)
    do_POST = do_GET
    def log_message(self, *args):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
subprocess.Popen(["socat", "UNIX-LISTEN:/sock/git.sock,mode=666,fork", "TCP:127.0.0.1:8000"])
while not os.path.exists("/sock/git.sock"):
    pass
print("ready", flush=True)
server.serve_forever()
"""
READY_SECONDS = 120


@pytest.fixture
def socket_volume(helpers: Helpers) -> Iterator[str]:
    """A volume with ``git.sock`` in it, served by a git host in a container of its own."""
    options = {"type": "tmpfs", "device": "tmpfs", "o": "size=1m,uid=65533,mode=0755"}
    name = helpers.volume(options=options)
    inputs = helpers.inputs({"bundle": bundle("plain")})
    host = helpers.create(
        ["python3", "-c", HOST], "65533:65533", {"/sock": name, "/inputs": f"{inputs}:ro"}, environment={"HOME": "/tmp"}
    )
    try:
        host.start()
        until = time.monotonic() + READY_SECONDS
        while b"ready" not in host.logs(stdout=True, stderr=True):
            assert time.monotonic() < until, host.logs().decode(errors="replace")
        yield name
    finally:
        host.remove(force=True, v=True)


def request(**more: object) -> dict[str, bytes]:
    plain = {"url": "http://127.0.0.1:9002/octo/plain.git", "ref": None, "commit": None, "seconds": 100}
    return {"fetch.json": json.dumps({**plain, "origin": "https://github.com/octo/plain", **more}).encode()}


def test_one_task_from_store_to_patch(helpers: Helpers, socket_volume: str, tmp_path: Path) -> None:
    made = helpers.store("make", "task", SIZE, "2000", SIZE, "2000", "0123456789abcdef")
    assert made.code == 0, made.line
    workspace, clean = helpers.volume(made.line["ws"]), helpers.volume(made.line["clean"])
    inputs = helpers.inputs(request())
    done = helpers.run(
        FETCH, AGENT, {"/ws": workspace, "/clean": clean, "/inputs": f"{inputs}:ro", "/sock": f"{socket_volume}:ro"}
    )
    assert done.code == 0, done.line
    assert (done.line["exit_code"], done.line["branch"], done.line["error"]) == (0, "main", "")
    script = "cd /ws/repo; git checkout -qb z; echo more >> README.md; git commit -qam work; mkdir no; chmod 0 no"
    agent = helpers.run(["bash", "-c", script], AGENT, {"/ws": workspace})
    assert agent.code == 0, agent.words
    extractor = {"/ws": f"{workspace}:ro", "/clean": f"{clean}:ro"}
    read = helpers.run(EXTRACT, "0:0", extractor, cap_add=["DAC_READ_SEARCH"])
    assert read.code == 0, read.line
    header, _, rest = read.out.partition(b"\n")
    patch, held = rest[: read.line["patch_length"]], rest[read.line["patch_length"] :]
    assert [entry["content_length"] for entry in read.line["files"]] == [len(held)]
    assert read.line["base_commit"] == done.line["base_commit"]
    assert [entry["path"] for entry in read.line["files"]] == ["README.md"]
    given = applied("plain", patch, tmp_path)
    assert given[b"README.md"] == listing(tmp_path / "clone")[b"README.md"]
    assert (tmp_path / "clone" / "README.md").read_bytes() == held
    assert held.endswith(b"more\n")
    assert header.isascii()
    swapped = {"/ws": f"{clean}:ro", "/clean": f"{workspace}:ro"}
    wrong = helpers.run(EXTRACT, "0:0", swapped, cap_add=["DAC_READ_SEARCH"])
    assert wrong.code == 1
    assert wrong.line.keys() == {"error"}
    assert helpers.run(EXTRACT, AGENT, extractor).code == 1  # without the capability: an error


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"ref": "nope"}, "no branch or tag of the name nope"),
        ({"commit": "1" * 40}, "does not serve the commit"),
        ({"url": "http://127.0.0.1:9002/octo/other.git"}, "knows no such repository"),
        ({"ref": "--upload-pack=x"}, "not a name"),
    ],
)
def test_a_fetch_that_fails_says_why_and_exits_1(
    helpers: Helpers, socket_volume: str, more: dict[str, object], error: str
) -> None:
    inputs = helpers.inputs(request(**more))
    script = "mkdir -p /tmp/ws/repo /tmp/clean/data; exec "
    mounts = {"/inputs": f"{inputs}:ro", "/sock": f"{socket_volume}:ro"}
    tmpfs = {"/tmp": "rw,size=64m", "/ws/repo": "rw,uid=65532", "/clean/data": "rw,uid=65532"}
    done = helpers.run(["bash", "-c", script + " ".join(FETCH)], AGENT, mounts, tmpfs=tmpfs)
    assert done.code == 1
    assert error in done.line["error"]
    assert done.line["exit_code"] != 0
    assert done.line["base_commit"] == ""
    assert done.line["stderr"]


def test_a_fetch_without_a_way_out_says_so(helpers: Helpers) -> None:
    inputs = helpers.inputs(request())
    done = helpers.run(FETCH, AGENT, {"/inputs": f"{inputs}:ro"})
    assert done.code == 1
    assert "way out" in done.line["error"]
