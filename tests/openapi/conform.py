"""Hold what was asked of GitHub, and what the local GitHub answered, against GitHub's own OpenAPI description.

Unknown fields and unknown query names are errors too: GitHub ignores them silently, so a typo would never be seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import graphql
from jsonschema import Draft202012Validator, FormatChecker

from bot.demo.github_log import Exchange

DESCRIPTION = Path(__file__).parent / "github.json"
# GitHub answers these everywhere; its description lists them for some operations only.
UNDOCUMENTED = {301, 307, 400, 401, 403, 404, 410}

Json = dict[str, Any]


def assert_conforms(log: Iterable[Exchange]) -> None:
    """Every request conforms, and every answer that no failure script has made. git's requests are not GitHub's API."""
    problems = [f"{exchange}: {problem}" for exchange in log for problem in problems_of(exchange)]
    assert problems == [], "\n".join(problems)


def problems_of(exchange: Exchange) -> Iterator[str]:
    """What is wrong with one exchange, in words."""
    if exchange.operation.startswith("git/"):
        return
    if exchange.operation == "graphql":
        yield from graphql_problems(exchange)
        return
    found = find(exchange.method, exchange.path)
    if found is None:
        yield "GitHub has no such operation (or tests/openapi/github.json lacks it)"
        return
    operation, values = found
    yield from request_problems(operation, values, exchange)
    if not exchange.scripted and exchange.status is not None:
        yield from answer_problems(operation, exchange)


def graphql_problems(exchange: Exchange) -> Iterator[str]:
    """GitHub answers a document that it does not understand with status 200 and errors."""
    asked = json.loads(exchange.request_body)
    if set(asked) - {"query", "variables"}:
        yield f"unknown fields of a GraphQL request: {', '.join(sorted(asked))}"
    yield from (error.message for error in graphql.validate(graphql_schema(), graphql.parse(asked["query"])))


@cache
def graphql_schema() -> graphql.GraphQLSchema:
    """The cut of GitHub's own."""
    return graphql.build_schema((DESCRIPTION.parent / "github.graphql").read_text())


def request_problems(operation: Json, values: dict[str, str], exchange: Exchange) -> Iterator[str]:
    parameters = [resolved(parameter) for parameter in operation.get("parameters", [])]
    for parameter in parameters:
        if parameter["in"] == "path":
            yield from misfits(parameter["schema"], typed(parameter, values[parameter["name"]]), parameter["name"])
    known = {parameter["name"]: parameter for parameter in parameters if parameter["in"] == "query"}
    for name, value in exchange.query:
        if name not in known:
            yield f"unknown query name {name}"
        else:
            yield from misfits(known[name]["schema"], typed(known[name], value), name)
    for name in ("user-agent", "accept", "x-github-api-version"):
        if not exchange.request_headers.get(name):
            yield f"no {name} header"
    body = resolved(operation.get("requestBody", {}))
    if not body:
        if exchange.request_body:
            yield "a body where GitHub takes none"
    elif exchange.request_body:
        yield from misfits(json_schema(body), json.loads(exchange.request_body), "body")
    elif body.get("required"):
        yield "no body"


def answer_problems(operation: Json, exchange: Exchange) -> Iterator[str]:
    documented = operation["responses"].get(str(exchange.status))
    if documented is None:
        if exchange.status not in UNDOCUMENTED:
            yield f"status {exchange.status} is not documented"
        return
    content = resolved(documented).get("content")
    if content is None:
        if exchange.response_body:
            yield "an answer's body where GitHub sends none"
    else:
        schema = next(iter(content.values()))["schema"]
        yield from misfits(schema, json.loads(exchange.response_body), "answer")


def misfits(schema: Json, value: Any, where: str) -> Iterator[str]:
    """Where ``value`` does not fit ``schema``, and which of its fields the schema does not know."""
    for error in validator(json.dumps(schema)).iter_errors(value):
        yield f"{where}{error.json_path[1:]}: {error.message[:200]}"
    yield from (f"{where}{path}: unknown field" for path in unknown(schema, value, ""))


@cache
def validator(schema: str) -> Draft202012Validator:
    """Made once for each schema: making it costs more than using it."""
    rooted = {"components": description()["components"], **converted(json.loads(schema))}
    return Draft202012Validator(rooted, format_checker=FormatChecker())


def unknown(schema: Json, value: Any, path: str) -> Iterator[str]:
    """Fields that no alternative of the schema names; a schema without properties allows any."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            for option in options(schema):
                if "items" in option:
                    yield from unknown(option["items"], item, f"{path}[{index}]")
    if not isinstance(value, dict):
        return
    known: dict[str, Json] = {}
    for option in options(schema):
        known |= option.get("properties", {})
        if option.get("additionalProperties"):
            return
    for name, item in value.items() if known else ():
        if name in known:
            yield from unknown(known[name], item, f"{path}.{name}")
        else:
            yield f"{path}.{name}"


def options(schema: Json) -> Iterator[Json]:
    """The schema and all that its oneOf, anyOf and allOf offer."""
    plain = resolved(schema)
    yield plain
    for word in ("oneOf", "anyOf", "allOf"):
        for option in plain.get(word, []):
            yield from options(option)


def typed(parameter: Json, text: str) -> Any:
    """A path or query value as the type that its schema asks for, if it can be read so."""
    if resolved(parameter["schema"]).get("type") == "integer" and re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    return text


def json_schema(body: Json) -> Json:
    schema: Json = body["content"]["application/json"]["schema"]
    return schema


def resolved(thing: Json) -> Json:
    """Follow a reference."""
    while "$ref" in thing:
        _, _, kind, name = thing["$ref"].split("/")
        thing = description()["components"][kind][name]
    return thing


@cache
def description() -> Json:
    """The cut, with its schemas in JSON Schema's own words."""
    raw: Json = json.loads(DESCRIPTION.read_text())
    return {"paths": raw["paths"], "components": converted(raw["components"])}


def converted(thing: Any) -> Any:
    """OpenAPI 3.0 says ``nullable`` where JSON Schema says null; and one slip of GitHub's description is mended."""
    if isinstance(thing, list):
        return [converted(item) for item in thing]
    if not isinstance(thing, dict):
        return thing
    plain = {name: converted(value) for name, value in thing.items() if name != "nullable"}
    if [one.get("title") for one in plain.get("allOf", [])] == ["Simple User", "Enterprise"]:
        plain["anyOf"] = plain.pop("allOf")  # of a list of installations: an account cannot be both
    return {"anyOf": [plain, {"type": "null"}]} if thing.get("nullable") is True else plain


def find(method: str, path: str) -> tuple[Json, dict[str, str]] | None:
    """The operation of a path as sent. ``/repositories/ID``, where a renamed repository answers, is the same place."""
    path = re.sub(r"^/repositories/[0-9]+", "/repos/owner/repo", path)
    for template, operations in description()["paths"].items():
        many = re.sub(r"\{(path|ref|basehead)\}$", r"(?P<\1>.+)", template)  # of several segments at the end
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", many)
        match = re.fullmatch(pattern, path)
        if match and method.lower() in operations:
            return operations[method.lower()], {name: unquote(value) for name, value in match.groupdict().items()}
    return None
