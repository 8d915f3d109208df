"""The API as a server: it listens before the engine is asked for anything, and goes on when it answers again."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from sandbox import Unreachable, Workspaces
from sandbox.api import tokens
from sandbox.api.binding import Place, place_of
from sandbox.api.guard import Guard
from sandbox.api.routes import Routes
from sandbox.background import spawn
from sandbox.settings import ApiSettings, Settings

_log = logging.getLogger(__name__)

# aiohttp's own values trust the other side too far: it would unpack bodies that are refused unread, read on for ten
# seconds after an error, and keep a connection without a whole request head for an hour.
SERVER_OPTIONS: Final[dict[str, Any]] = {
    "access_log": None,
    "auto_decompress": False,
    "lingering_time": 1.0,
    "keepalive_timeout": 15.0,
    "shutdown_timeout": 1.0,
    "max_line_size": 4_096,
    "max_field_size": 4_096,
}
# At one time; the next one is closed at once. Calls are bounded apart (`guard.MAX_CALLS`).
MAX_CONNECTIONS: Final = 512
# Seconds between two tries to open the engine while it does not answer.
REOPEN_SECONDS: Final = 5.0
# Owner and group: the bot's user is in the group.
SOCKET_MODE: Final = 0o660

Opener = Callable[[], Awaitable[Workspaces]]


class RunnerServer:
    """A runner that listens. Use `serving`."""

    def __init__(self, settings: Settings, api: ApiSettings, opener: Opener) -> None:
        self._place = place_of(api)
        try:
            keyring = tokens.Keyring(tokens.read(api.tokens_file))
        except ValueError as error:
            raise ValueError(f"the tokens: {error}") from None
        self._opener = opener
        self._workspaces: Workspaces | None = None
        self._opening: asyncio.Task[Exception | None] | None = None
        self._runner = web.AppRunner(make_app(self.workspaces, settings, keyring), **SERVER_OPTIONS)
        self._server: asyncio.Server | None = None
        self.url = ""
        """Where it listens, as a client takes it."""

    def workspaces(self) -> Workspaces:
        """The open face. Raises ``Unreachable`` while the engine has not answered yet."""
        if self._workspaces is None:
            raise Unreachable("it has not answered yet since this runner was started")
        return self._workspaces

    async def listen(self) -> None:
        """Take calls from now on. Raises ``ValueError`` where the address cannot be had."""
        await self._runner.setup()
        try:
            self._server = await _bind(self._runner, self._place)
        except OSError as error:
            raise ValueError(
                f"cannot listen on {self._place.url(self._place.port)}: {error.strerror or error}"
            ) from None
        bound = 0 if self._place.path else self._server.sockets[0].getsockname()[1]
        self.url = self._place.url(bound)
        self._opening = spawn(self._open(), name="open-engine")

    async def failed(self) -> Exception:
        """Why it cannot work as it is set up, when that is known; never returns otherwise."""
        if self._opening is None:
            raise RuntimeError("listen comes first")
        error = await asyncio.shield(self._opening)
        if error is None:
            await asyncio.Event().wait()
        return error or RuntimeError("unreachable")

    async def opened(self) -> None:
        """Until the engine has answered. Raises what `failed` returns."""
        if self._opening is not None and (error := await asyncio.shield(self._opening)) is not None:
            raise error

    async def stop(self) -> None:
        """Stop listening. Sandboxes run on."""
        if self._server is not None:
            self._server.close()
        await self._runner.cleanup()
        if self._place.path is not None and self._server is not None:
            with suppress(OSError):
                self._place.path.unlink()
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._workspaces is not None:
            await self._workspaces.close()

    async def _open(self) -> Exception | None:
        """The operator's mistake as a value: raised in a task it would be logged with a traceback besides."""
        while True:
            try:
                self._workspaces = await self._opener()
            except Unreachable as error:
                _log.warning("the engine does not answer; callers are told so meanwhile: %s", error)
                await asyncio.sleep(REOPEN_SECONDS)
            except (ValueError, RuntimeError) as error:
                return error
            else:
                return None


def make_app(workspaces: Callable[[], Workspaces], settings: Settings, keyring: tokens.Keyring) -> web.Application:
    """All routes behind the guard. To be served with ``SERVER_OPTIONS``."""
    app = web.Application(middlewares=[Guard(keyring).middleware])
    for method, path, handler in Routes(workspaces, settings).table():
        app.router.add_route(method, path, handler)
    return app


async def _bind(runner: web.AppRunner, place: Place) -> asyncio.Server:
    """Only so many connections at a time; a socket file is never open to more than owner and group."""
    loop, server = asyncio.get_running_loop(), runner.server
    if server is None:
        raise RuntimeError("the application is not set up")

    def connection() -> asyncio.BaseProtocol:
        return server() if len(server.connections) < MAX_CONNECTIONS else _Full()

    if place.path is None:
        return await loop.create_server(connection, place.host, place.port, ssl=place.tls)
    return await loop.create_unix_server(connection, sock=_unix_socket(place.path))


def _unix_socket(path: Path) -> socket.socket:
    """A socket of an earlier run is replaced; whatever else is there is not. Raises ``OSError``."""
    if stat.S_ISSOCK(_mode(path)):
        _refuse_one_in_use(path)
        path.unlink()
    bound = socket.socket(socket.AF_UNIX)
    before = os.umask(0o117)
    try:
        bound.bind(str(path))
    except BaseException:
        bound.close()
        raise
    finally:
        os.umask(before)
    os.chmod(path, SOCKET_MODE)
    return bound


def _refuse_one_in_use(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            return  # nobody is there: left by a process that was killed
    raise OSError(errno.EADDRINUSE, "another process listens there")


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


class _Full(asyncio.Protocol):
    """One connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        _log.warning("%d connections are open: another one is refused", MAX_CONNECTIONS)
        transport.close()


@asynccontextmanager
async def serving(settings: Settings, api: ApiSettings, opener: Opener) -> AsyncIterator[RunnerServer]:
    """A runner that listens until the block is left. Raises ``ValueError`` with what to do where it cannot be."""
    server = RunnerServer(settings, api, opener)
    try:
        await server.listen()
        yield server
    finally:
        await server.stop()
