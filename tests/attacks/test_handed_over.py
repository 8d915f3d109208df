"""What one task hands to the engine, and what is delivered to its agent: no secret, nobody's words, nothing too late.

The whole bot on real parts, with a private repository, and a tap on the engine's socket: nothing that is given to a
container can come by any other way. Everybody's text is as hostile as it can be.
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import tarfile
import zlib
from io import BytesIO
from pathlib import Path

import docker
import pytest

from sandbox import Handle, Job, Limits, Reason, Secrets
from tests.attacks.handed_over import BRANCH, PLANTED, PROMPT, Seen, files, happening, seen
from tests.engine import Images
from tests.local_sandbox import KEY, bundle, local_sandbox, settings_for
from tests.sandbox.inside.bases import ENVIRONMENT
from tests.scripted import agents

__all__ = ["seen"]

pytestmark = pytest.mark.engine

SMALL = Limits(memory_bytes=256 * 2**20, workspace_bytes=32 * 2**20, workspace_inodes=2_000)
CREDENTIAL = re.compile(r"extraheader|credential|insteadof|authorization|proxy|://[^/\s]*@", re.IGNORECASE)


# --- C01, C02, C11: secrets -----------------------------------------------------------------------------------------


def test_c01_no_credential_is_in_any_file_or_in_the_memory_of_any_process(seen: Seen) -> None:
    """By their shapes, since nobody may tell the agent what to look for. What it planted itself is the control."""
    told = json.loads(next(line[1:] for line in seen.comment.splitlines() if line.startswith('+{"files"')))
    assert told["files"] > 1_000
    assert told["processes"] >= 2, "the agent's CLI among them"
    assert "/tmp/planted" in told["found"]
    assert {found for places in told["found"].values() for found in places} == {PLANTED}


def test_c02_a_private_clone_is_delivered_without_its_token(seen: Seen, tmp_path: Path) -> None:
    """Every file of both Git directories, the files, the manifest and the inputs; packed objects are unpacked."""
    assert seen.fetches >= 2, "the control: it was fetched, and only a token of the App opens it"
    delivered = dict(files(seen))
    assert {"ws/repo/.git/config", "clean/data/git/HEAD", "clean/data/manifest", "inputs/prompt"} <= delivered.keys()
    for name, content in delivered.items():
        assert seen.holds(name) == [], name
        assert seen.holds(content) == [], name
        if re.search(r"/objects/[0-9a-f]{2}/", name):
            assert seen.holds(zlib.decompress(content)) == [], name
    with tarfile.open(fileobj=BytesIO(seen.delivered)) as archive:
        archive.extractall(tmp_path, filter="tar")
    mirrors = [str(found) for found in (tmp_path / "mirror" / "data").glob("git*/objects")]
    borrowed = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": ":".join(mirrors)}
    for folder in ("ws/repo/.git", "clean/data/git"):
        git = ["git", f"--git-dir={tmp_path / folder}", "cat-file", "--batch", "--batch-all-objects"]
        objects = subprocess.run(git, capture_output=True, check=True, env=ENVIRONMENT | borrowed).stdout
        assert b"# Here" in objects
        assert seen.holds(objects) == []


def test_c02_the_remote_is_neutral_and_no_credential_helper_is_left(seen: Seen) -> None:
    delivered = dict(files(seen))
    assert re.findall(r"url = (.*)", delivered["ws/repo/.git/config"].decode()) == [seen.origin]
    for name in ("ws/repo/.git/config", "clean/data/git/config"):
        assert not CREDENTIAL.search(delivered[name].decode()), name
    kept = {name.rpartition("/")[2] for name in delivered if not name.startswith("ws/repo/") or "/.git/" in name}
    assert not kept & {"FETCH_HEAD", "credentials", ".git-credentials", ".netrc"}


def test_c02_each_secret_goes_to_the_egress_by_its_stdin_and_nowhere_else(seen: Seen) -> None:
    """In all that the engine was ever given: settings, archives, streams."""
    assert seen.places("fetch") == {"attach egress"}
    assert seen.places("model") == {"attach egress"}
    assert [len(seen.found(seen.sent, kind)) for kind in ("fetch", "model")] == [1, 1]


def test_c11_nothing_of_the_app_is_given_to_any_container(seen: Seen) -> None:
    """Neither the key, nor a line of it, nor the webhook's secret: the engine never hears of them."""
    assert len(seen.sent) > 100_000
    assert seen.holds(seen.sent, "app") == []
    assert seen.places("app") == set()


def test_c11_no_container_its_processes_or_the_sandboxs_settings_hold_anything_of_the_app(seen: Seen) -> None:
    assert {"agent", "egress"} <= {one["Config"]["Labels"]["gofer.role"] for one in seen.inspect}
    assert seen.holds(json.dumps(seen.inspect)) == []
    assert "sandbox.egress.launch" in seen.egress
    assert seen.holds(seen.egress) == []
    assert "ANTHROPIC_BASE_URL" in seen.comment, "the control: what the agent found in its processes came back"
    assert seen.holds(seen.comment) == []
    assert KEY.get_secret_value() in seen.settings
    assert seen.holds(seen.settings) == ["model"]


def test_c11_no_secret_is_kept_in_the_state_directory(seen: Seen) -> None:
    assert any(name.endswith("gofer.db") for name in seen.kept)
    assert {name: held for name, data in seen.kept.items() if (held := seen.holds(data))} == {}


# --- A16, B11, B40: everybody's text --------------------------------------------------------------------------------


def test_b11_b40_the_prompt_reaches_the_model_as_it_was_written(seen: Seen) -> None:
    assert any(PROMPT in question for question in seen.questions), seen.questions


def test_b40_no_title_branch_body_or_file_name_is_run(seen: Seen) -> None:
    """Whatever had been run would have made a file called ``pwned``, in a place that the agent listed."""
    assert f"ref: refs/heads/{BRANCH}\n".encode() == dict(files(seen))["ws/repo/.git/HEAD"]
    assert seen.comment.count("diff --git") == 1
    listed = seen.comment.partition("+.:")[2].partition("```")[0].splitlines()
    assert "+README.md" in listed
    assert "+pwned" not in listed
    assert not Path("pwned").exists()


def test_a16_b40_no_word_of_a_user_is_in_what_the_engine_is_asked(seen: Seen) -> None:
    """Names, labels, arguments, environment: ours and the operator's alone. Text travels in the inputs' archive."""
    foreign = re.compile(r"pwned|touch |octo/|/hello|mona|make it so", re.IGNORECASE)
    assert len([one for one in seen.asked if one.verb == "create"]) > 8
    for one in seen.asked:
        if one.verb not in {"archive", "attach"}:
            asked = f"{one.path}?{one.query} {one.body.decode()}"
            assert not foreign.search(asked), asked[:500]
    carried = {f"{one.verb} {one.container.rpartition('-')[2]}" for one in seen.asked if b"pwned" in one.body}
    assert len(carried) == 1
    assert carried.pop().startswith("archive ")


def test_a16_the_agents_command_has_no_place_for_anybodys_text(seen: Seen) -> None:
    (created,) = [one for one in seen.asked if one.path == "/containers/create" and one.query.endswith("-agent")]
    settings = json.loads(created.body)
    assert settings["Entrypoint"] == ["/opt/gofer/entry"]
    assert not re.search(r"[$`;&|<>\n]", " ".join(settings["Cmd"]))


# --- G17: order -----------------------------------------------------------------------------------------------------


def test_g17_nothing_is_put_into_or_read_from_a_container_that_has_been_started(seen: Seen) -> None:
    started: set[str] = set()
    put = set()
    for one in seen.asked:
        if one.verb == "start":
            started.add(one.container)
        elif one.verb == "archive":
            assert one.method == "PUT", "files come out through the extractor's stream alone"
            assert one.container not in started
            put.add(one.container)
    assert put
    assert not started & put
    assert {name.rpartition("-")[2] for name in started} >= {"agent", "egress", "fetch", "extract"}


def test_g17_nothing_is_run_in_a_container_beside_its_own_process(seen: Seen) -> None:
    ways_in = {"exec", "export", "commit", "copy", "update", "rename", "restart", "unpause", "checkpoints", "build"}
    assert not {one.verb for one in seen.asked} & ways_in
    agent = [one for one in seen.asked if one.container.endswith("-agent")]
    assert {one.verb for one in agent if one.method == "POST"} == {"start"}
    assert {one.verb for one in agent if one.method == "GET"} <= {"json", "logs"}
    assert {one.method for one in agent} <= {"POST", "GET", "DELETE"}


def test_g17_the_files_are_read_after_the_agent_is_dead(seen: Seen) -> None:
    """By the engine's own clock."""
    when = {(role, what): moment for moment, role, what in seen.events}
    assert when["fetch", "die"] < when["agent", "start"] < when["agent", "die"] < when["extract", "start"]


async def test_g17_an_agent_that_still_runs_is_killed_before_its_files_are_read(
    docker_client: docker.DockerClient, images: Images, engine_host: str, instance: str, tmp_path: Path
) -> None:
    settings = settings_for(engine_host, images.prefix, instance, tmp_path / "state")
    source = bundle(tmp_path, {"a.txt": b"one\n"})
    job = Job(name=f"runs-{secrets.token_hex(3)}", prompt="stay", source=source, limits=SMALL)
    with happening(docker_client, instance) as events:
        async with local_sandbox(docker_client, settings, agents=agents("echo x > b.txt; sleep 1000")) as local:
            try:
                await local.sandbox.start(await local.sandbox.prepare(job, Secrets()))
                outcome = await local.sandbox.outcome(Handle(name=job.name))
            finally:
                await local.sandbox.remove(Handle(name=job.name))
    assert outcome.reason is Reason.CANCELLED
    when = {(role, what): moment for moment, role, what in events}
    assert when["agent", "start"] < when["agent", "die"] < when["extract", "start"]
