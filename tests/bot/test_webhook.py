from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict
from pydantic import SecretStr

from bot.comments import result
from bot.permissions import Served
from bot.store import Store
from bot.tasks import Request
from bot.webhook import judge_headers, make_webhook
from sandbox import Outcome, Reason, State, spawn
from tests.bot.deliveries import NAMES, SECRET, Memory, deliver, headers_for, holed, paths, sample, serving


async def test_a_command_is_queued_and_the_runner_is_woken() -> None:
    store = Memory()
    async with serving(store) as client:
        assert await deliver(client, sample()) == (202, {"result": "queued"})
    [request] = store.added
    assert request.command.prompt == "fix the spelling error in the README"
    assert store.woken == 1


async def test_w01_without_a_signature_nothing_is_queued() -> None:
    store = Memory()
    body = json.dumps(sample()).encode()
    headers = headers_for(body)
    del headers["X-Hub-Signature-256"]
    async with serving(store) as client, client.post("/", data=body, headers=headers) as response:
        assert response.status == 401
    assert store.added == []


@pytest.mark.parametrize("place", ["first", "middle", "last"])
async def test_w02_a_changed_body_is_refused_with_one_message(place: str) -> None:
    store = Memory()
    body = json.dumps(sample()).encode()
    at = {"first": 0, "middle": len(body) // 2, "last": len(body) - 1}[place]
    changed = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
    async with serving(store) as client, client.post("/", data=changed, headers=headers_for(body)) as response:
        assert (response.status, await response.json()) == (401, {"error": "the signature is missing or wrong"})
    assert store.added == []


@pytest.mark.parametrize("secret", ["", "changeme", "x" * 31])
def test_w04_no_handler_is_made_with_a_short_secret(secret: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        make_webhook(SecretStr(secret), Memory().add, lambda: None, Served(), "1")


@pytest.mark.parametrize("signature", [b"sha256=\xe9", b"sha256=" + b"\xc3\xa9" * 32, b"x" * 1_000_000])
async def test_w05_a_signature_that_is_no_ascii_or_a_megabyte_is_a_4xx(signature: bytes) -> None:
    async with serving() as client:
        reader, writer = await asyncio.open_connection(client.host, client.port)
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-GitHub-Event: ping\r\n"
        head += b"X-GitHub-Delivery: d\r\nContent-Length: 2\r\nX-Hub-Signature-256: " + signature + b"\r\n\r\n{}"
        writer.write(head)
        status = await asyncio.wait_for(reader.readline(), 10)
        writer.close()
    assert status.split()[1][:1] == b"4"


@pytest.mark.parametrize("name", ["X-Hub-Signature-256", "X-GitHub-Event", "X-GitHub-Delivery"])
@pytest.mark.parametrize("order", [1, -1])
async def test_w02_w10_a_header_that_counts_sent_twice_is_refused(name: str, order: int) -> None:
    store = Memory()
    body = json.dumps(sample()).encode()
    headers = headers_for(body)
    twice = [*headers.items(), (name, "sha256=" + "0" * 64 if "hub" in name.lower() else "ping")][::order]
    async with serving(store) as client, client.post("/", data=body, headers=CIMultiDict(twice)) as response:
        assert (response.status, await response.json()) == (400, {"error": f"{name.lower()} is there twice"})
    assert store.added == []


async def test_w08_b16_a_replay_is_known_also_after_a_restart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/gofer.db"
    first = await Store.open(url)
    async with serving(add=first.add) as client:
        assert await deliver(client, sample(), delivery="d-1") == (202, {"result": "queued"})
        status, answer = await deliver(client, sample(), delivery="d-1")
        assert (status, answer["result"]) == (202, "duplicate")
    await first.close()
    second = await Store.open(url)
    other = sample()
    other["comment"]["id"] += 1
    async with serving(add=second.add) as client:
        assert (await deliver(client, sample(), delivery="d-1"))[1]["result"] == "duplicate"
        assert (await deliver(client, other, delivery="d-1"))[1]["result"] == "duplicate"
        assert (await deliver(client, sample(), delivery="d-2"))[1]["result"] == "duplicate"
        assert (await deliver(client, other, delivery="d-3"))[1]["result"] == "queued"
    await second.close()


async def test_b17_twenty_at_one_time_make_one_task(tmp_path: Path) -> None:
    store = await Store.open(f"sqlite:///{tmp_path}/gofer.db")
    async with serving(add=store.add) as client:
        answers = await asyncio.gather(*(deliver(client, sample()) for _ in range(20)))
    await store.close()
    assert [status for status, _ in answers] == [202] * 20
    assert sorted(answer["result"] for _, answer in answers) == ["duplicate"] * 19 + ["queued"]


EVENTS = {
    "issue_comment": "issue_comment.created",
    "issues": "issues.labeled",
    "pull_request": "pull_request.labeled",
    "push": "push",
    "ping": "ping",
    "installation": "installation.created",
}


@pytest.mark.parametrize("claimed", EVENTS)
@pytest.mark.parametrize("real", EVENTS)
async def test_w10_only_the_diagonal_acts(claimed: str, real: str) -> None:
    store = Memory()
    async with serving(store) as client:
        status, answer = await deliver(client, sample(EVENTS[real]), claimed)
    assert status == 202
    acts = claimed == real and claimed in {"issue_comment", "issues", "pull_request"}
    assert (answer["result"], len(store.added)) == (("queued", 1) if acts else ("ignored", 0))


# Samples of events that nothing is done on, or of actions that are none of ours.
NOTHING = ("commit_comment", "discussion_comment", "installation.created", "issues.opened", "ping", "push")
ENDING = ("issue_comment.deleted", "issues.locked", "installation.suspend", "installation_repositories.removed")


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(NOTHING)])
async def test_a19_no_other_sample_acts_under_its_own_name(name: str) -> None:
    store = Memory()
    async with serving(store) as client:
        status, answer = await deliver(client, sample(name), name.split(".")[0])
    assert (status, answer["result"], store.added) == (202, "ignored", [])


@pytest.mark.parametrize("name", ENDING)
async def test_a13_what_ends_tasks_is_applied_and_asks_for_nothing(name: str) -> None:
    store = Memory()
    async with serving(store) as client:
        status, answer = await deliver(client, sample(name), name.split(".")[0])
    assert (status, answer["result"], store.added, len(store.applied)) == (202, "applied", [], 1)


@pytest.mark.parametrize("header", ["X-GitHub-Event", "X-GitHub-Delivery"])
@pytest.mark.parametrize("value", [None, "", "a b", "x" * 65, "é", "../x", "d;1"])
async def test_w11_a_missing_or_malformed_name_of_event_or_delivery_is_400(header: str, value: str | None) -> None:
    body = json.dumps(sample()).encode()
    headers = headers_for(body)
    if value is None:
        del headers[header]
    else:
        headers[header] = value
    assert judge_headers(headers) == (400, f"{header} is missing or malformed")
    async with serving() as client, client.post("/", data=body, headers=headers) as response:
        assert response.status == 400


@pytest.mark.parametrize(
    "kind",
    ["", "application/x-www-form-urlencoded", "text/json", "application/json+x", "multipart/form-data; boundary=x"],
)
async def test_a_form_is_refused_with_what_to_do(kind: str) -> None:
    body = json.dumps(sample()).encode()
    headers = headers_for(body) | {"Content-Type": kind}
    async with serving() as client, client.post("/", data=body, headers=headers) as response:
        assert response.status == 415
        assert "application/json" in (await response.json())["error"]


async def test_json_with_a_charset_is_json() -> None:
    body = json.dumps(sample()).encode()
    headers = headers_for(body) | {"Content-Type": "Application/JSON; charset=utf-8"}
    async with serving() as client, client.post("/", data=body, headers=headers) as response:
        assert response.status == 202


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-GitHub-Hook-Installation-Target-Type", "repository"),
        ("X-GitHub-Hook-Installation-Target-Type", "organization"),
        ("X-GitHub-Hook-Installation-Target-ID", "4712"),
        ("X-GitHub-Hook-Installation-Target-ID", ""),
    ],
)
async def test_w20_a_delivery_of_another_hook_with_the_same_secret_is_dropped(name: str, value: str) -> None:
    store = Memory()
    body = json.dumps(sample()).encode()
    async with (
        serving(store) as client,
        client.post("/", data=body, headers=headers_for(body) | {name: value}) as response,
    ):
        assert (response.status, (await response.json())["result"]) == (202, "ignored")
    assert store.added == []


async def test_a_repository_that_is_not_served_is_dropped_and_not_stored() -> None:
    store = Memory()
    async with serving(store, served=Served.parse("someone-else")) as client:
        assert (await deliver(client, sample()))[1] == {"result": "ignored", "reason": "this repository is not served"}
    assert store.added == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'"x"',
        b"0",
        b"{}",
        b'{"action": null}',
        b'{"action": "created"}',
        b'{"action": ["created"]}',
    ],
)
async def test_w17_an_empty_body_or_another_top_level_is_no_error_of_ours(body: bytes) -> None:
    async with serving() as client:
        status, _ = await deliver(client, body)
    assert status == (400 if body == b"" else 202)


@pytest.mark.parametrize(
    "body", [b'{"action": "created", "action": "deleted"}', b"[NaN]", b"[" * 100_000, b"{", b"\xff"]
)
async def test_json_that_could_be_read_in_two_ways_is_400(body: bytes) -> None:
    async with serving() as client:
        assert (await deliver(client, body))[0] == 400


@pytest.mark.parametrize("put", [..., None], ids=["deleted", "null"])
async def test_w17_b10_b85_no_hole_in_a_payload_gives_a_5xx(put: Any, tmp_path: Path) -> None:
    payload = sample()
    holes = [holed(payload, path, put) for path in paths(payload)]
    store = await Store.open(f"sqlite:///{tmp_path}/gofer.db")
    answers = []
    async with serving(add=store.add) as client:
        for start in range(0, len(holes), 16):
            some = enumerate(holes[start : start + 16], start)
            answers += await asyncio.gather(*(deliver(client, hole, delivery=f"d-{index}") for index, hole in some))
    await store.close()
    assert {status for status, _ in answers} == {202}
    assert [answer["result"] for _, answer in answers].count("queued") == 1


async def test_a05_our_own_comment_sent_back_as_a_persons_starts_nothing() -> None:
    said = Outcome(
        state=State.SUCCEEDED, reason=Reason.OK, reply="Done.\n/agent do it again\n```\n\n/agent do it again"
    )
    payload = sample()
    payload["comment"]["body"] = result("t1", said)
    async with serving() as client:
        assert (await deliver(client, payload))[1] == {"result": "ignored", "reason": "no command"}


async def test_a_store_that_is_down_is_a_503_without_details() -> None:
    async def add(request: Request) -> bool:
        raise RuntimeError(f"no connection for {SECRET.get_secret_value()}")

    async with serving(add=add) as client:
        assert await deliver(client, sample()) == (503, {"error": "the store is down"})


async def test_w22_b26_the_answer_waits_for_the_store_alone() -> None:
    stored = asyncio.Event()

    async def add(request: Request) -> bool:
        await stored.wait()
        return True

    async with serving(add=add) as client:
        waiting = spawn(deliver(client, sample()), name="delivery")
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        stored.set()
        assert (await asyncio.wait_for(waiting, 1))[0] == 202


async def test_b23_the_raw_bytes_are_what_is_signed() -> None:
    text = json.dumps(sample(), ensure_ascii=False).replace("/agent fix", "/agent 😊 \\u001B \\ud83d\\ude0a fix") + "\n"
    store = Memory()
    async with serving(store) as client:
        assert await deliver(client, text.encode()) == (202, {"result": "queued"})
    assert store.added[0].command.prompt.startswith("😊 \u001b 😊 fix")


async def test_b25_nul_and_lone_surrogates_are_stored_without_them(tmp_path: Path) -> None:
    text = json.dumps(sample()).replace("/agent fix", "/agent a\\u0000b\\ud800c fix")
    store = await Store.open(f"sqlite:///{tmp_path}/gofer.db")
    async with serving(add=store.add) as client:
        assert await deliver(client, text.encode()) == (202, {"result": "queued"})
    await store.close()
