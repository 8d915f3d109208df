"""What a service asks of the engine before it serves."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sandbox.agents import AGENTS, Agent
from sandbox.clear import uninstall
from sandbox.opening import open_context
from sandbox.settings import AgentSettings, Settings
from tests.engine import Images
from tests.local_sandbox import settings_for
from tests.scripted import Scripted

pytestmark = pytest.mark.engine


class NeverBuilt(Scripted):
    name = "pi"
    image = "never-built"


WITHOUT_PI: dict[str, Agent] = {**AGENTS, "pi": NeverBuilt()}


@pytest.fixture
def settings(engine_host: str, images: Images, instance: str, tmp_path: Path) -> Settings:
    return settings_for(engine_host, images.prefix, instance, tmp_path)


async def test_who_offers_one_agent_needs_no_other_agents_image(settings: Settings, images: Images) -> None:
    opened = await open_context(settings, WITHOUT_PI, time.time, 30.0)
    await opened.engine.close()
    assert dict(opened.images.agents) == {"base": images.base, "egress": images.egress, "claude": images.claude}


async def test_a_missing_image_of_an_agent_that_is_offered_is_told_with_how_to_build_it(settings: Settings) -> None:
    offered = settings.model_copy(update={"agents": {"claude": AgentSettings(), "pi": AgentSettings(model="m")}})
    with pytest.raises(RuntimeError, match=r"python -m sandbox\.images build never-built"):
        await open_context(offered, WITHOUT_PI, time.time, 30.0)


async def test_a_folder_that_is_not_there_is_told_and_another_can_be_named_after_it(
    settings: Settings, tmp_path: Path
) -> None:
    own = settings.model_copy(update={"instance": f"{settings.instance}-o"})
    missing = own.model_copy(update={"store_dir": tmp_path / "missing"})
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"missing on the Docker host: .* must be a folder that is there"):
            await open_context(missing, AGENTS, time.time, 30.0)
    (tmp_path / "store").mkdir()
    named = own.model_copy(update={"store_dir": tmp_path / "store"})
    opened = await open_context(named, AGENTS, time.time, 30.0)
    try:
        with pytest.raises(
            RuntimeError, match=f"GOFER_STORE_DIR.* remove all sandboxes first, then .*{own.instance}-images"
        ):
            await open_context(own, AGENTS, time.time, 30.0)
    finally:
        await uninstall(opened)
        await opened.engine.close()
