"""What ``gofer doctor`` runs as the agent, in the container, with the environment and behind the way out of a real one.

Standard library only, and nothing of ours is imported: the text of this file is the program. One argument, a JSON
object: ``cap`` (bytes that the workspace may have), ``ask`` (null or {path, body} for the model's API), ``place`` (null
or an https address without a path) and ``inside`` (whether to look at the container at all). Prints one JSON object.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

MODEL = "http://127.0.0.1:9001"
# A tool that hangs must not hang the doctor; npm takes seconds to begin.
TOOL_SECONDS = 60
ASK_SECONDS = 60
KEPT_CHARS = 3000
CLONE_NEWUSER = 0x10000000
NODE = "fetch('%s/gofer-doctor').then((a) => console.log('status', a.status), (e) => console.log(e, e.cause))"
URLLIB = """
import sys, urllib.error, urllib.request
try:
    print('status', urllib.request.urlopen(sys.argv[1] + '/gofer-doctor').status)
except urllib.error.HTTPError as error:
    print('status', error.code, error.reason)
"""
TOOLS = {
    "curl": ["curl", "-sS", "--max-time", "40", "-w", "status %{http_code}", "PLACE/gofer-doctor"],
    "git": ["git", "ls-remote", "PLACE/gofer-doctor.git"],
    "node": ["node", "-e", "NODE"],
    "npm": [
        "npm", "view", "gofer-doctor", "--registry", "PLACE/", "--fetch-retries=0", "--cache", ".",
        "--no-update-notifier",
    ],
    "python": ["python3", "-c", URLLIB, "PLACE"],
    "pip": [
        "pip", "download", "-vv", "--no-deps", "--no-cache-dir", "--disable-pip-version-check", "--retries", "0",
        "--index-url", "PLACE/gofer-doctor/", "gofer-doctor",
    ],
}  # fmt: skip


def look() -> dict[str, object]:
    """The container as the kernel shows it to the agent, and four things that must not be possible in it."""
    with open("/proc/self/status") as status:
        facts = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
    libc = ctypes.CDLL(None, use_errno=True)
    return {
        "interfaces": sorted(name for _, name in socket.if_nameindex()),
        "seccomp": facts.get("Seccomp", "").strip(),
        "no_new_privileges": facts.get("NoNewPrivs", "").strip(),
        "capabilities": facts.get("CapBnd", "").strip(),
        "uid": os.getuid(),
        "unshare": libc.unshare(CLONE_NEWUSER) == 0,
        "packets": tried(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()),
        "lookup": tried(lambda: socket.getaddrinfo("gofer-doctor.test", 443)),
        "root": tried(lambda: open("/usr/gofer-doctor", "w").close()),
    }


def tried(action: object) -> bool:
    try:
        action()  # type: ignore[operator]
    except OSError:
        return False
    return True


def fill(cap: int) -> dict[str, object]:
    """How much can be written to the workspace before it is full; twice the cap is no cap."""
    written, piece = 0, bytes(2**20)
    path = "/ws/repo/gofer-doctor"
    try:
        with open(path, "wb", buffering=0) as out:
            while written < 2 * cap:
                written += out.write(piece)
    except OSError as error:
        full = os.strerror(error.errno or 0)
    else:
        full = ""
    finally:
        os.unlink(path)
    return {"written": written, "full": full}


def ask(question: dict[str, object]) -> dict[str, object]:
    """One question to the model, through the way out that has its key."""
    data = json.dumps(question["body"]).encode()
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    request = urllib.request.Request(f"{MODEL}{question['path']}", data=data, headers=headers)  # noqa: S310
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=ASK_SECONDS) as answer:
            return {"status": answer.status, "words": ""}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "words": error.read(KEPT_CHARS).decode("utf-8", "replace")}
    except OSError as error:
        return {"status": 0, "words": type(error).__name__}


def tools(place: str) -> dict[str, object]:
    """Every tool at once, each asking ``place`` for something that is hardly there."""
    found: dict[str, object] = {}
    threads = [threading.Thread(target=use, args=(name, place, found)) for name in TOOLS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def use(name: str, place: str, found: dict[str, object]) -> None:
    command = [NODE % place if part == "NODE" else part.replace("PLACE", place) for part in TOOLS[name]]
    if shutil.which(command[0]) is None:
        found[name] = None
        return
    try:
        with tempfile.TemporaryDirectory() as folder:
            ran = subprocess.run(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=TOOL_SECONDS, check=False,
            )  # fmt: skip
        found[name] = ran.stdout.decode("utf-8", "replace")[-KEPT_CHARS:]
    except subprocess.TimeoutExpired:
        found[name] = f"it did not end within {TOOL_SECONDS} s"


def main() -> None:
    given = json.loads(sys.argv[1])
    report: dict[str, object] = {"gofer_doctor": 1}
    if given["inside"]:
        report["look"], report["fill"] = look(), fill(given["cap"])
    if given["ask"] is not None:
        report["ask"] = ask(given["ask"])
    if given["place"] is not None:
        report["tools"] = tools(given["place"])
    print(json.dumps(report))


if __name__ == "__main__":
    main()
