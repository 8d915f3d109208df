"""mitmproxy as it really runs in the image: its effective options, and which addons it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.engine import Images
from tests.sandbox.egress.rig import inside

pytestmark = pytest.mark.engine

GOLDEN = Path(__file__).parent / "options.json"

_DUMP = """
import asyncio, json
from sandbox.egress.master import make_master
async def dump():
    master = make_master(asyncio.get_running_loop())
    options = {name: getattr(master.options, name) for name in sorted(master.options.keys())}
    return {"options": options, "addons": sorted(master.addons.lookup)}
print(json.dumps(asyncio.run(dump())))
"""


@pytest.fixture(scope="module")
def facts(docker_client: docker.DockerClient, images: Images) -> Any:
    return inside(docker_client, images.egress, _DUMP)


def test_e40_the_effective_options_are_the_golden_ones(facts: Any) -> None:
    """A new version of mitmproxy with a new option stops here: somebody must read what it does."""
    assert facts["options"] == json.loads(GOLDEN.read_text())


def test_only_two_of_mitmproxys_addons_are_there(facts: Any) -> None:
    assert facts["addons"] == ["core", "proxyserver"]
