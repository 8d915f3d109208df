"""E31 and E08: this process resolves and dials nothing but what was vetted."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sandbox.egress.dial import PinnedLoop, Refused

Answers = Callable[[str], list[str]]


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answers], list[str]]:
    """Stands in for the world's name servers. Gives the list of names that were looked up."""
    asked: list[str] = []

    def install(answers: Answers) -> list[str]:
        def getaddrinfo(host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
            asked.append(host)
            return [
                (socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port))
                for ip in answers(host)
            ]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return asked

    return install


def run(work: Callable[[PinnedLoop], Awaitable[None]]) -> None:
    async def inside() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, PinnedLoop)
        await work(loop)

    with asyncio.Runner(loop_factory=PinnedLoop) as runner:
        runner.run(inside())


def test_e08_a_name_that_was_not_pinned_is_not_looked_up(resolver: Callable[[Answers], list[str]]) -> None:
    asked = resolver(lambda host: ["8.8.8.8"])

    async def work(loop: PinnedLoop) -> None:
        for host in ("evil.test", "api.test", "localhost"):
            with pytest.raises(Refused):
                await asyncio.open_connection(host, 443)

    run(work)
    assert asked == []


def test_e31_a_name_is_resolved_once_and_that_address_is_dialled(resolver: Callable[[Answers], list[str]]) -> None:
    """A resolver that answers with a public address first and with loopback afterwards (rebinding)."""
    turns = iter([["8.8.8.8"], ["127.0.0.1"], ["127.0.0.1"]])
    asked = resolver(lambda host: next(turns))

    async def work(loop: PinnedLoop) -> None:
        await loop.pin("api.test", 443, private=False)
        for _ in range(2):
            assert [entry[4][0] for entry in await loop.getaddrinfo("api.test", 443)] == ["8.8.8.8"]
        with pytest.raises(Refused, match="private"):
            await loop.pin("api.test", 443, private=False)
        with pytest.raises(Refused):
            await loop.getaddrinfo("api.test", 443)

    run(work)
    assert asked == ["api.test", "api.test"]


@pytest.mark.parametrize(
    "found",
    [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["169.254.169.254"], ["::1"], ["fe80::1%eth0"], ["::ffff:10.0.0.1"], []],
)
def test_e31_one_bad_address_is_enough_to_refuse(resolver: Callable[[Answers], list[str]], found: list[str]) -> None:
    resolver(lambda host: found)

    async def work(loop: PinnedLoop) -> None:
        with pytest.raises(Refused):
            await loop.pin("api.test", 443, private=False)
        with pytest.raises(Refused):
            await asyncio.open_connection("api.test", 443)

    run(work)


def test_e31_an_address_that_was_not_vetted_is_not_dialled() -> None:
    """Written as a number there is no lookup to refuse, so the dial itself is."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        async def work(loop: PinnedLoop) -> None:
            with pytest.raises(OSError, match="not approved"):
                await asyncio.open_connection("127.0.0.1", port)
            await loop.pin("127.0.0.1", port, private=True)
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            await writer.wait_closed()
            with pytest.raises(OSError, match="not approved"):
                await asyncio.open_connection("127.0.0.1", port + 1)

        run(work)


def test_a_name_that_cannot_be_resolved_says_so(resolver: Callable[[Answers], list[str]]) -> None:
    def nothing(host: str) -> list[str]:
        raise socket.gaierror(-2, "CANARY")

    resolver(nothing)

    async def work(loop: PinnedLoop) -> None:
        with pytest.raises(Refused, match=r"^api\.test cannot be resolved$"):
            await loop.pin("api.test", 443, private=False)

    run(work)
