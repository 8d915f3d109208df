"""`gofer uninstall`: nothing without a yes, the instance's own things with one, and twice is no harm."""

from __future__ import annotations

from pathlib import Path

import docker
import pytest

from bot.__main__ import MISTAKE, main
from bot.uninstall import DONE, FAILED
from tests.engine import Images

KEY = "sk-0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOFER_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("GOFER_MODEL_KEY", KEY)


def test_without_a_yes_it_says_what_it_would_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOFER_DOCKER_HOST", "tcp://127.0.0.1:9")
    assert main(["uninstall"]) == MISTAKE
    assert "'gofer'" in (said := capsys.readouterr().err)
    assert "give --yes" in said


def test_an_engine_that_does_not_answer_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOFER_DOCKER_HOST", "tcp://127.0.0.1:9")
    assert main(["uninstall", "--yes"]) == FAILED
    assert "may be run again" in capsys.readouterr().err


def test_where_sandboxes_are_elsewhere_it_says_where_to_go(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GOFER_MODEL_KEY")
    monkeypatch.delenv("GOFER_IMAGE_PREFIX", raising=False)
    monkeypatch.setenv("GOFER_RUNNER_TOKEN", "r" * 8 + "0123456789abcdefghijklmnopqrst")
    monkeypatch.setenv("GOFER_SANDBOX", "http+unix:///run/runner.sock")
    assert main(["uninstall", "--yes"]) == MISTAKE
    assert "start it there" in capsys.readouterr().err


def test_an_instance_leaves_nothing_on_the_engine_and_may_be_removed_twice(
    monkeypatch: pytest.MonkeyPatch,
    docker_client: docker.DockerClient,
    engine_host: str,
    images: Images,
    instance: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = f"{instance}-uninstall"
    for name, value in {"INSTANCE": own, "DOCKER_HOST": engine_host, "IMAGE_PREFIX": images.prefix}.items():
        monkeypatch.setenv(f"GOFER_{name}", value)
    labels = {"gofer.instance": own, "gofer.sandbox": "left", "gofer.role": "agent"}
    docker_client.api.create_container(images.base, ["true"], name=f"gofer-{own}-left-agent", labels=labels)
    wanted = {"label": f"gofer.instance={own}"}
    assert docker_client.api.containers(all=True, filters=wanted)
    for _ in range(2):
        assert main(["uninstall", "--yes"]) == DONE
        assert "Removed" in capsys.readouterr().out
        assert docker_client.api.containers(all=True, filters=wanted) == []
        assert docker_client.api.networks(filters=wanted) == []
        assert not docker_client.api.volumes(filters=wanted)["Volumes"]
