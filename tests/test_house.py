"""The directions of the house: who may import whom, read from the source and never from running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Pure: no I/O, no clock, no environment (design.md, "Direction").
PURE = [
    "sandbox/images/plan.py",
    "bot/triggers/shape.py",
    "bot/triggers/issue_comment.py",
    "bot/live_text.py",
    "bot/signature.py",
    "bot/strict_json.py",
    "bot/commands.py",
    "bot/comments.py",
    "bot/inert.py",
    "bot/jobs.py",
    "bot/permissions.py",
    "bot/tasks.py",
    "sandbox/job.py",
    "sandbox/settings.py",
    "sandbox/verdict.py",
    "sandbox/egress/allowed.py",
    "sandbox/egress/answer.py",
    "sandbox/egress/closed.py",
    "sandbox/egress/headers.py",
    "sandbox/egress/policy.py",
    "sandbox/egress/reach.py",
    "sandbox/egress/report.py",
    "sandbox/egress/rules.py",
    "sandbox/egress/scrub.py",
    "sandbox/egress/shown.py",
    "sandbox/engines/plan.py",
]
IMPURE_MODULES = {"aiohttp", "asyncio", "time", "socket", "subprocess", "docker", "mitmproxy", "requests"}


def imported(path: Path) -> Iterator[str]:
    """Every module that this file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("path", sources("sandbox"), ids=lambda p: str(p.relative_to(ROOT)))
def test_sandbox_knows_nothing_of_bot(path: Path) -> None:
    assert [name for name in imported(path) if name.split(".")[0] == "bot"] == []


@pytest.mark.parametrize("path", sources("bot"), ids=lambda p: str(p.relative_to(ROOT)))
def test_bot_uses_only_the_face_of_sandbox(path: Path) -> None:
    import sandbox

    for name in imported(path):
        top, _, rest = name.partition(".")
        assert top not in {"docker", "mitmproxy"}, f"{path.name} imports {name}"
        if top == "sandbox" and rest:
            assert rest in sandbox.__all__, f"{path.name} reaches into {name}"


@pytest.mark.parametrize("name", PURE)
def test_pure_modules_do_no_io(name: str) -> None:
    path = ROOT / name
    assert path.exists(), f"{name} is listed as pure but is not there"
    assert {module.split(".")[0] for module in imported(path)} & IMPURE_MODULES == set()
    names = {node.attr for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Attribute)}
    assert names & {"environ", "getenv", "now", "utcnow"} == set(), f"{name} reads clock or environment"


@pytest.mark.parametrize("path", sources("sandbox/inside") + sources("sandbox/egress"), ids=lambda p: p.name)
def test_what_ships_alone_needs_nothing_of_the_project(path: Path) -> None:
    """sandbox/inside runs in helper containers, sandbox/egress in its own image: each holds its own folder only."""
    if path.name == "report.py":  # read by the service, not shipped
        return
    own = f"sandbox.{path.parent.name}"
    foreign = [name for name in imported(path) if name.split(".")[0] in {"sandbox", "pydantic"}]
    assert [name for name in foreign if not name.startswith(own)] == []
