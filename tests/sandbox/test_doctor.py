"""`gofer doctor` on the real engine: a well machine is well, and each thing that is not is told with what to do."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import docker
import pytest
from pydantic import SecretStr

from bot.demo.model import ScriptedModel
from sandbox import AgentSettings, Destination, Finding, Gateway, Health, Settings, examine
from sandbox.doctor import question, report_of, repository
from sandbox.job import Outcome, Reason, State
from tests.engine import Images
from tests.local_sandbox import KEY, bridge_address, settings_for
from tests.sandbox.egress.rig import Arrived, Authority, StandIn

NAME = "host.docker.internal"


@pytest.fixture
async def model(docker_client: docker.DockerClient) -> AsyncIterator[ScriptedModel]:
    made = ScriptedModel("ok", expected_key=KEY)
    await made.start(bridge_address(docker_client))
    yield made
    await made.stop()


@pytest.fixture
def well(engine_host: str, images: Images, instance: str, tmp_path: Path, model: ScriptedModel) -> Settings:
    gateway = Gateway(base_url=f"http://{NAME}:{model.port}", key=KEY, private=True, host_gateway=True)
    settings = settings_for(engine_host, images.prefix, instance, tmp_path / "state")
    return settings.model_copy(update={"gateway": gateway})


async def found(settings: Settings, *, offline: bool = False) -> dict[str, Finding]:
    return {finding.subject: finding async for finding in examine(settings, offline=offline)}


@pytest.mark.engine
async def test_a_well_machine_is_well(
    docker_client: docker.DockerClient, well: Settings, nothing_left_behind: str, tmp_path: Path
) -> None:
    """Every subject once, each tool included: they ask a registry that has nothing, and trust the way to it."""

    def nothing(request: Arrived, send: object) -> None:
        send(b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n")  # type: ignore[operator]

    authority = Authority()
    registry = StandIn(bridge_address(docker_client), nothing, authority.server(NAME, tmp_path))
    try:
        place = Destination(host=NAME, port=registry.port, private=True, ca_pem=authority.pem)
        findings = await found(well.model_copy(update={"allowed": (place,)}))
    finally:
        registry.close()
    assert {name: finding.words for name, finding in findings.items() if finding.health is not Health.OK} == {}
    assert list(findings) == [
        "engine", "runtime", "image base", "image claude", "image egress", "destinations", "agent claude", "network",
        "seccomp", "privileges", "image", "workspace", "tool curl", "tool git", "tool node", "tool npm", "tool python",
        "tool pip", "gateway anthropic",
    ]  # fmt: skip
    assert len(registry.requests) >= 6, "each tool has asked"


@pytest.mark.slow
@pytest.mark.engine
async def test_offline_asks_neither_model_nor_registry(well: Settings, model: ScriptedModel) -> None:
    place = Destination(host="registry.test")
    findings = await found(well.model_copy(update={"allowed": (place,)}), offline=True)
    assert {finding.health for finding in findings.values()} == {Health.OK}
    assert "workspace" in findings
    assert not [name for name in findings if name.startswith(("tool", "gateway"))]
    assert findings["destinations"].words == "agents may read from registry.test"
    assert list(model.seen) == []


@pytest.mark.slow
@pytest.mark.engine
async def test_a_wrong_key_and_a_wrong_pairing_are_told_with_what_to_do(well: Settings) -> None:
    chat = Gateway(name="other", base_url=f"http://{NAME}:1", apis=("openai-chat",), private=True)
    wrong = well.model_copy(
        update={
            "gateway": well.gateway.model_copy(update={"key": SecretStr("sk-wrong-0123456789abcdef")}),
            "agents": {"claude": AgentSettings(), "codex": AgentSettings(gateway=chat)},
        }
    )
    findings = await found(wrong)
    assert findings["gateway anthropic"].health is Health.FAILED
    assert "does not take the key" in findings["gateway anthropic"].words
    assert findings["agent codex"].health is Health.FAILED
    assert "speaks" in findings["agent codex"].words
    assert findings["agent codex"].remedy
    assert "sk-wrong" not in str(findings)


@pytest.mark.slow
@pytest.mark.engine
async def test_a_missing_image_and_a_missing_runtime_are_told_with_what_to_do(well: Settings) -> None:
    findings = await found(well.model_copy(update={"image_prefix": "gofer-none", "runtime": "none"}), offline=True)
    failed = {name: finding for name, finding in findings.items() if finding.health is Health.FAILED}
    assert set(failed) == {"runtime", "image base", "image claude", "image egress", "sandbox"}
    assert all(finding.remedy for finding in failed.values())


async def test_without_an_engine_that_is_all_there_is_to_say(tmp_path: Path) -> None:
    findings = await found(Settings(state_dir=tmp_path, docker_host="tcp://127.0.0.1:9"))
    assert [(name, finding.health) for name, finding in findings.items()] == [("engine", Health.FAILED)]
    assert findings["engine"].remedy


def test_the_repository_made_by_hand_is_one_that_git_takes(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.write_bytes(repository().bundle or b"")
    subprocess.run(["git", "clone", "-q", str(bundle), str(tmp_path / "clone")], check=True, capture_output=True)
    logged = subprocess.run(
        ["git", "-C", str(tmp_path / "clone"), "log", "--format=%s"], check=True, capture_output=True, text=True
    )
    assert logged.stdout == "doctor\n"


def test_every_api_has_its_question() -> None:
    paths = [question(api, "m")["path"] for api in ("anthropic-messages", "openai-responses", "openai-chat")]
    assert paths == ["/v1/messages", "/v1/responses", "/v1/chat/completions"]


def test_a_probe_that_says_nothing_is_no_report() -> None:
    silent = Outcome(state=State.FAILED, reason=Reason.EXIT, error="It ended with status 1.")
    with pytest.raises(RuntimeError, match="ended with status 1"):
        report_of(silent)
