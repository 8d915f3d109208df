"""``gofer demo``: the main job from a comment to a diff on real parts, each step printed as it happens.

Real: the webhook and its signature, the bot, the database, the engine and its containers, the egress, git, the agent.
Ours: GitHub and, unless asked for the real one, the model. Exit status 0 means that the diff was seen in the comment.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from bot.app import Server, StartError, serving
from bot.demo.alone import NotAlone, alone
from bot.demo.github import Comment
from bot.demo.model import ScriptedModel
from bot.demo.world import INSTANCE, MAINTAINER, PROMPT, DemoWorld, demo_world
from bot.logs import start_logging
from bot.tasks import TaskState
from sandbox import Settings, Unreachable, host_address, spawn, uninstall

# The scripted run takes seconds. The real model may think; the task's own deadline is shorter than this.
DEMO_SECONDS: Final = 2400.0
# Between two looks at the task's row.
LOOK_SECONDS: Final = 0.1
# In the folder for temporary files.
LOCK: Final = "gofer-demo.lock"

Say = Callable[[str], None]


class DemoFailed(Exception):
    """The demo did not end with a diff; ``str()`` says why, for the person at the keyboard."""


def main(real_key: SecretStr | None) -> int:
    """Run it and print it. 0: the final comment holds a diff. May be run again at once, but one at a time."""
    say, began = _teller(), time.monotonic()
    try:
        with alone(Path(tempfile.gettempdir()) / LOCK), tempfile.TemporaryDirectory(prefix="gofer-demo-") as folder:
            final = asyncio.run(_demo(Path(folder), real_key, say))
    except (DemoFailed, NotAlone, StartError, RuntimeError, Unreachable) as error:
        print(f"gofer demo: {error}", file=sys.stderr)
        return 1
    print(f"\n{_rule('the final comment')}\n{final}\n{_rule(f'{time.monotonic() - began:.1f} s in all')}")
    print("The demo's database is gone with the rest: `gofer patch` is for the tasks of `gofer serve`.")
    return 0


async def _demo(folder: Path, real_key: SecretStr | None, say: Say) -> str:
    start_logging("WARNING")
    blank = Settings(state_dir=folder / "sandboxes", instance=INSTANCE)
    address = await host_address(blank)
    await uninstall(blank)  # what a demo that was killed has left
    async with demo_world(folder, address, real_key) as world:
        say(f"a local GitHub listens on {world.github.url}")
        say(f"the model is {world.config.model_url}" + (" (scripted)" if world.model else " (real, it costs money)"))
        try:
            async with serving(world.config) as server, _watched(world, say):
                final = await _ask(world, server, say)
        finally:
            await uninstall(world.config.sandbox_settings())
        say("containers, volumes, loop devices and network of the demo are removed")
    if "```diff" not in final:
        raise DemoFailed(f"the final comment holds no diff:\n{final}")
    return final


async def _ask(world: DemoWorld, server: Server, say: Say) -> str:
    """The comment, and the wait for its result."""
    await world.github.connect_webhook(f"{server.url}/webhook")
    say(f"the bot listens on {server.url}/webhook and serves {world.config.served} only")
    say(f"{MAINTAINER} comments on issue #{world.issue.number}: /agent {PROMPT}")
    sent = time.monotonic()
    await world.github.comment(world.repository, world.issue, MAINTAINER, f"/agent {PROMPT}")
    took = (time.monotonic() - sent) * 1000
    say(f"signed webhook {world.github.deliveries[0].event} -> {world.github.deliveries[0].status} in {took:.0f} ms")
    done, failed = spawn(_done(server), name="done"), spawn(server.failed(), name="failed")
    await asyncio.wait([done, failed], return_when=asyncio.FIRST_COMPLETED)
    done.cancel()
    if failed.done():
        raise failed.result()
    failed.cancel()
    if not done.cancelled():
        done.result()
    return world.github.bot_comments(world.issue)[-1].body


async def _done(server: Server) -> None:
    """Until the task is done, whatever became of it. A row tells nobody that it has changed."""
    async with asyncio.timeout(DEMO_SECONDS):
        while [task.state for task in await server.store.tasks()] != [TaskState.DONE]:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def _watched(world: DemoWorld, say: Say) -> AsyncIterator[None]:
    """Tell what can be seen from outside, until the block ends."""
    watchers = [
        spawn(_tell_comments(world, say), name="tell-comments"),
        spawn(_tell_reaction(world, say), name="tell-reaction"),
    ]
    if world.model is not None:
        watchers.append(spawn(_tell_model(world.model, say), name="tell-model"))
    try:
        yield
    finally:
        for watcher in watchers:
            watcher.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)


async def _tell_comments(world: DemoWorld, say: Say) -> None:
    """Every text that the status comment has had."""
    told: list[str] = []

    def untold() -> list[str]:
        return [text for comment in world.github.bot_comments(world.issue) for text in comment.history][len(told) :]

    while True:
        for text in await world.github.until(untold, DEMO_SECONDS):
            say(f"status comment: {text.splitlines()[0]}")
            told.append(text)


async def _tell_reaction(world: DemoWorld, say: Say) -> None:
    def reacted() -> Comment | None:
        return next((comment for comment in world.issue.comments if comment.reactions), None)

    comment = await world.github.until(reacted, DEMO_SECONDS)
    say(f"the bot reacts with {comment.reactions[0].content}: {MAINTAINER} may write here")


async def _tell_model(model: ScriptedModel, say: Say) -> None:
    """The model takes no request without the real key, so each one told proves that the egress has set it."""
    for count in itertools.count(1):
        await model.wait_for_questions(count, DEMO_SECONDS)
        say(f"model request {count} arrives, with the real key; the agent holds a placeholder")


def _teller() -> Say:
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - began:6.2f} s] {line}", flush=True)

    return say


def _rule(title: str) -> str:
    return f"──── {title} ".ljust(100, "─")
