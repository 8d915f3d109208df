"""Private repositories over real git, real TLS and a real token: the one repository, and nothing else by any spelling.

The token is the egress's alone. It is looked for afterwards in everything that a task leaves behind.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest
from docker.types import Mount
from pydantic import SecretStr

from bot.demo.github import Repository
from bot.demo.github_state import Token
from sandbox import GitHost, Handle, Job, Limits, Outcome, Phase, PrepareFailed, Reason, Secrets, Source
from sandbox.service import Service, open_local
from tests.attacks.githost_tls import PrivateHost, private_host
from tests.engine import Images
from tests.local_sandbox import bridge_address, local_sandbox, settings_for
from tests.sandbox.egress.policies import GENERAL, MODEL
from tests.sandbox.egress.rig import Egress, Exchange, World, get, world
from tests.scripted import ASK, SAY_DONE, agents

pytestmark = pytest.mark.engine

BOUND = 120.0
SMALL = Limits(wall_seconds=60, memory_bytes=256 * 2**20, workspace_bytes=64 * 2**20, workspace_inodes=4_000)
FILES = {"README.md": b"private\n", "src/a.py": b"a = 1\n"}
# What an agent may see of the history, and that it can write to none of it.
LOOK = (
    f"cat >/dev/null; {ASK} || exit 9; git log --format=%s >log.txt; git blame -s README.md >blame.txt;"
    " git show --stat HEAD~1 >show.txt; (touch /mirror/x; echo x >/mirror/data/skip; git -C /mirror/data/git gc;"
    " cat /mirror/lock/. || flock -n /mirror/lock true && echo locked) >tried.txt 2>&1; ls /mirror/data >mirror.txt;"
    f" env >env.txt; {SAY_DONE}"
)
# Ways to say another repository, or to get round the one that is allowed. All are sent as they are, and through git.
SPELLINGS = [
    "/octo/other.git", "/octo/other", "/OCTO/OTHER.git", "//octo/other.git", "/octo//other.git", "/./octo/other.git",
    "/octo/private.git/../other.git", "/octo/private/../../octo/other.git", "/octo/private.git/%2e%2e/other.git",
    "/octo/private.git/..%2fother.git", "/octo/private.git%2f..%2fother.git", "/octo/private.git;/../other.git",
    "/octo/private.git/..;/other.git", "/octo/private.git%00/../other.git", "/octo/private.git?/../other.git",
    "/octo/private.git#/../other.git", "/octo%2fother.git", "/%6fcto/other.git", "/octo\\other.git",
    "/octo/private.wiki.git", "/octo/private.git.git", "/octo/private.git/info/refs/../../../other.git",
    "/x@/octo/other.git", "/octo/private.git/objects/../../other.git", "/octo/private.git/%252e%252e/other.git",
]  # fmt: skip


@dataclass
class Rig:
    """A service over the host, and two private repositories there."""

    service: Service
    host: PrivateHost
    own: Repository
    other: Repository
    client: docker.DockerClient
    images: Images
    instance: str
    state_dir: Path

    def job(self, name: str, repository: str = "octo/private", ref: str | None = None) -> Job:
        return Job(name=name, prompt="look", source=Source(url=f"{self.host.url}/{repository}", ref=ref), limits=SMALL)

    @asynccontextmanager
    async def prepared(self, token: Token | None, repository: str = "octo/private") -> AsyncIterator[Handle]:
        name = f"t-{secrets.token_hex(4)}"
        given = Secrets(fetch_token=SecretStr(token.value) if token else None)
        try:
            async with asyncio.timeout(BOUND):
                yield await self.service.prepare(self.job(name, repository), given)
        finally:
            await self.service.remove(Handle(name=name))

    async def ended(self, handle: Handle) -> Outcome:
        async with asyncio.timeout(BOUND):
            await self.service.start(handle)
            while (await self.service.wait(handle, 5)).phase is Phase.RUNNING:
                pass
            return await self.service.outcome(handle)

    def where(self, value: str, name: str) -> str:
        """Every file of the workspace, the clean directory, the mirrors, the inputs; logs and settings of every
        container; the state folder."""
        volumes = self.client.volumes.list(filters={"label": f"gofer.instance={self.instance}"})
        mounts = {
            one.name: {"bind": f"/v/{n}", "mode": "ro"} for n, one in enumerate(volumes) if "images" not in one.name
        }
        assert any("-mirror-" in one for one in mounts)
        assert f"gofer-{self.instance}-{name}-clean" in mounts
        found = self.client.containers.run(
            self.images.base, ["sh", "-c", f"cat /v/*/id >/dev/null; grep -rlaF {value} /v || true"], user="0:0",
            network_mode="none", volumes=mounts, remove=True, labels={"gofer.instance": self.instance},
        )  # fmt: skip
        said = found.decode()
        for container in self.client.containers.list(all=True, filters={"label": f"gofer.instance={self.instance}"}):
            if value.encode() in container.logs() or value in json.dumps(container.attrs):
                said += f"container {container.name}\n"
        for file in self.state_dir.rglob("*"):
            if file.is_file() and value.encode() in file.read_bytes():
                said += f"{file}\n"
        return said


@pytest.fixture
async def rig(
    docker_client: docker.DockerClient, images: Images, engine_host: str, nothing_left_behind: str, tmp_path: Path
) -> AsyncIterator[Rig]:
    with private_host(bridge_address(docker_client), "host.docker.internal", tmp_path) as host:
        own = host.github.add_repository("octo", "private", FILES, private=True)
        host.github.commit(own, FILES | {"src/a.py": b"a = 2\n"}, message="Second\n")
        other = host.github.add_repository("octo", "other", {"secret": b"of another\n"}, private=True)
        settings = settings_for(engine_host, images.prefix, nothing_left_behind, tmp_path / "state")
        settings = settings.model_copy(
            update={"git_host": GitHost(base_url=host.url, private=True, ca_pem=host.ca_pem)}
        )
        async with local_sandbox(docker_client, settings, agents=agents(LOOK)) as local:
            service = await open_local(local.settings, agents=agents(LOOK))
            made = Rig(service, host, own, other, docker_client, images, nothing_left_behind, tmp_path / "state")
            try:
                yield made
            finally:
                await service.uninstall()
                await service.close()
                kept = [
                    one.name
                    for one in docker_client.volumes.list()
                    if f"gofer-{nothing_left_behind}-mirror-" in one.name
                ]
                assert kept == []


async def test_the_one_repository_is_cloned_with_its_history_and_the_token_is_nowhere(rig: Rig) -> None:
    token = rig.host.token(rig.own)
    async with rig.prepared(token) as handle:
        assert rig.where(token.value, handle.name) == ""
        outcome = await rig.ended(handle)
    assert outcome.reason is Reason.OK, outcome
    assert outcome.changes is not None
    patch = (outcome.changes.patch or b"").decode()
    assert "+Second" in patch
    assert "+A commit" in patch
    assert "private" in patch
    assert "+git" in patch  # the agent sees the mirror of its own repository
    assert token.value not in patch
    assert patch.count("Read-only file system") >= 2
    assert "+locked" not in patch
    assert "/mirror/lock" in patch
    assert "Permission denied" in patch


async def test_a_second_task_is_served_anew_by_the_host_and_finds_everything_here(rig: Rig) -> None:
    for number in range(2):
        async with rig.prepared(rig.host.token(rig.own)) as handle:
            workspace = rig.service._context.state(handle.name).workspace()
            assert workspace is not None
            assert workspace.mirror
            assert workspace.base_commit == rig.host.github.head(rig.own)
        packs = [path for path, _ in rig.host.asked_for() if path.endswith("git-upload-pack")]
        assert packs, number
    volumes = [one.name for one in rig.client.volumes.list() if f"gofer-{rig.instance}-mirror-" in one.name]
    assert len(volumes) == 1


def refused_token(why: str, rig: Rig, token: Token) -> Token | None:
    if why == "another":
        return rig.host.token(rig.other)
    if why == "no contents":
        return rig.host.token(rig.own, contents="")
    if why == "none":
        return None
    token.revoked = why == "revoked"
    if why == "expired":
        token.expires_at = token.expires_at.replace(year=2020)
    return token


SLOW = [pytest.param(why, marks=pytest.mark.slow) for why in ("expired", "another", "no contents", "none")]


@pytest.mark.parametrize("why", ["revoked", *SLOW])
async def test_a_mirror_helps_nobody_whom_the_host_refuses(rig: Rig, why: str) -> None:
    """Revoked, expired, for another repository, without contents, and none at all: in git's own words."""
    token = rig.host.token(rig.own)
    async with rig.prepared(token):
        pass
    given = refused_token(why, rig, token)
    with pytest.raises(PrepareFailed) as raised:
        async with rig.prepared(given):
            pytest.fail("it was cloned")
    assert raised.value.reason is Reason.FETCH_FAILED
    words = str(raised.value)
    assert "fatal:" in words or "remote:" in words, words
    assert given is None or given.value not in words


async def test_another_repository_is_refused_in_the_hosts_words(rig: Rig) -> None:
    token = rig.host.token(rig.own)
    with pytest.raises(PrepareFailed, match="not found"):
        async with rig.prepared(token, "octo/other"):
            pytest.fail("it was cloned")


@pytest.fixture
def here(docker_client: docker.DockerClient, images: Images, instance: str) -> Iterator[World]:
    with world(docker_client, images.egress, instance) as made:
        yield made


CLIENT = """
import json, subprocess, sys, time
spellings = json.loads(sys.argv[1])
relay = subprocess.Popen(["socat", "TCP-LISTEN:9002,bind=127.0.0.1,fork,reuseaddr", "UNIX-CONNECT:/sock/git.sock"])
time.sleep(1)
def git(*args):
    done = subprocess.run(["git", *args], capture_output=True, text=True, cwd="/tmp/repo", timeout=60)
    return [done.returncode, done.stdout, done.stderr]
subprocess.run("mkdir /tmp/repo; cd /tmp/repo; git init -q .; git -c user.name=x -c user.email=x@x commit -q"
               " --allow-empty -m x", shell=True, check=True)
base = "http://127.0.0.1:9002"
out = {"own": git("ls-remote", base + "/octo/private.git"), "push": git("push", base + "/octo/private.git", "HEAD:x")}
out["push other"] = git("push", base + "/octo/other.git", "HEAD:x")
for spelling in spellings:
    out[spelling] = git("ls-remote", base + spelling)
relay.kill()
print(json.dumps(out))
"""


def git_client(egress: Egress, images: Images) -> dict[str, tuple[int, str, str]]:
    """Real git in a container whose only way out is the fetch socket."""
    said = egress.world.client.containers.run(
        images.base, ["python3", "-I", "-c", CLIENT, json.dumps([one for one in SPELLINGS if "\0" not in one])],
        user="65532:65532", network_mode="none", read_only=True, tmpfs={"/tmp": "rw"}, environment={"HOME": "/tmp"},
        mounts=[Mount("/sock", one["Source"], read_only=True, no_copy=True)
                for one in egress._mounts(read_only=True) if one["Target"] == "/sock/fetch"],
        labels=egress.world.labels("fetch"), remove=True,
    )  # fmt: skip
    return {name: (code, out, words) for name, (code, out, words) in json.loads(said).items()}


def test_every_other_spelling_and_every_push_is_refused_in_gits_own_words(
    here: World, images: Images, tmp_path: Path
) -> None:
    assert len(SPELLINGS) >= 20
    with private_host(here.gateway, here.gateway, tmp_path) as host:
        own = host.github.add_repository("octo", "private", FILES, private=True)
        other = host.github.add_repository("octo", "other", {"secret": b"of another\n"}, private=True)
        token = host.token(own, other)  # more than ours ever has: nothing but the egress stands in the way
        git = {"base_url": host.url, "private": True, "ca_pem": host.ca_pem, "repository": "octo/private"}
        policy = {"model": MODEL, "git": git, "general": GENERAL, "proxy": None, "budget": None}
        egress = here.start(policy, fetch=token.value)
        said = git_client(egress, images)
        code, out, words = said.pop("own")
        assert (code, "refs/heads/main" in out) == (0, True), words
        for spelling, (code, out, words) in said.items():
            assert code != 0, spelling
            assert out == "", spelling
            assert "fatal:" in words, spelling
        assert "403" in said["push"][2]
        raw = [Exchange(get(f"{one}/info/refs?service=git-upload-pack"), to="fetch/git.sock") for one in SPELLINGS]
        raw += [Exchange(get(f"{one}/info/refs?service=git-receive-pack"), to="fetch/git.sock") for one in SPELLINGS]
        answers = egress.talk(*raw)
        assert {answer.status for answer in answers} & {200, 0} == set()
        reached = host.asked_for()
        assert {path for path, _ in reached} <= {
            "/octo/private.git/info/refs", "/octo/private.git/git-upload-pack", "/octo/private/info/refs",
        }  # fmt: skip
        assert own.git_dir.exists()
        journal = egress.container.logs()
        assert token.value.encode() not in journal
