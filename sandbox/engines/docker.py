"""The Docker Engine behind ``sandbox.engine.Engine``: performs plans, decides nothing.

The client library blocks, so every call runs in one pool of named size, has the library's own timeout, and an outer
one besides, because waiting for a free thread counts too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import requests
from docker import APIClient
from docker.errors import APIError, DockerException, NotFound

from sandbox import Unreachable
from sandbox.engine import (
    LABEL_INSTANCE,
    LABEL_SANDBOX,
    Differs,
    Found,
    Gone,
    Host,
    Image,
    Look,
    Plan,
    Refused,
    Volume,
)
from sandbox.engines.answers import gateway_of, image_from, item_from, look_from
from sandbox.engines.compare import differences
from sandbox.engines.endings import Endings
from sandbox.engines.streams import Attached, split_log
from sandbox.engines.threads import Threads

THREADS = 8  # calls under way at once; each is short, because nothing here waits for a container in a thread
CALL_SECONDS = 30.0  # one answer of the engine; a busy disk makes create and start take seconds
QUEUE_SECONDS = 15.0  # for a free thread, before that
LOG_SECONDS = 120.0  # reading a whole log: 64 MB at most (plan.LOG_OPTIONS)
KILL_SECONDS = 20.0  # until a killed container is seen not running
REMOVE_SECONDS = 30.0  # until a removal that somebody else began is over
LOOK_AGAIN_SECONDS = 0.05
ICC = "com.docker.network.bridge.enable_icc"

T = TypeVar("T")


class DockerEngine:
    """See ``sandbox.engine.Engine``. Open with ``await DockerEngine.open(url)``; use from that event loop only."""

    def __init__(self, client: APIClient, threads: Threads, endings: Endings, seconds: float) -> None:
        self._client = client
        self._seconds = seconds
        self._threads = threads
        self._endings = endings

    @classmethod
    async def open(cls, url: str, seconds: float = CALL_SECONDS) -> DockerEngine:
        """Connect. ``seconds`` for one answer. Raises ``Unreachable`` where no engine answers."""
        threads = Threads("gofer-engine", THREADS)

        def connect() -> APIClient:
            return APIClient(base_url=url, version="auto", timeout=seconds)  # type: ignore[arg-type]

        try:
            client = await _within(threads, "connect", connect, seconds + QUEUE_SECONDS)
        except BaseException:
            threads.close()
            raise
        # a client of its own: its one connection is busy for ever
        listener = APIClient(base_url=url, version=client.api_version)
        filters = {"type": "container", "event": "die", "label": LABEL_INSTANCE}
        return cls(client, threads, Endings(lambda: listener.events(filters=filters, decode=True)), seconds)

    async def close(self) -> None:
        self._endings.close()
        self._threads.close()
        self._client.close()

    async def host(self) -> Host:
        info = await self._call("info", self._client.info)
        runtimes = frozenset(info.get("Runtimes") or ())
        return Host(cpus=int(info["NCPU"]), runtimes=runtimes, version=str(info.get("ServerVersion") or ""))

    async def bridge_address(self) -> str:
        """This machine as ``host.docker.internal`` names it: reached by containers, and by nobody outside."""
        return await self._call("inspect the bridge", lambda: gateway_of(self._client.inspect_network("bridge")))

    async def image(self, tag: str) -> str | None:
        found = await self.look_at_image(tag)
        return None if found is None else found.id

    async def look_at_image(self, name: str) -> Image | None:
        try:
            return image_from(await self._call("inspect image", lambda: _untyped(self._client).inspect_image(name)))
        except Gone:
            return None

    async def create(self, plan: Plan) -> None:
        def create() -> list[str]:
            made = _untyped(self._client).create_container_from_config(dict(plan.settings), plan.name)
            wrong = differences(plan, self._client.inspect_container(made["Id"]))
            if wrong:
                self._client.remove_container(made["Id"], v=True, force=True)
            return wrong

        if wrong := await self._call(f"create {plan.name}", create):
            raise Differs(f"the engine did not make {plan.name} as planned: {'; '.join(wrong)}")

    async def put(self, container: str, folder: str, archive: bytes) -> None:
        if not await self._call("put", lambda: self._client.put_archive(container, folder, archive)):
            raise Refused(f"the engine did not take the files for {container}")

    async def start(self, container: str) -> None:
        await self._call(f"start {container}", lambda: self._client.start(container))

    @asynccontextmanager
    async def attach(self, container: str) -> AsyncIterator[Attached]:
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        hijacked = await self._call("attach", lambda: self._client.attach_socket(container, params))
        stream = Attached(hijacked)
        try:
            yield stream
        finally:
            stream.close()

    async def look(self, container: str) -> Look | None:
        try:
            seen = await self._call("inspect", lambda: self._client.inspect_container(container))
        except Gone:
            return None
        return look_from(seen["State"])

    async def kill(self, container: str) -> None:
        try:
            await self._call("kill", lambda: self._client.kill(container, "SIGKILL"))
        except Gone:
            return
        except Refused as error:
            if error.status != requests.codes.conflict:  # 409: it does not run
                raise
        await self._until(container, lambda look: look is None or not look.running, KILL_SECONDS, "still runs")

    async def remove(self, container: str) -> None:
        try:
            await self._call("remove", lambda: self._client.remove_container(container, v=True, force=True))
        except Gone:
            return
        except Refused as error:
            if error.status != requests.codes.conflict:  # 409: somebody else is removing it
                raise
            await self._until(container, lambda look: look is None, REMOVE_SECONDS, "is still there")

    async def logs(
        self, container: str, feed: Callable[[int, bytes], None], *, tail: int = 0, since: float = 0.0
    ) -> bool:
        # not the library's own call: it reads without any timeout
        url = f"{self._client.base_url}/v{self._client.api_version}/containers/{container}/logs"
        params = {"stdout": "1", "stderr": "1", "tail": str(tail or "all"), "since": f"{since:.9f}"}

        def read() -> bool:
            with self._client.get(url, params=params, stream=True, timeout=self._seconds) as answer:
                if answer.status_code == requests.codes.not_found:
                    return False
                if answer.status_code != requests.codes.ok:
                    raise Refused(f"logs of {container}: status {answer.status_code}", answer.status_code)
                split_log(answer.raw, feed)
                return True

        return await self._call("logs", read, LOG_SECONDS)

    async def ended(self, container: str, seconds: float) -> None:
        future = self._endings.expect(container)  # before the look: an end between the two is heard of
        try:
            look = await self.look(container)
            if look is not None and look.running:
                async with asyncio.timeout(seconds):
                    await future
        except TimeoutError:
            return
        finally:
            self._endings.forget(container, future)

    async def make_volume(self, volume: Volume) -> None:
        def make() -> None:
            self._client.create_volume(volume.name, "local", dict(volume.options), dict(volume.labels))

        await self._call(f"create volume {volume.name}", make)
        if await self.volume(volume.name) != volume:
            raise Refused(f"the volume {volume.name} exists with other options or labels")

    async def volume(self, name: str) -> Volume | None:
        try:
            seen = await self._call("inspect volume", lambda: self._client.inspect_volume(name))
        except Gone:
            return None
        return Volume(seen["Name"], dict(seen.get("Labels") or {}), dict(seen.get("Options") or {}))

    async def remove_volume(self, name: str) -> None:
        try:
            await self._call("remove volume", lambda: self._client.remove_volume(name))
        except Gone:
            return

    async def find(self, instance: str, sandbox: str | None = None) -> Found:
        wanted = [f"{LABEL_INSTANCE}={instance}"]
        if sandbox is not None:
            wanted.append(f"{LABEL_SANDBOX}={sandbox}")

        def find() -> Found:
            containers = self._client.containers(all=True, filters={"label": wanted})
            volumes = self._client.volumes(filters={"label": wanted}).get("Volumes") or []
            return Found(
                tuple(item_from(c["Names"][0].lstrip("/"), c["Labels"]) for c in containers if c.get("Names")),
                tuple(item_from(v["Name"], v["Labels"]) for v in volumes),
            )

        return await self._call("list", find)

    async def make_network(self, name: str, labels: Mapping[str, str]) -> None:
        def make() -> None:
            try:
                seen = self._client.inspect_network(name)
            except NotFound:
                options = {ICC: "false"}
                self._client.create_network(name, "bridge", options, labels=dict(labels), check_duplicate=True)
                seen = self._client.inspect_network(name)
            if (seen.get("Options") or {}).get(ICC) != "false" or seen.get("Labels") != dict(labels):
                raise Refused(f"the network {name} exists with other options or labels")

        await self._call(f"create network {name}", make)

    async def remove_network(self, name: str) -> None:
        try:
            await self._call("remove network", lambda: self._client.remove_network(name))
        except Gone:
            return

    async def _until(self, container: str, over: Callable[[Look | None], bool], seconds: float, words: str) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not over(await self.look(container)):  # noqa: ASYNC110 - no event tells of it
                    await asyncio.sleep(LOOK_AGAIN_SECONDS)
        except TimeoutError as error:
            raise Unreachable(f"{container} {words} after {seconds:.0f} s") from error

    async def _call(self, what: str, work: Callable[[], T], seconds: float | None = None) -> T:
        return await _within(self._threads, what, work, seconds or self._seconds + QUEUE_SECONDS)


async def _within(threads: Threads, what: str, work: Callable[[], T], seconds: float) -> T:
    """Run in a thread; turn every failure into the three that callers tell apart."""
    try:
        async with asyncio.timeout(seconds):
            return await threads.run(work)
    except NotFound as error:
        raise Gone(f"{what}: {error.explanation}") from error
    except APIError as error:
        raise Refused(f"{what}: {error.explanation}", error.status_code or 0) from error
    except (TimeoutError, DockerException, requests.RequestException, OSError) as error:
        raise Unreachable(f"the container engine did not answer ({what}): {error or type(error).__name__}") from error


def _untyped(client: APIClient) -> Any:
    """For the calls that the library's type stubs leave without types."""
    return client
