"""Many cases through the real scripts in a few containers: fetch from a bundle, an agent's shell script, extract.

Each stage runs once for all cases, each case in folders of its own, with the users, capabilities and mounts of the
real helper containers. What the agent left is listed by plain Python in the last stage, never touched by git of ours.
"""

from __future__ import annotations

import base64
import io
import json
import secrets
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import docker

from tests.sandbox.inside.bases import NAMES, bundle

# Seconds on an idle machine; one that is busy with other things has been seen to take a minute.
STAGE_SECONDS = 300
AGENT = "65532:65532"

PREPARE = """
import json, os
for case in json.load(open("/inputs/cases.json")):
    for root, inner in (("/ws", "repo"), ("/clean", "data")):
        place = f"{root}/{case['name']}"
        os.makedirs(f"{place}/{inner}")
        os.chown(f"{place}/{inner}", 65532, 65532)
        open(f"{place}/id", "w").write("0123456789abcdef" + case["name"])
"""
FETCH = """
import json
from pathlib import Path
from sandbox.inside import fetch
from sandbox.inside.bounds import Deadline
for case in json.load(open("/inputs/cases.json")):
    wanted = fetch.Wanted("", None, None, "https://github.com/o/r", 120, Path(f"/inputs/{case['base']}.bundle"))
    done = fetch.fetch(wanted, Path("/ws", case["name"]), Path("/clean", case["name"]), Deadline.after(120))
    print(json.dumps({"name": case["name"], "base": done.base_commit, "branch": done.branch}))
"""
AGENTS = """
import json, os, subprocess
for case in json.load(open("/inputs/cases.json")):
    env = {"HOME": "/tmp", "PATH": os.environ["PATH"], "CASE": case["name"], "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-eu", "-c", case["script"]], cwd=f"/ws/{case['name']}/repo", env=env,
        capture_output=True, timeout=60)
    print(json.dumps({"name": case["name"], "code": done.returncode, "words": done.stderr.decode(errors="replace")}))
"""
EXTRACT = """
import base64, hashlib, json, os, stat, tempfile, time
from pathlib import Path
from sandbox.inside import extract, fetch
from sandbox.inside.bounds import Deadline

def listing(root):
    entries, stack = [], [b""]
    while stack:
        folder = stack.pop()
        for entry in os.scandir(os.path.join(root, folder)):
            path = os.path.join(folder, entry.name)
            look = entry.stat(follow_symlinks=False)
            if entry.name == b".git":
                continue
            if stat.S_ISDIR(look.st_mode):
                stack.append(path)
            elif stat.S_ISLNK(look.st_mode):
                entries.append([path, "120000", hashlib.sha256(os.readlink(entry.path)).hexdigest()])
            elif stat.S_ISREG(look.st_mode) and look.st_size < 10_000_000:
                mode = "100755" if look.st_mode & 0o100 else "100644"
                entries.append([path, mode, hashlib.sha256(Path(os.fsdecode(entry.path)).read_bytes()).hexdigest()])
            else:
                entries.append([path, "special", ""])
    return [[base64.b64encode(path).decode(), mode, digest] for path, mode, digest in entries]

# A fresh fetch with the earlier result, nobody works, and what is extracted then.
def again(case, patch, limits):
    with tempfile.TemporaryDirectory() as place:
        workspace, clean, folder = (Path(place, name) for name in ("ws", "clean", "x"))
        for made in (workspace / "repo", clean / "data", folder):
            made.mkdir(parents=True)
        for side in (workspace, clean):
            (side / "id").write_text("0123456789abcdef")
        Path(place, "patch").write_bytes(patch)
        bundle = Path(f"/inputs/{case['base']}.bundle")
        fetch.fetch(fetch.Wanted("", None, None, "", 120, bundle, patch=Path(place, "patch")), workspace, clean,
            Deadline.after(120))
        done = extract.extract(workspace, clean, folder, limits, Deadline.after(60))
    return answer_of(done)

def answer_of(done):
    contents = [None if piece is None else base64.b64encode(piece).decode() for piece in done.contents]
    patch = None if done.patch is None else base64.b64encode(done.patch).decode()
    return {"header": done.header, "patch": patch, "contents": contents}

for case in json.load(open("/inputs/cases.json")):
    start = time.monotonic()
    limits = extract.Limits(case["patch_bytes"], case["patch_files"], case["content_bytes"])
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = extract.extract(
                Path("/ws", case["name"]), Path("/clean", case["name"]), Path(folder), limits, Deadline.after(60)
            )
        answer = answer_of(done)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    seconds = time.monotonic() - start
    if case["go_on"]:
        try:
            answer["again"] = again(case, done.patch, limits)
        except Exception as error:
            answer["again"] = {"error": f"{type(error).__name__}: {error}"}
    tree = listing(os.fsencode(f"/ws/{case['name']}/repo"))
    print(json.dumps({"name": case["name"], "seconds": seconds, "tree": tree, "left": os.listdir("/tmp"), **answer}))
"""
# What must never be done, in a container that may come to harm.
PLAIN_GIT = """
import json, os, subprocess
for name in NAMES:
    for args in (["status"], ["diff"]):
        subprocess.run(["git", "-c", "safe.directory=*", *args], cwd=f"/ws/{name}/repo",
            env={"PATH": os.environ["PATH"], "HOME": "/tmp"}, capture_output=True, timeout=30)
    left = os.listdir("/tmp")
    for mark in left:
        os.unlink(f"/tmp/{mark}")
    print(json.dumps({"name": name, "ran": bool(left)}))
"""


@dataclass(frozen=True)
class Case:
    """One agent, played by a bash script (``set -eu``) in its checkout of ``base``."""

    name: str
    script: str
    base: str = "plain"
    patch_bytes: int = 1 << 20
    patch_files: int = 500
    content_bytes: int = 1 << 20
    go_on: bool = False
    """Its result is also gone on from."""


@dataclass(frozen=True)
class Result:
    """What came out. ``tree`` is the agent's work tree by path: mode and sha256 of the raw bytes."""

    base: str
    branch: str
    header: dict[str, Any]
    patch: bytes | None
    contents: list[bytes | None]
    """Of the header's files, in their order."""
    again: dict[str, Any]
    """The same of a task that went on from this result and did nothing; empty where none did."""
    error: str
    tree: dict[bytes, tuple[str, str]]
    left: list[str]
    """What lay in the extractor's /tmp afterwards: a planted command leaves its mark there."""
    seconds: float

    @property
    def refusal(self) -> str:
        return str(self.header.get("refusal", ""))

    @property
    def notes(self) -> str:
        return "\n".join(self.header["notes"])

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        return {entry["path"]: entry for entry in self.header["files"]}


@dataclass
class Lab:
    """Volumes and containers of one batch; ``close`` removes them all."""

    client: docker.DockerClient
    image: str
    instance: str
    volumes: dict[str, str] = field(default_factory=dict)

    def run(self, cases: Sequence[Case]) -> dict[str, Result]:
        """All cases through all stages, in order."""
        for role in ("ws", "clean", "inputs"):
            name = f"gofer-{self.instance}-lab{secrets.token_hex(3)}-{role}"
            self.client.volumes.create(name, labels={"gofer.instance": self.instance})
            self.volumes[role] = name
        plain = [vars(case) for case in cases]
        inputs = {"cases.json": json.dumps(plain).encode()} | {f"{name}.bundle": bundle(name) for name in NAMES}
        self._stage(PREPARE, "0:0", {"ws": "rw", "clean": "rw", "inputs": "rw"}, inputs=inputs)
        fetched = self._stage(FETCH, AGENT, {"ws": "rw", "clean": "rw", "inputs": "ro"})
        played = self._stage(AGENTS, AGENT, {"ws": "rw", "inputs": "ro"})
        broken = {name: line["words"] for name, line in played.items() if line["code"]}
        assert not broken, broken
        found = self._stage(EXTRACT, "0:0", {"ws": "ro", "clean": "ro", "inputs": "ro"}, extractor=True)
        return {name: _result(fetched[name], line) for name, line in found.items()}

    def plain_git(self, names: Iterable[str]) -> set[str]:
        """After ``run``: those in which ``git status`` and ``git diff`` of the agent's repository ran something."""
        found = self._stage(
            f"NAMES = {sorted(names)!r}\n{PLAIN_GIT}", "0:0", {"ws": "ro", "inputs": "ro"}, extractor=True
        )
        return {name for name, line in found.items() if line["ran"]}

    def _stage(
        self,
        script: str,
        user: str,
        mounts: dict[str, str],
        *,
        inputs: dict[str, bytes] | None = None,
        extractor: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """One container: its lines of standard output by name."""
        caps: dict[str, Any] = {} if user == "0:0" and not extractor else {"cap_drop": ["ALL"]}
        if extractor:
            caps["cap_add"] = ["DAC_READ_SEARCH"]
        container = self.client.containers.create(
            self.image,
            ["python3", "-I", "-c", script],
            user=user,
            network_mode="none",
            read_only=not inputs,
            security_opt=["no-new-privileges:true"],
            tmpfs={"/tmp": "rw,nosuid,nodev,size=320m,mode=1777"},
            volumes={self.volumes[role]: {"bind": f"/{role}", "mode": mode} for role, mode in mounts.items()},
            labels={"gofer.instance": self.instance},
            **caps,
        )
        try:
            if inputs:
                container.put_archive("/inputs", tar(inputs))
            container.start()
            code = container.wait(timeout=STAGE_SECONDS)["StatusCode"]
            out = container.logs(stdout=True, stderr=False)
            assert code == 0, container.logs(stdout=False, stderr=True).decode(errors="replace")[-4000:]
        finally:
            container.remove(force=True, v=True)
        return {line["name"]: line for line in map(json.loads, out.splitlines())}

    def close(self) -> None:
        for name in self.volumes.values():
            self.client.volumes.get(name).remove(force=True)


def tar(files: dict[str, bytes]) -> bytes:
    """An archive of plain files that anybody may read."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o444
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _result(fetched: dict[str, Any], line: dict[str, Any]) -> Result:
    encoded = line.get("patch")
    return Result(
        base=fetched["base"],
        branch=fetched["branch"],
        header=line.get("header", {}),
        patch=None if encoded is None else base64.b64decode(encoded),
        contents=[None if piece is None else base64.b64decode(piece) for piece in line.get("contents", [])],
        again=line.get("again", {}),
        error=line.get("error", ""),
        tree={base64.b64decode(path): (mode, digest) for path, mode, digest in line["tree"]},
        left=line["left"],
        seconds=line["seconds"],
    )
