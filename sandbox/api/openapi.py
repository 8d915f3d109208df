"""The API in OpenAPI 3.1, as /openapi.json serves it: made from the table below and from the classes of the values.

A test calls every operation with what this describes and holds the answers against it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from sandbox.api import wire
from sandbox.job import MAX_PROMPT_BYTES, NAME_PATTERN, Budget, Handle, Outcome, Status

Json = dict[str, Any]

REFS = "#/components/schemas/{model}"
TAKEN: tuple[type[BaseModel], ...] = (wire.Repository, wire.Order)
GIVEN: tuple[type[BaseModel], ...] = (
    wire.Cloned,
    wire.Task,
    wire.SnapshotTaken,
    wire.Sandboxes,
    wire.ErrorAnswer,
    Handle,
    Outcome,
    Status,
)
# What any call of a sandbox may be answered with.
ALWAYS = (400, 401, 500, 503)
WORDS = {
    200: "done",
    202: "begun",
    204: "done",
    400: "the name, the query or the body does not fit; the rule is in words",
    401: "no bearer token of this runner",
    408: "the body did not arrive in time",
    409: "not now: a task runs, or something is not there yet; in words",
    413: "the body is too large",
    415: "the body has a Content-Encoding",
    422: "the sandbox could not be made ready; reason and words",
    500: "sandbox request failed; the cause is in the runner's log",
    502: "git failed",
    503: "the container engine cannot be asked, or too much is asked at once",
}


@cache
def description() -> Json:
    """The whole document. Do not change what it returns."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gofer runner",
            "version": "1",
            "description": "Coding agents in sandboxes that hold no credential and reach almost nothing.",
        },
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(),
        },
    }


def _schemas() -> Json:
    kinds: list[tuple[type[BaseModel], Any]] = [(kind, "validation") for kind in TAKEN]
    kinds += [(kind, "serialization") for kind in GIVEN]
    schemas: Json = models_json_schema(kinds, ref_template=REFS)[1]["$defs"]
    schemas["Task"].pop("required", None)
    schemas["Task"]["required"] = ["state"]  # result and error are there where they say something
    return schemas


def _paths() -> Json:
    name = _parameter("name", "path", {"type": "string", "pattern": NAME_PATTERN, "maxLength": 63}, "the sandbox")
    one = "/sandboxes/{name}"
    paths: Json = {
        "/healthz": {"get": _open("says ok, and nothing else", {"text/plain": {"schema": {"type": "string"}}})},
        "/openapi.json": {"get": _open("this description", {"application/json": {"schema": {"type": "object"}}})},
        "/sandboxes": {"get": _call("every sandbox of this runner", {200: wire.Sandboxes}, also=(401, 400, 500, 503))},
        one: {"delete": _call("discard the sandbox and all that is in it", {204: None})},
        f"{one}/repository": {"post": _clone()},
        f"{one}/task": {"post": _begin(), "get": _call("the state of its task", {200: wire.Task}), "delete": _cancel()},
        f"{one}/diff": {"get": _diff()},
        f"{one}/outcome": {"get": _call("all that is known of an ended task", {200: Outcome}, also=(*ALWAYS, 409))},
        f"{one}/events": {"get": _events()},
        f"{one}/snapshot": {
            "post": _call("save the workspace and stop", {200: wire.SnapshotTaken}, also=(*ALWAYS, 409))
        },
        f"{one}/copy": {"post": _copy()},
        f"{one}/job": {"put": _prepare()},
        f"{one}/job/start": {"post": _call("start the prepared task", {202: wire.Task}, also=(*ALWAYS, 409, 422))},
        f"{one}/status": {"get": _status()},
    }
    for path, methods in paths.items():
        if path.startswith(one):
            methods["parameters"] = [name]
    return paths


def _clone() -> Json:
    return _call(
        "clone a repository into the workspace, in place of what is there",
        {200: wire.Cloned, 502: wire.Cloned},
        also=(*ALWAYS, 408, 409, 413, 415),
        body=wire.Repository,
    )


def _begin() -> Json:
    bounds = [
        _parameter(key, "query", {"type": "number" if key == "cost_usd" else "integer", "exclusiveMinimum": 0}, "lower")
        for key in Budget.model_fields
    ]
    call = _call(
        "start the agent in the background",
        {202: wire.Task},
        also=(*ALWAYS, 408, 409, 413, 415),
        parameters=[
            _parameter("agent", "query", {"type": "string"}, "one that the operator offers"),
            _parameter("model", "query", {"type": "string"}, "one that the operator offers for the agent"),
            *bounds,
        ],
    )
    prompt = {"type": "string", "minLength": 1, "maxLength": MAX_PROMPT_BYTES}
    return call | {"requestBody": {"required": True, "content": {"text/plain": {"schema": prompt}}}}


def _cancel() -> Json:
    reason = _parameter("reason", "query", {"enum": ["cancelled", "deadline"]}, "what the outcome will say")
    return _call("end the task; its work so far can be read", {202: None}, also=(*ALWAYS, 409), parameters=[reason])


def _diff() -> Json:
    call = _call("all that changed since the clone", {}, also=(*ALWAYS, 409, 502))
    text = {"text/plain": {"schema": {"type": "string"}}}
    call["responses"]["200"] = {"description": "a patch for git apply", "content": text}
    return call


def _events() -> Json:
    call = _call("progress: events `status`, then `end` with the task's state", {})
    stream = {"text/event-stream": {"schema": {"type": "string"}}}
    call["responses"]["200"] = {"description": "server-sent events, with heartbeats", "content": stream}
    return call


def _copy() -> Json:
    origin = _parameter("from", "query", {"type": "string", "pattern": NAME_PATTERN, "maxLength": 63}, "whose snapshot")
    return _call(
        "make this sandbox from a snapshot", {204: None}, also=(*ALWAYS, 409), parameters=[origin | {"required": True}]
    )


def _prepare() -> Json:
    return _call(
        "for the bot: make a whole task ready; takes as long as it takes, and is safe to repeat",
        {200: Handle},
        also=(*ALWAYS, 408, 409, 413, 415, 422),
        body=wire.Order,
    )


def _status() -> Json:
    seconds = _parameter(
        "seconds", "query", {"type": "number", "minimum": 0, "maximum": 50}, "wait for the end so long"
    )
    return _call("for the bot: a look at its task", {200: Status}, parameters=[seconds])


def _call(
    summary: str,
    answers: dict[int, type[BaseModel] | None],
    *,
    also: tuple[int, ...] = ALWAYS,
    body: type[BaseModel] | None = None,
    parameters: list[Json] | None = None,
) -> Json:
    """One operation; ``also`` are the errors that it may be answered with."""
    responses = {str(status): _answer(status, kind) for status, kind in answers.items()}
    responses |= {
        str(status): _answer(status, wire.ErrorAnswer) for status in sorted(set(also)) if status not in answers
    }
    call: Json = {"summary": summary, "responses": responses}
    if parameters:
        call["parameters"] = parameters
    if body is not None:
        call["requestBody"] = {"required": True, "content": _json(body)}
    return call


def _open(summary: str, content: Json) -> Json:
    return {"summary": summary, "security": [], "responses": {"200": {"description": WORDS[200], "content": content}}}


def _answer(status: int, kind: type[BaseModel] | None) -> Json:
    return {"description": WORDS[status]} | ({} if kind is None else {"content": _json(kind)})


def _json(kind: type[BaseModel]) -> Json:
    return {"application/json": {"schema": {"$ref": REFS.format(model=kind.__name__)}}}


def _parameter(name: str, place: str, schema: Json, words: str) -> Json:
    return {"name": name, "in": place, "required": place == "path", "schema": schema, "description": words}
