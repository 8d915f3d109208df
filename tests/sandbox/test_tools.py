"""What is in the agent's image trusts the way out, and shows the words of a refusal: each tool against a registry that
the operator allows, and against a host that nobody does. In the real container, by the environment that every agent
gets; through the real service, so that what was blocked is seen in the outcome as its caller sees it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import secrets
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import docker
import pytest

from sandbox import Blocked, Destination, Job, Limits, Outcome, Phase, Secrets, Settings
from sandbox.agents import Agent
from tests.engine import Images
from tests.local_sandbox import bridge_address, bundle, local_sandbox, settings_for
from tests.sandbox.egress.rig import Arrived, Authority, StandIn
from tests.scripted import ASK, SAY_DONE, Scripted

pytestmark = pytest.mark.engine

NAME = "host.docker.internal"
LIMITS = Limits(memory_bytes=2**30, workspace_bytes=64 * 2**20, workspace_inodes=5_000, wall_seconds=120)
WORDS = "refused.test is not reachable from this sandbox"
PIP = "pip --disable-pip-version-check --no-cache-dir --retries 0 --timeout 20"
NPM = "npm --no-audit --no-fund --no-update-notifier --fetch-retries=0 --cache /tmp/npm"
REQUESTS = "from pip._vendor import requests; print(requests.get('{url}').text)"
URLLIB = """
import urllib.error, urllib.request
try:
    print(urllib.request.urlopen('{url}').read().decode())
except urllib.error.HTTPError as error:
    print(error, error.read().decode())
"""
NODE = "fetch('{url}').then(async (answer) => console.log(answer.status, await answer.text()))"
HTTPS = "require('https').get('{url}', (a) => a.on('data', (d) => console.log(a.statusCode, String(d))))"

TOOLS: dict[str, Callable[[str], str]] = {
    "curl": lambda base: f"curl -sS {base}/hello",
    "git": lambda base: f"cd $(mktemp -d) && git clone -q {base}/hello.git && cat hello/hello",
    "node": lambda base: f'node -e "{NODE.format(url=base + "/hello")}"',
    "node https": lambda base: f'node -e "{HTTPS.format(url=base + "/hello")}"',
    "python urllib": lambda base: f'python3 -c "{URLLIB.format(url=base + "/hello")}"',
    "python requests": lambda base: f'python3 -c "{REQUESTS.format(url=base + "/hello")}"',
    # Of an index pip tells the reason only with -vv; of a file always.
    "pip": lambda base: f"cd $(mktemp -d) && {{ {PIP} download -q --index-url {base}/simple/ hello || "
    f"{PIP} download -q {base}/files/hello-1.0-py3-none-any.whl; }} && python3 -m zipfile -e *.whl . && cat hello.py",
    "pip -vv": lambda base: f"cd $(mktemp -d) && {PIP} download -vv --index-url {base}/simple/ hello && "
    "echo hello from pip",
    "npm": lambda base: f"cd $(mktemp -d) && {NPM} install -q --registry {base}/ @test/hello && "
    "cat node_modules/@test/hello/index.js",
}  # fmt: skip


def script(base: str) -> str:
    """Every tool, once at the allowed registry and once at a host that nobody allows; all that they say, as JSON."""
    lines = ["cat >/dev/null; mkdir /tmp/said"]
    for number, command in enumerate(TOOLS.values()):
        for kind, where in (("good", base), ("bad", "https://refused.test")):
            lines.append(f"( {command(where)} ) >/tmp/said/{number}.{kind} 2>&1 </dev/null &")
    lines.append(
        "for job in $(jobs -p); do wait $job; done; cd /tmp/said && tar cf - . | base64 -w0 > /ws/repo/said; "
        + ASK
        + "; "
        + SAY_DONE
    )
    return "\n".join(lines)


def wheel() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("hello.py", "hello from pip\n")
        archive.writestr("hello-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n")
        archive.writestr("hello-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("hello-1.0.dist-info/RECORD", "")
    return out.getvalue()


def package() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in (
            ("package.json", b'{"name":"@test/hello","version":"1.0.0"}'),
            ("index.js", b"hello from npm\n"),
        ):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def repository(folder: Path) -> Mapping[str, bytes]:
    """As a server without git serves it: by reading files alone."""
    work, bare = folder / "work", folder / "hello.git"
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    work.mkdir()
    (work / "hello").write_text("hello from git\n")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "Start"]):
        subprocess.run(["git", "-C", str(work), *arguments], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(bare)], check=True)
    subprocess.run(["git", "-C", str(bare), "update-server-info"], check=True)
    return {f"/hello.git/{path.relative_to(bare)}": path.read_bytes() for path in bare.rglob("*") if path.is_file()}


def registry(folder: Path, base: Callable[[], str]) -> Callable[[Arrived, Callable[[bytes], None]], None]:
    """PyPI's simple index, npm's documents, a git repository and a page; 404 for the rest."""
    whl, tgz, git = wheel(), package(), repository(folder)
    digest = base64.b64encode(hashlib.sha512(tgz).digest()).decode()

    def document() -> bytes:
        dist = {"tarball": f"{base()}/@test/hello/-/hello-1.0.0.tgz", "integrity": f"sha512-{digest}"}
        version = {"name": "@test/hello", "version": "1.0.0", "dist": dist}
        return json.dumps(
            {"name": "@test/hello", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        ).encode()

    def answer(request: Arrived, send: Callable[[bytes], None]) -> None:
        path = request.line.split(" ")[1].partition("?")[0]
        pages: dict[str, tuple[str, bytes]] = {
            "/hello": ("text/plain", b"hello from the registry\n"),
            "/simple/hello/": (
                "text/html",
                b'<a href="../../files/hello-1.0-py3-none-any.whl">hello-1.0-py3-none-any.whl</a>',
            ),
            "/files/hello-1.0-py3-none-any.whl": ("application/octet-stream", whl),
            "/@test%2fhello": ("application/json", document()),
            "/@test/hello/-/hello-1.0.0.tgz": ("application/octet-stream", tgz),
            **{name: ("application/octet-stream", data) for name, data in git.items()},
        }
        kind, body = pages.get(path, ("text/plain", b""))
        status = "200 OK" if path in pages else "404 Not Found"
        send(f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)

    return answer


@pytest.fixture(scope="module")
def told(
    docker_client: docker.DockerClient,
    images: Images,
    engine_host: str,
    instance: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Outcome, Mapping[str, str], StandIn]]:
    """One task in which every tool was tried; its outcome, what each said, and what the registry saw."""
    folder, authority = tmp_path_factory.mktemp("tools"), Authority()
    upstream = StandIn(bridge_address(docker_client), tls=authority.server(NAME, folder))
    base = f"https://{NAME}:{upstream.port}"
    upstream.answering = registry(folder, lambda: base)
    settings = settings_for(engine_host, images.prefix, instance, folder / "state").model_copy(
        update={
            "allowed": (Destination(host=NAME, port=upstream.port, grammar="npm", private=True, ca_pem=authority.pem),)
        }
    )
    agents: dict[str, Agent] = {"claude": Scripted(script(base))}
    try:
        outcome, said = asyncio.run(tried(docker_client, settings, agents, folder))
        yield outcome, said, upstream
    finally:
        upstream.close()


async def tried(
    client: docker.DockerClient, settings: Settings, agents: Mapping[str, Agent], folder: Path
) -> tuple[Outcome, dict[str, str]]:
    async with local_sandbox(client, settings, agents=agents) as local:
        job = Job(name=f"tools-{secrets.token_hex(3)}", prompt="x", source=bundle(folder, {"a": b"a\n"}), limits=LIMITS)
        handle = await local.sandbox.prepare(job, Secrets())
        try:
            await local.sandbox.start(handle)
            while (await local.sandbox.wait(handle, 10)).phase is Phase.RUNNING:
                pass
            outcome = await local.sandbox.outcome(handle)
        finally:
            await local.sandbox.remove(handle)
    return outcome, unpacked(outcome)


def unpacked(outcome: Outcome) -> dict[str, str]:
    """The file that the script left, out of the patch."""
    added = [
        line[1:]
        for line in ((outcome.changes.patch if outcome.changes else None) or b"").decode().splitlines()
        if line.startswith("+") and len(line) > 200
    ]
    assert added, outcome
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(added[0]))) as archive:
        return {
            member.name.removeprefix("./"): (archive.extractfile(member) or io.BytesIO())
            .read()
            .decode("utf-8", "replace")
            for member in archive
            if member.isfile()
        }


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_reads_from_an_allowed_host(told: tuple[Outcome, Mapping[str, str], StandIn], tool: str) -> None:
    said = told[1][f"{list(TOOLS).index(tool)}.good"]
    assert "hello from" in said, said


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_shows_why_another_is_refused(told: tuple[Outcome, Mapping[str, str], StandIn], tool: str) -> None:
    said = told[1][f"{list(TOOLS).index(tool)}.bad"]
    assert WORDS in said, said


def test_what_was_blocked_is_told_by_host_and_count(told: tuple[Outcome, Mapping[str, str], StandIn]) -> None:
    found = [entry for entry in told[0].blocked if entry.host == "refused.test"]
    assert len(found) == 1
    assert found[0].count >= len(TOOLS)
    assert isinstance(found[0], Blocked)
    assert NAME not in {entry.host for entry in told[0].blocked}
