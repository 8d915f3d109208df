"""The stage with its webhook: what people do on the local GitHub arrives as signed payloads, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from bot.app import make_app
from bot.tasks import Change, Request
from bot.webhook import SERVER_OPTIONS
from tests.bot.served import config_for
from tests.bot.stage import Stage, a_stage


class Door:
    """Where the webhooks go. ``close`` and ``open`` it as a server that goes down and comes up again."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self._stage = stage
        self._folder = folder
        self._web: web.AppRunner | None = None

    async def open(self) -> None:
        stage = self._stage

        async def add(request: Request) -> bool:
            return await stage.store.add(request)

        async def apply(change: Change) -> int:
            return await stage.store.apply(change)

        app = make_app(
            config_for(self._folder, stage.local),
            store_add=add,
            wake=lambda: stage.runner.wake(),
            health=lambda: "ok",
            store_apply=apply,
        )
        self._web = web.AppRunner(app, access_log=None, **SERVER_OPTIONS)
        await self._web.setup()
        await web.TCPSite(self._web, "127.0.0.1", 0).start()
        await stage.local.connect_webhook(f"http://127.0.0.1:{self._web.addresses[0][1]}/webhook")

    async def close(self) -> None:
        if self._web is not None:
            await self._web.cleanup()
            self._web = None


@asynccontextmanager
async def a_hooked_stage(folder: Path) -> AsyncIterator[tuple[Stage, Door]]:
    """Everything as in production but for the sandbox and the time."""
    async with a_stage(folder) as stage:
        door = Door(stage, folder)
        await door.open()
        try:
            yield stage, door
        finally:
            await door.close()
