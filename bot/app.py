"""The server: routes, start-up and clean-up. It listens before anything else is asked for, and stores what comes.

GitHub and the engine may hang for minutes at the start as at any other time: a webhook is stored and answered all the
same, and worked on when they answer again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from bot import repo_config, start_check
from bot.attachments import Places
from bot.config import Config, ConfigError
from bot.github import GitHub, GitHubRefused, GitHubUnavailable, open_session
from bot.github_attachments import Attachments, PublicOnly
from bot.permissions import Served
from bot.runner import Runner
from bot.steps.world import Clock, Rules
from bot.store import Caps, Store
from bot.tasks import Change, Request
from bot.webhook import SERVER_OPTIONS, make_webhook
from sandbox import Sandbox, Settings, Unreachable, open_sandbox, spawn

_log = logging.getLogger(__name__)

# Seconds between two tries to open the sandbox while the engine does not answer.
REOPEN_SECONDS = 5.0
# Seconds that each part of a stop may take; together with the runner's three they fit into the five of SIGTERM.
CLOSE_CONNECTIONS_SECONDS = 0.5
CLOSE_SECONDS = 0.6
CLOSE_STORE_SECONDS = 0.5

STUCK = "stuck"
"""The loop has not looked at the queue for a minute: the database hangs, most likely."""

Opener = Callable[[str, Settings], Awaitable[Sandbox]]


class StartError(Exception):
    """The server cannot work as it is set up; ``str()`` says to the operator why."""


class SystemClock:
    """Time as it is."""

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def make_app(
    config: Config,
    *,
    store_add: Callable[[Request], Awaitable[bool]],
    wake: Callable[[], None],
    health: Callable[[], str],
    store_apply: Callable[[Change], Awaitable[int]] | None = None,
) -> web.Application:
    """The routes. ``health`` says ``ok``, ``starting`` or ``stuck``.

    A server that is starting is a healthy one: it stores what comes. A proxy that kept webhooks from it until the
    engine answers would lose them.
    """

    async def healthz(_: web.Request) -> web.Response:
        state = health()
        return web.json_response({"status": state}, status=503 if state == STUCK else 200)

    app = web.Application()
    receive = make_webhook(
        config.webhook_secret,
        store_add,
        wake,
        Served.parse(config.served),
        config.app_id,
        store_apply=store_apply,
        word=config.command_word,
    )

    async def schema(_: web.Request) -> web.Response:
        return web.json_response(repo_config.schema(), content_type="application/schema+json")

    app.router.add_get("/gofer.schema.json", schema)
    app.router.add_post("/webhook", receive)
    app.router.add_get("/healthz", healthz)
    return app


class Server:
    """``gofer serve`` without the process around it. Use `serving`."""

    def __init__(
        self,
        config: Config,
        store: Store,
        session: aiohttp.ClientSession,
        clock: Clock,
        images: aiohttp.ClientSession | None = None,
    ) -> None:
        self._config = config
        self._images = images
        self._session = session
        self._clock = clock
        self.store = store
        try:
            self.github = GitHub(session, app_id=config.app_id, private_key=config.private_key, api_url=config.api_url)
        except ValueError as error:
            raise StartError(f"GOFER_PRIVATE_KEY: {error}; give the file that GitHub let you download") from None
        self.runner: Runner | None = None
        self.url = ""
        """Where it listens; the webhook is at ``/webhook``."""
        self._sandbox: Sandbox | None = None
        self._web: web.AppRunner | None = None
        self._work: list[asyncio.Task[StartError | None]] = []

    async def listen(self) -> None:
        """Take webhooks from now on. Raises ``StartError`` where the address cannot be had."""
        app = make_app(
            self._config,
            store_add=self.store.add,
            wake=self._wake,
            health=self._health,
            store_apply=self.store.apply,
        )
        self._web = web.AppRunner(app, access_log=None, shutdown_timeout=CLOSE_CONNECTIONS_SECONDS, **SERVER_OPTIONS)
        await self._web.setup()
        host, port = self._config.address
        try:
            await web.TCPSite(self._web, host, port).start()
        except OSError as error:
            raise StartError(f"cannot listen on {self._config.listen}: {error.strerror or error}") from None
        bound = self._web.addresses[0][1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{bound}"

    def begin(self, opener: Opener) -> None:
        """Start what works beside the listening; `failed` reports its end."""
        self._work = [
            spawn(_reason(self._run(opener)), name="runner"),
            spawn(_reason(self._check_app()), name="check-app"),
        ]

    async def failed(self) -> StartError:
        """Why further work is pointless, when it is; never returns otherwise. A loop that ended is such a reason too.
        Raises what nobody foresaw."""
        pending = set(self._work)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for job in done:
                if (why := job.result()) is not None:
                    return why
        return StartError("the runner has stopped")

    async def stop(self) -> None:
        """Stop listening and working. Sandboxes run on. Within five seconds, whatever hangs."""
        runner_stops = spawn(self.runner.stop(), name="stop") if self.runner else None
        if self._web is not None:
            await self._web.cleanup()
        if runner_stops is not None:
            await asyncio.wait([runner_stops])
        for job in self._work:
            job.cancel()
        closing = [spawn(self.github.close(), name="close-github")]
        if self._sandbox is not None:
            closing.append(spawn(self._sandbox.close(), name="close-sandbox"))
        await asyncio.wait([*closing, *self._work], timeout=CLOSE_SECONDS)
        for job in closing:
            job.cancel()

    async def _run(self, opener: Opener) -> None:
        settings = self._config.sandbox_settings()
        while self._sandbox is None:
            try:
                self._sandbox = await opener(self._config.sandbox, settings)
            except Unreachable as error:
                _log.warning("the engine does not answer; webhooks are stored meanwhile: %s", error)
                await self._clock.sleep(REOPEN_SECONDS)
            except (ValueError, RuntimeError) as error:
                raise StartError(str(error)) from error
        rules = Rules(
            worker=self._config.instance,
            served=Served.parse(self._config.served),
            caps=Caps(self._config.max_running, self._config.max_running_per_repository),
            github_url=self._config.github_url,
            model=self._config.task_model,
            agent=self._config.task_agent,
            limits=self._config.limits,
            command_word=self._config.command_word,
            operator=self._config.operator_rules,
            allowance=self._config.allowance,
        )
        places = Places.of(self._config.github_url, private=self._config.github_private)
        images = Attachments(self._images, places) if self._images is not None else None
        self.runner = Runner(self.store, self.github, self._sandbox, rules, self._clock, images=images)
        await self.runner.run()

    async def _check_app(self) -> None:
        """Tell the operator early that id and key do not belong together."""
        try:
            app = await self.github.app()
        except GitHubRefused as error:
            raise StartError(f"GitHub does not accept GOFER_APP_ID with GOFER_PRIVATE_KEY: {error}") from None
        except GitHubUnavailable as error:
            _log.warning("GitHub does not answer; going on all the same: %s", error)
        else:
            _log.info("working as %s", app.login)
            if why := await start_check.look(self.github, app, broader_is_fine=self._config.broader_app):
                raise StartError(why)

    def _wake(self) -> None:
        if self.runner is not None:
            self.runner.wake()

    def _health(self) -> str:
        if self.runner is None or not self.runner.began():
            return "starting"
        return "ok" if self.runner.alive() else STUCK


async def _reason(work: Awaitable[None]) -> StartError | None:
    """The operator's mistake as a value: an exception in a task would be logged with a traceback besides."""
    try:
        await work
    except StartError as error:
        return error
    return None


@asynccontextmanager
async def serving(
    config: Config, *, opener: Opener = open_sandbox, clock: Clock | None = None
) -> AsyncIterator[Server]:
    """A server that listens and works, until the block is left. Raises ``StoreError``, ``StartError``,
    ``ConfigError`` where it cannot be set up; what shows itself later comes from ``Server.failed``.
    """
    _make_state_dir(config)
    store = await Store.open(config.database)
    try:
        await store.become_worker(config.instance)
        async with _session(config) as session, _session(config, PublicOnly(private=config.github_private)) as images:
            server = Server(config, store, session, clock or SystemClock(), images if config.thread_images else None)
            try:
                await server.listen()
                server.begin(opener)
                yield server
            finally:
                await server.stop()
    finally:
        await store.close(CLOSE_STORE_SECONDS)


def _make_state_dir(config: Config) -> None:
    make = f"as root: install -d -m 0700 -o USER {config.state_dir}"
    try:
        if not config.state_dir.is_dir():
            raise ConfigError(f"GOFER_STATE_DIR: the directory is not there: {config.state_dir}; {make}")
        (config.state_dir / "sandboxes").mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        words = f"GOFER_STATE_DIR: {config.state_dir} is not writable for this user: {error.strerror}"
        raise ConfigError(f"{words}; {make}") from None


def _session(config: Config, resolver: PublicOnly | None = None) -> aiohttp.ClientSession:
    """For GitHub; it trusts the operator's own certificates besides the public ones, where some are named, and goes
    through his proxy unless GitHub is said to be private."""
    host, proxy = config.git_host(), None if config.github_private else config.proxy()
    try:
        # Through a proxy it is the proxy that looks names up, and the proxy itself may well be private.
        return open_session(ca_pem=host.ca_pem, proxy=proxy, resolver=resolver if proxy is None else None)
    except ValueError as error:
        raise ConfigError(f"GOFER_GITHUB_CA_FILE or GOFER_PROXY_CA_FILE: {error}") from None
