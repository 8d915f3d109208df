from __future__ import annotations

import asyncio
import gzip
import json
import resource
import time
from collections.abc import AsyncIterator, Callable

import pytest

from bot.body import MAX_BODY, BodyReader
from bot.webhook import SERVER_OPTIONS
from sandbox import spawn
from tests.bot.deliveries import Client, Memory, deliver, headers_for, sample, serving

SMALL = 100_000


async def chunks(size: int, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * size


async def raw(client: Client, *lines: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Send a request's head by hand."""
    reader, writer = await asyncio.open_connection(client.host, client.port)
    head = ["POST / HTTP/1.1", "Host: x", *(f"{key}: {value}" for key, value in headers_for(b"").items()), *lines]
    writer.write("\r\n".join([*head, "", ""]).encode())
    return reader, writer


async def status(reader: asyncio.StreamReader) -> int:
    return int((await asyncio.wait_for(reader.readline(), 10)).split()[1])


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not fact():  # noqa: ASYNC110  the other side of a socket tells nobody when it has read
            await asyncio.sleep(0.001)


async def test_w13_a_length_over_the_cap_is_refused_before_a_byte_is_read() -> None:
    async with serving() as client:
        reader, writer = await raw(client, f"Content-Length: {2 * MAX_BODY}")
        assert await status(reader) == 413
        writer.close()


async def test_w13_an_endless_chunked_body_is_refused_at_the_cap_with_flat_memory() -> None:
    counting = BodyReader(max_body=SMALL)
    async with serving(reader=counting) as client:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        async with client.post("/", data=chunks(65_536, 2_000), headers=headers_for(b"")) as response:
            assert response.status == 413
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert counting.held == 0
    assert grown < 32 * 1024  # KiB; the sender alone would have sent 128 MiB


async def test_w13_a_payload_of_five_megabytes_is_taken() -> None:
    payload = sample() | {"more": "x" * 5_000_000}
    store = Memory()
    async with serving(store) as client:
        assert (await deliver(client, payload))[0] == 202
    assert len(store.added) == 1


async def test_w16_a_body_that_comes_too_slowly_is_given_up() -> None:
    counting = BodyReader(seconds=0.2)
    async with serving(reader=counting) as client:
        reader, writer = await raw(client, "Content-Length: 100")
        writer.write(b"{")
        assert await status(reader) == 408
        writer.close()
    assert counting.held == 0


async def test_w16_500_half_sent_bodies_hold_up_nobody() -> None:
    store = Memory()
    async with serving(store) as client:
        held = await asyncio.gather(*(raw(client, "Content-Length: 100") for _ in range(500)))
        took = []
        for _ in range(3):
            started = time.monotonic()
            assert (await deliver(client, sample()))[0] == 202
            took.append(time.monotonic() - started)
        assert min(took) < 1
        for _, writer in held:
            writer.close()


@pytest.mark.slow
async def test_w16_a_head_that_never_ends_is_given_up() -> None:
    async with serving() as client:
        reader, writer = await asyncio.open_connection(client.host, client.port)
        writer.write(b"POST / HTTP/1.1\r\nX-Slow: ")
        assert await asyncio.wait_for(reader.read(), SERVER_OPTIONS["keepalive_timeout"] + 5) == b""
        writer.close()


def test_w16_the_server_waits_ten_seconds_for_a_head_and_no_more() -> None:
    assert SERVER_OPTIONS["keepalive_timeout"] <= 10


async def test_w13_a_body_cut_short_or_malformed_is_no_error_of_ours() -> None:
    async with serving() as client:
        reader, writer = await raw(client, "Transfer-Encoding: chunked")
        writer.write(b"zz\r\n{}\r\n0\r\n\r\n")
        assert await status(reader) in {400, 401}
        writer.close()
        reader, writer = await raw(client, "Content-Length: 100")
        writer.write(b"{}")
        writer.write_eof()
        await asyncio.wait_for(reader.read(), 10)
        writer.close()
        assert (await deliver(client, sample()))[0] == 202


async def test_bodies_together_hold_no_more_than_their_share() -> None:
    counting = BodyReader(max_held=SMALL)
    async with serving(reader=counting) as client:
        _, first = await raw(client, f"Content-Length: {SMALL}")
        first.write(b" " * (SMALL - 1_000))
        await until(lambda: counting.held == SMALL - 1_000)
        status_code, answer = await deliver(client, sample())
        assert (status_code, answer) == (503, {"error": "too many large requests at one time"})
        first.close()
        await until(lambda: counting.held == 0)
        assert (await deliver(client, sample()))[0] == 202


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "identity", "gzip, gzip"])
async def test_w14_any_content_encoding_is_refused(coding: str) -> None:
    body = json.dumps(sample()).encode()
    async with serving() as client:
        reader, writer = await raw(client, f"Content-Length: {len(body)}", f"Content-Encoding: {coding}")
        assert await status(reader) in {400, 415}
        writer.close()


async def lag_while(client: Client, bomb: bytes) -> float:
    """The longest that the loop stood still while ``bomb`` was sent and refused; seconds."""
    lag = 0.0

    async def watch() -> None:
        nonlocal lag
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            lag = max(lag, time.monotonic() - before - 0.01)

    watcher = spawn(watch(), name="lag")
    async with asyncio.timeout(30):
        reader, writer = await raw(client, f"Content-Length: {len(bomb)}", "Content-Encoding: gzip")
        writer.write(bomb)
        assert await status(reader) == 415
    watcher.cancel()
    writer.close()
    return lag


@pytest.mark.parametrize(
    "bomb",
    [gzip.compress(b"\0" * (100 * 2**20)), gzip.compress(b"") * 200_000],
    ids=["100 MiB of zeros", "200,000 empty members"],
)
async def test_w14_a_bomb_stops_nobody_else(bomb: bytes) -> None:
    async with serving() as client:
        # The best of three: what unpacking costs is there every time, a busy machine is not.
        assert min([await lag_while(client, bomb) for _ in range(3)]) < 0.2
