"""mitmproxy as it really runs in the image: its effective options, its versions, and which addons it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.engine import Images
from tests.sandbox.egress.rig import PYTHON

pytestmark = pytest.mark.engine

GOLDEN = Path(__file__).parent / "options.json"

_DUMP = """
import asyncio, json
from sandbox.egress import launch
async def dump():
    master = launch.make_master(asyncio.get_running_loop())
    options = {name: getattr(master.options, name) for name in sorted(master.options.keys())}
    floors = {name: launch.too_old({**launch.versions(), name: (0, 0, 0)}) for name in launch.FLOORS}
    return {"options": options, "addons": sorted(master.addons.lookup), "too_old": launch.too_old(launch.versions()),
            "floors": floors}
print(json.dumps(asyncio.run(dump())))
"""


@pytest.fixture(scope="module")
def facts(docker_client: docker.DockerClient, images: Images) -> Any:
    output = docker_client.containers.run(images.egress, [*PYTHON, _DUMP], network_mode="none", remove=True)
    return json.loads(output)


def test_e40_the_effective_options_are_the_golden_ones(facts: Any) -> None:
    """A new version of mitmproxy with a new option stops here: somebody must read what it does."""
    assert facts["options"] == json.loads(GOLDEN.read_text())


def test_only_two_of_mitmproxys_addons_are_there(facts: Any) -> None:
    assert facts["addons"] == ["core", "proxyserver"]


def test_e22_versions_below_the_floors_do_not_start(facts: Any) -> None:
    assert facts["too_old"] == ""
    assert facts["floors"] == {name: f"too old to be safe: {name}" for name in ("python", "mitmproxy", "h2", "h11")}
