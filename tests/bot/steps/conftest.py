from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.hooked import Door, a_hooked_stage
from tests.bot.stage import Stage, a_stage
from tests.openapi.conform import assert_conforms


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Stage]:
    """A stage whose webhooks are heard, on a clock that both sides have, and held against GitHub's description."""
    async with a_stage(tmp_path) as made:
        await made.hear()
        made.agent()
        yield made
        assert_conforms(made.local.log)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with a_stage(tmp_path) as made:
        yield made


@pytest.fixture
async def hooked(tmp_path: Path) -> AsyncIterator[tuple[Stage, Door]]:
    """A stage whose webhooks may be kept out, on the time of its local GitHub."""
    async with a_hooked_stage(tmp_path) as made:
        stage, _ = made
        stage.clock.time = time.time()
        yield made
        assert_conforms(stage.local.log)
