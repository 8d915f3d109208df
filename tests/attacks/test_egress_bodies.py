"""Row E34 on a real egress container: a question is judged whole before a byte of it goes upstream."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.sandbox.egress.rig import (
    MODEL_KEY,
    PLACEHOLDER,
    Arrived,
    Egress,
    Exchange,
    StandIn,
    World,
    ok_json,
    policy_for,
    post,
)

pytestmark = pytest.mark.engine

URL = "https://evil.test/CANARY"
ALL = ["anthropic-messages", "openai-responses", "openai-chat"]
# What follows shows that nothing comes: so long is waited for it.
NOTHING_SECONDS = 1


@pytest.fixture(scope="module")
def egress(here: World, model: StandIn) -> Egress:
    return here.start(policy_for(model, apis=ALL, header="authorization"))


@pytest.fixture(autouse=True)
def _fresh(model: StandIn) -> None:
    model.forget()
    model.answering = ok_json


def user(*parts: Any) -> list[Any]:
    return [{"role": "user", "content": list(parts)}]


ATTACKS: dict[str, tuple[str, bytes | dict[str, Any]]] = {
    "messages: web search": ("/v1/messages", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
    "messages: web fetch": ("/v1/messages?beta=true", {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}),
    "messages: code": ("/v1/messages", {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]}),
    "messages: servers": ("/v1/messages", {"mcp_servers": [{"type": "url", "url": URL, "name": "x"}]}),
    "messages: image": ("/v1/messages", {"messages": user({"type": "image", "source": {"type": "url", "url": URL}})}),
    "messages: document": (
        "/v1/messages",
        {"messages": user({"type": "document", "source": {"type": "url", "url": URL}})},
    ),
    "messages: file": (
        "/v1/messages",
        {"messages": user({"type": "image", "source": {"type": "file", "file_id": "f"}})},
    ),
    "counting: document": (
        "/v1/messages/count_tokens",
        {"messages": user({"type": "document", "source": {"type": "url", "url": URL}})},
    ),
    "messages: tools twice": ("/v1/messages", b'{"tools":[],"tools":[{"type":"web_search_20250305","name":"w"}]}'),
    "messages: escaped": ("/v1/messages", b'{"\\u006dcp_servers":[{"type":"url","url":"https://evil.test/CANARY"}]}'),
    "messages: a batch": ("/v1/messages", {"requests": [{"custom_id": "x", "params": {"mcp_servers": []}}]}),
    "messages: UTF-16": ("/v1/messages", '{"model":"CANARY"}'.encode("utf-16")),
    "messages: gzip": ("/v1/messages", gzip.compress(b'{"model":"CANARY"}')),
    "messages: no JSON": ("/v1/messages", b'{"model":"CANARY"'),
    "messages: deep": ("/v1/messages", b'{"model":' + b"[" * 9_000 + b"]" * 9_000 + b"}"),
    "responses: web search": ("/v1/responses", {"store": False, "tools": [{"type": "web_search"}]}),
    "responses: a server": (
        "/v1/responses",
        {"store": False, "tools": [{"type": "mcp", "server_label": "x", "server_url": URL}]},
    ),
    "responses: an earlier one": ("/v1/responses", {"store": False, "previous_response_id": "resp_1"}),
    "responses: a prompt": ("/v1/responses", {"store": False, "prompt": {"id": "pmpt_1"}}),
    "responses: background": ("/v1/responses", {"store": False, "background": True}),
    "responses: kept": ("/v1/responses", {"input": "x"}),
    "responses: image": (
        "/v1/responses",
        {"store": False, "input": user({"type": "input_image", "image_url": URL})},
    ),
    "responses: file": ("/v1/responses", {"store": False, "input": user({"type": "input_file", "file_url": URL})}),
    "chat: web search": ("/v1/chat/completions", {"web_search_options": {}}),
    "chat: image": ("/v1/chat/completions", {"messages": user({"type": "image_url", "image_url": {"url": URL}})}),
    "chat: file": ("/v1/chat/completions", {"messages": user({"type": "file", "file": {"file_id": "f"}})}),
    "chat: a server": ("/v1/chat/completions", {"tools": [{"type": "mcp", "server_url": URL}]}),
}


def test_e34_nothing_that_the_provider_would_do_by_itself_gets_to_it(egress: Egress, model: StandIn) -> None:
    exchanges = [
        Exchange(post(path, body if isinstance(body, bytes) else json.dumps(body).encode()))
        for path, body in ATTACKS.values()
    ]
    answers = egress.talk(*exchanges)
    told = {name: (answer.status, bool(answer.text.strip())) for name, answer in zip(ATTACKS, answers, strict=True)}
    assert told == dict.fromkeys(ATTACKS, (403, True))
    assert model.connections == 0


QUESTIONS = {
    "/v1/messages": b'{"model": "m",\n "messages": [{"role":"user","content":"\\u00e9 CANARY"}] }',
    "/v1/responses": b'{"model":"m", "store":false,"input":"CANARY"}\n',
    "/v1/chat/completions": b'{"model":"m","messages":[]}',
}


def test_e34_what_was_judged_is_what_arrives_byte_for_byte(egress: Egress, model: StandIn) -> None:
    """Also where it came in small pieces."""
    exchanges = []
    for path, body in QUESTIONS.items():
        pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
        head = post(path, b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
        exchanges += [Exchange(post(path, body)), Exchange(head + pieces + b"0\r\n\r\n")]
    assert [answer.status for answer in egress.talk(*exchanges)] == [200] * 6
    assert [request.body for request in model.requests] == [body for body in QUESTIONS.values() for _ in range(2)]
    for request in model.requests:
        assert request.header("content-length") == [str(len(request.body))]
        assert request.header("transfer-encoding") == []
        assert request.header("authorization") == [f"Bearer {MODEL_KEY}"]
    assert PLACEHOLDER.encode() not in model.raw


def test_e22_a_trailer_reaches_nobody(egress: Egress, model: StandIn) -> None:
    head = post("/v1/messages", b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
    egress.say(head + b"2\r\n{}\r\n0\r\nx-api-key: CANARY\r\n\r\n")
    assert b"CANARY" not in model.raw


def test_e26_nothing_is_dialled_before_the_body_is_whole(egress: Egress, model: StandIn) -> None:
    head = post("/v1/messages", b"").replace(b"content-length: 0", b"content-length: 1000")
    answer = egress.say(head + b'{"model":"CANARY', seconds=NOTHING_SECONDS)
    assert (answer.status, model.connections) == (0, 0)


def test_e34_a_body_that_says_that_it_is_encoded_is_refused_by_its_head(egress: Egress, model: StandIn) -> None:
    body = gzip.compress(b"{}")
    answers = egress.talk(
        *(Exchange(post("/v1/messages", body, f"content-encoding: {how}")) for how in ("gzip", "br", "x", "GZIP"))
    )
    assert [answer.status for answer in answers] == [415] * 4
    assert model.connections == 0


def test_e34_a_refusal_after_100_continue_is_still_told_in_words(egress: Egress, model: StandIn) -> None:
    answer = egress.say(post("/v1/messages", b'{"x":1}', "expect: 100-continue"), until=b"sandbox\n")
    assert answer.data.startswith(b"HTTP/1.1 100 Continue\r\n")
    assert b"HTTP/1.1 403 Forbidden" in answer.data
    assert b'the part "x" is not allowed from this sandbox\n' in answer.data
    assert model.connections == 0


@pytest.mark.slow
def test_e29_bodies_that_are_kept_have_a_bound_together_and_give_it_back(egress: Egress, model: StandIn) -> None:
    """Three clients at once, each within its own bound, none with its end."""
    size = 30 * 2**20
    head = post("/v1/messages", b"", "expect: 100-continue").replace(b"length: 0", b"length: %d" % (size + 1))

    def one(then: Exchange | None) -> Exchange:
        return Exchange(head, zeros=size, then=then, then_when=b"100 Continue", until=b"\n\r\n\n", seconds=3)

    first = egress.say(head, zeros=size, then=one(one(None)), then_when=b"100 Continue", until=b"never", seconds=3)
    assert first.then is not None
    assert first.then.then is not None
    third = first.then.then
    assert b"HTTP/1.1 413" in third.data or third.error
    assert [fact["reason"] for fact in egress.verdicts() if fact["status"] == 413] == [
        f"all bodies that are under way may have {64 * 2**20} bytes together at most"
    ]
    assert model.connections == 0
    whole = post("/v1/messages", b"").replace(b"length: 0", b"length: %d" % (size + 12))
    assert egress.say(whole + b'{"model":"', zeros=size, of=ord("x"), last=b'"}').status == 200


def test_what_openais_clients_say_of_themselves_travels_and_whose_account_it_is_does_not(
    egress: Egress, model: StandIn
) -> None:
    travels = {
        "originator": "codex_exec", "session-id": "s", "thread-id": "t", "x-codex-window-id": "w", "openai-beta": "b",
        "x-session-affinity": "a", "x-stainless-lang": "js", "x-client-request-id": "r",
    }  # fmt: skip
    stays = {
        "OpenAI-Organization": "org-STOLEN", "OpenAI-Project": "proj_STOLEN", "chatgpt-account-id": "STOLEN",
        "authorization": "Bearer STOLEN", "x-codex-auth-token": "STOLEN", "anthropic-organization-id": "STOLEN",
    }  # fmt: skip
    extra = [f"{name}: {value}" for name, value in {**travels, **stays}.items()]
    egress.say(post("/v1/responses", b'{"store":false}', *extra))
    (request,) = model.requests
    assert {name: request.header(name) for name in travels} == {name: [value] for name, value in travels.items()}
    assert b"STOLEN" not in model.raw


@pytest.mark.parametrize(
    ("terms", "header", "value"),
    [
        ({"header": "cf-aig-authorization"}, "cf-aig-authorization", f"Bearer {MODEL_KEY}"),
        ({"header": "x-api-key", "oauth": True}, "authorization", f"Bearer {MODEL_KEY}"),
    ],
)
def test_c04_each_kind_of_credential_goes_alone(
    here: World, model: StandIn, terms: dict[str, Any], header: str, value: str
) -> None:
    egress = here.start(policy_for(model, prefix="/v1/acc/gw/anthropic", **terms))
    egress.say(post("/v1/messages?beta=true", b"{}", "anthropic-version: 2023-06-01", "anthropic-beta: x-1"))
    (request,) = model.requests
    assert request.line == "POST /v1/acc/gw/anthropic/v1/messages?beta=true HTTP/1.1"
    sent = {name: request.header(name) for name in ("x-api-key", "authorization", "cf-aig-authorization")}
    assert sent == {**{name: [] for name in sent}, header: [value]}
    beta = ["x-1,oauth-2025-04-20"] if terms.get("oauth") else ["x-1"]
    assert request.header("anthropic-beta") == beta


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", "/v1/chat/completions"])
def test_c05_an_echoed_key_is_masked_whatever_the_api(egress: Egress, model: StandIn, path: str) -> None:
    def echo(request: Arrived, send: Any) -> None:
        value = request.header("authorization")[0].encode()
        send(b"HTTP/1.1 401 No\r\nx-echo: %s\r\ntransfer-encoding: chunked\r\n\r\n" % value)
        for at in range(0, len(value), 5):
            send(b"%x\r\n%s\r\n" % (len(value[at : at + 5]), value[at : at + 5]))
        send(b"0\r\n\r\n")

    model.answering = echo
    answer = egress.say(post(path, QUESTIONS[path]), until=b"0\r\n\r\n")
    assert answer.status == 401
    plain = b"".join(answer.data.partition(b"\r\n\r\n")[2].split(b"\r\n")[1::2])
    assert MODEL_KEY.encode() not in answer.data
    assert MODEL_KEY.encode() not in plain
    assert b"*" * len(MODEL_KEY) in plain


def test_only_the_apis_of_the_gateway_are_spoken_and_no_other_endpoint(
    egress: Egress, here: World, model: StandIn
) -> None:
    other = [
        "/v1/files", "/v1/messages/batches", "/v1/batches", "/v1/models", "/v1/responses/resp_1",
        "/v1/responses/resp_1/cancel", "/v1/responses/compact", "/v1/conversations", "/v1/vector_stores",
        "/v1/chat/completions/chatcmpl-1", "/v1/embeddings", "/v1/realtime/sessions", "/v1/containers", "/v1/skills",
        "/v1/responses?x=1", "/v1/chat/completions/", "//v1/responses", "/v1/Responses", "/responses",
        "/v1/organizations/me", "/v1/completions",
    ]  # fmt: skip
    answers = egress.talk(*(Exchange(post(path, b'{"store":false}')) for path in other))
    assert {path: answer.status for path, answer in zip(other, answers, strict=True)} == dict.fromkeys(other, 403)
    chat = here.start(policy_for(model, apis=["openai-chat"]))
    answers = chat.talk(*(Exchange(post(path, QUESTIONS[path])) for path in QUESTIONS))
    assert [answer.status for answer in answers] == [403, 403, 200]
    assert model.connections == 1


@pytest.mark.slow
def test_where_there_is_no_model_there_is_no_socket_to_it(here: World, model: StandIn) -> None:
    egress = here.start({**policy_for(model), "model": None}, model="")
    found = egress.run("find", "/sock/agent", "-name", "*.sock", "-printf", "%f ")
    assert "model.sock" not in found
    assert "general.sock" in found


@pytest.mark.slow
def test_an_operator_may_let_the_provider_act(here: World, model: StandIn) -> None:
    egress = here.start(policy_for(model, server_side=True))
    body = b'{"model":"m","tools":[{"type":"web_search_20250305","name":"w"}]}'
    assert egress.say(post("/v1/messages", body)).status == 200
    assert model.requests[0].body == body
    assert egress.say(post("/v1/messages", b'{"tools":[],"tools":[]}')).status == 403
