"""The description is true: every operation is called as it describes, and every answer is held against it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox import PrepareFailed, Reason, Unreachable
from sandbox.api.openapi import description
from sandbox.api.routes import Routes
from sandbox.settings import Settings
from tests.sandbox.api.memory import Memory, Served, served

DOCUMENT = description()
OPERATIONS = sorted(
    (method, path) for path, item in DOCUMENT["paths"].items() for method in item if method != "parameters"
)
REPOSITORY = b'{"url": "https://github.com/octo/hello"}'
# What a caller may make of any field, beside what fits: the wrong kind, nothing, too much, and what breaks text.
ODD: st.SearchStrategy[Any] = st.sampled_from(
    ["", " ", "A", "a" * 64, "-a", "../x", "a\u0000b", "ä", -1, 0, 1.5, 10**30, True, None, [], {}, ["x"], {"x": 1}]
)


def test_the_description_is_openapi_and_its_schemas_are_json_schema() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    text = json.dumps(DOCUMENT)
    for name in DOCUMENT["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text, f"{name} is described and used nowhere"


def test_what_is_described_is_what_is_served() -> None:
    def nobody() -> Any:
        raise AssertionError

    table = Routes(nobody, Settings(state_dir=Path("/x"))).table()
    assert sorted((method.lower(), path.replace("{name:[^/]*}", "{name}")) for method, path, _ in table) == OPERATIONS


def hold(method: str, path: str, status: int, content_type: str, body: bytes) -> None:
    """Fail where this answer is not described."""
    responses = DOCUMENT["paths"][path][method]["responses"]
    assert str(status) in responses, f"{method} {path} answers {status}, which is not described: {body[:300]!r}"
    content = responses[str(status)].get("content")
    if content is None:
        assert body == b""
        return
    kind = content_type.split(";")[0]
    assert kind in content
    if kind == "application/json":
        schema = content[kind]["schema"] | {"components": DOCUMENT["components"]}
        jsonschema.validate(json.loads(body), schema, cls=jsonschema.Draft202012Validator)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref", "")
    return DOCUMENT["components"]["schemas"][reference.rpartition("/")[2]] if reference else schema


def fitting(schema: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that the schema describes, some of the time; odd ones otherwise."""
    schema = resolved(schema)
    if depth > 4 or "anyOf" in schema:
        return st.one_of(*(fitting(one, depth + 1) for one in schema.get("anyOf", ()))) if depth <= 4 else ODD
    match schema:
        case {"enum": values}:
            return st.sampled_from(values)
        case {"type": "object", "properties": properties}:
            required = set(schema.get("required", ()))
            parts = {key: fitting(value, depth + 1) for key, value in properties.items()}
            return st.fixed_dictionaries(
                {key: part for key, part in parts.items() if key in required},
                optional={key: part for key, part in parts.items() if key not in required},
            )
        case {"pattern": pattern}:
            return st.from_regex(pattern, fullmatch=True)
        case {"type": "integer" | "number"}:
            return st.integers(min_value=1, max_value=40)
        case {"type": "array", "items": items}:
            return st.lists(fitting(items, depth + 1), max_size=2)
        case {"type": "null"}:
            return st.none()
        case {"type": "string"}:
            return st.text(min_size=1, max_size=20)
    return ODD


@st.composite
def calls(draw: st.DrawFn, method: str, path: str) -> tuple[str, bytes | None]:
    """A call of the operation: its path with the query, and its body; each part fits most of the time."""
    item, operation = DOCUMENT["paths"][path], DOCUMENT["paths"][path][method]
    name = draw(st.sampled_from(["x", "empty", "busy", "done"]) | ODD)
    query = []
    for parameter in operation.get("parameters", ()):
        if parameter["required"] or draw(st.booleans()):
            value = draw(st.one_of(st.sampled_from(["x", "done", "claude"]), fitting(parameter["schema"]), ODD))
            query.append(f"{parameter['name']}={quote(str(value))}")
    if draw(st.integers(0, 9)) == 0:
        query.append("more=1")
    text = path.replace("{name}", quote(str(name), safe="")) if "parameters" in item else path
    return text + ("?" + "&".join(query) if query else ""), draw(bodies(operation, str(name)))


def bodies(operation: dict[str, Any], name: str) -> st.SearchStrategy[bytes | None]:
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        made = fitting(content["application/json"]["schema"]).map(lambda value: json.dumps(value).encode())
        job = {"job": {"name": name, "prompt": "do", "source": None}}
        good = st.sampled_from([REPOSITORY, json.dumps(job).encode()])
        return st.one_of(good, made, ODD.map(lambda value: json.dumps(value).encode()), st.binary(max_size=40))
    if content:
        return st.one_of(st.just(b"do it"), st.binary(max_size=40), st.text(max_size=40).map(str.encode))
    return st.none()


def good(method: str, path: str) -> tuple[str, bytes | None]:
    """A call that is served for certain."""
    name, body = "done", None
    match path.rpartition("/")[2], method:
        case "repository", _:
            body = REPOSITORY
        case "task", "post":
            body = b"do it"
        case "job", _:
            name, body = "new", b'{"job": {"name": "new", "prompt": "do", "source": null}}'
        case "copy", _:
            name = "new"
    return path.replace("{name}", name) + ("?from=done" if path.endswith("/copy") else ""), body


async def a_populated(runner: Served) -> None:
    """One sandbox of every kind."""
    memory = runner.memory
    memory.boxes.clear()
    for name in ("busy", "done", "full"):
        await runner.answer("POST", f"/sandboxes/{name}/repository", REPOSITORY)
    for name in ("busy", "done"):
        await runner.answer("POST", f"/sandboxes/{name}/task", b"do")
    await memory.end("done")
    await runner.answer("POST", "/sandboxes/done/snapshot")


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_every_operation_answers_as_it_is_described(method: str, path: str, tmp_path: Path) -> None:
    async with served(tmp_path) as runner:
        made: list[tuple[str, bytes | None]] = []

        @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(calls(method, path))
        def collect(call: tuple[str, bytes | None]) -> None:
            made.append(call)

        collect()
        made.append(good(method, path))
        statuses = set()
        for text, body in made:
            await a_populated(runner)
            if "/busy/events" in text or "/busy/status" in text:  # which wait for its end
                await runner.memory.end("busy")
            async with runner.call(method.upper(), text, body) as response:
                answer = await response.read()
                if response.status == 404:  # a name with a slash, or none at all: another path
                    continue
                statuses.add(response.status)
                hold(method, path, response.status, response.headers.get("Content-Type", ""), answer)
        assert min(statuses) < 300, "no call was served"


TROUBLES = [
    (Unreachable("hung"), 503),
    (RuntimeError("a surprise"), 500),
    (PrepareFailed(Reason.FETCH_FAILED, "no"), 422),
]


@pytest.mark.parametrize(("error", "status"), TROUBLES, ids=lambda value: str(value))
async def test_every_trouble_is_described_too(error: Exception, status: int, tmp_path: Path) -> None:
    """For each operation that can meet it; a task that cannot be made ready is told by three of them only."""
    bodies_of = {"/sandboxes/{name}/job": b'{"job": {"name": "done", "prompt": "do", "source": null}}'}
    async with served(tmp_path) as runner:
        await a_populated(runner)
        for method, path in OPERATIONS:
            if path in {"/healthz", "/openapi.json"} or (status == 422 and "422" not in responses(method, path)):
                continue
            runner.memory.trouble = dict.fromkeys(CALLS, error)
            text = path.replace("{name}", "done") + ("?from=busy" if path.endswith("/copy") else "")
            body = bodies_of.get(path, REPOSITORY if path.endswith("/repository") else b"do")
            async with runner.call(method.upper(), text, body if method in {"post", "put"} else None) as response:
                assert response.status == status, (method, path)
                hold(method, path, response.status, response.headers["Content-Type"], await response.read())


def responses(method: str, path: str) -> dict[str, Any]:
    return dict(DOCUMENT["paths"][path][method]["responses"])


CALLS = [name for name in vars(Memory) if not name.startswith("_")]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_every_operation_but_the_open_ones_refuses_whoever_has_no_token(
    method: str, path: str, tmp_path: Path
) -> None:
    async with served(tmp_path) as runner:
        runner.session.headers["Authorization"] = "Bearer nobody"
        async with runner.call(method.upper(), path.replace("{name}", "x")) as response:
            open_one = DOCUMENT["paths"][path][method].get("security") == []
            assert response.status == (200 if open_one else 401)
            hold(method, path, response.status, response.headers["Content-Type"], await response.read())
