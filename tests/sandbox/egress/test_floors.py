"""The versions in the image, held against the floors."""

from __future__ import annotations

import docker
import pytest

from tests.engine import Images
from tests.sandbox.egress.rig import inside

pytestmark = pytest.mark.engine

_FLOORS = """
import json
from sandbox.egress.floors import FLOORS, too_old, versions
floors = {name: too_old({**versions(), name: (0, 0, 0)}) for name in FLOORS}
print(json.dumps({"too_old": too_old(versions()), "floors": floors}))
"""


def test_e22_versions_below_the_floors_do_not_start(docker_client: docker.DockerClient, images: Images) -> None:
    facts = inside(docker_client, images.egress, _FLOORS)
    assert facts["too_old"] == ""
    assert facts["floors"] == {name: f"too old to be safe: {name}" for name in ("python", "mitmproxy", "h2", "h11")}
