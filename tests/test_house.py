"""The house's rules, read from the source and never from running it: who may import whom, how long, tested where."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Pure: no I/O, no clock, no environment. These must be, and so must every file whose first words say that it is.
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
# Tested through another file's test than the one beside it. This list may only shrink.
TESTED_ELSEWHERE = {
    "bot/config_checks.py": "tests/bot/test_config.py",
    "bot/config_values.py": "tests/bot/test_config.py",
    "bot/demo/github_access.py": "tests/bot/demo/test_github.py",
    "bot/demo/github_auth.py": "tests/bot/demo/test_github.py",
    "bot/demo/github_failures.py": "tests/bot/test_github_calls.py",
    "bot/demo/github_git.py": "tests/bot/demo/test_github_contents.py",
    "bot/demo/github_log.py": "tests/bot/demo/test_github.py",
    "bot/demo/github_operations.py": "tests/bot/demo/test_github.py",
    "bot/demo/github_routes.py": "tests/bot/demo/test_github.py",
    "bot/demo/github_server.py": "tests/bot/demo/test_github.py",
    "bot/demo/github_shapes.py": "tests/openapi/test_conform.py",
    "bot/demo/github_state.py": "tests/bot/demo/test_github_contents.py",
    "bot/demo/show.py": "tests/journeys/test_demo.py",
    "bot/demo/world.py": "tests/journeys/test_demo.py",
    "bot/github_installations.py": "tests/bot/test_github_auth.py",
    "bot/github_values.py": "tests/bot/test_github.py",
    "bot/migrations/env.py": "tests/bot/store/test_migrate.py",
    "bot/run_words.py": "tests/bot/test_run.py",
    "bot/serve.py": "tests/bot/test_restart.py",
    "bot/show_patch.py": "tests/bot/test_main.py",
    "bot/steps/talk.py": "tests/bot/steps/test_deliver.py",
    "bot/steps/world.py": "tests/bot/steps/test_drive.py",
    "bot/store/reads.py": "tests/bot/store/test_store.py",
    "bot/store/schema.py": "tests/bot/store/test_migrate.py",
    "sandbox/__init__.py": "tests/sandbox/test_service.py",
    "sandbox/agents/agent.py": "tests/sandbox/agents/test_claude.py",
    "sandbox/agents/claude_reader.py": "tests/sandbox/agents/test_claude.py",
    "sandbox/agents/claude_words.py": "tests/sandbox/agents/test_claude.py",
    "sandbox/agents/codex_reader.py": "tests/sandbox/agents/test_codex.py",
    "sandbox/agents/codex_words.py": "tests/sandbox/agents/test_codex.py",
    "sandbox/collect.py": "tests/sandbox/test_service.py",
    "sandbox/context.py": "tests/sandbox/test_service.py",
    "sandbox/egress/addon.py": "tests/attacks/test_egress_reach.py",
    "sandbox/egress/gate.py": "tests/attacks/test_egress_budget.py",
    "sandbox/egress/launch.py": "tests/attacks/test_egress_failures.py",
    "sandbox/egress/listen.py": "tests/attacks/test_egress_reach.py",
    "sandbox/egress/inside.py": "tests/attacks/test_egress_general.py",
    "sandbox/egress/questions.py": "tests/attacks/test_egress_bodies.py",
    "sandbox/egress/refusing.py": "tests/attacks/test_egress_failures.py",
    "sandbox/egress/request.py": "tests/sandbox/egress/test_policy.py",
    "sandbox/egress/tls.py": "tests/attacks/test_egress_secrets.py",
    "sandbox/egress/tunnels.py": "tests/attacks/test_egress_general.py",
    "sandbox/egress/ways.py": "tests/attacks/test_egress_proxy.py",
    "sandbox/engine.py": "tests/sandbox/engines/test_contract.py",
    "sandbox/engines/docker.py": "tests/sandbox/engines/test_contract.py",
    "sandbox/engines/endings.py": "tests/sandbox/engines/test_contract.py",
    "sandbox/engines/hardening.py": "tests/sandbox/engines/test_plan.py",
    "sandbox/engines/streams.py": "tests/sandbox/engines/test_contract.py",
    "sandbox/helpers.py": "tests/sandbox/test_prepare.py",
    "sandbox/images/__main__.py": "tests/sandbox/images/test_build.py",
    "sandbox/images/root.py": "tests/sandbox/images/test_build.py",
    "sandbox/deps.py": "tests/sandbox/test_setup.py",
    "sandbox/inside/bounds.py": "tests/sandbox/inside/test_extract.py",
    "sandbox/inside/e2fs.py": "tests/sandbox/inside/test_snapshots.py",
    "sandbox/inside/checkout.py": "tests/sandbox/inside/test_fetch.py",
    "sandbox/inside/generation.py": "tests/sandbox/inside/test_mirror.py",
    "sandbox/inside/loop.py": "tests/sandbox/inside/test_store.py",
    "sandbox/inside/mirrorlock.py": "tests/sandbox/inside/test_mirror.py",
    "sandbox/inside/scratch.py": "tests/sandbox/inside/test_extract.py",
    "sandbox/inside/staging.py": "tests/sandbox/inside/test_extract.py",
    "sandbox/life.py": "tests/sandbox/test_service.py",
    "sandbox/probe.py": "tests/sandbox/test_doctor.py",
    "sandbox/settings.py": "tests/sandbox/test_service.py",
    "sandbox/wayout.py": "tests/sandbox/test_workspaces.py",
}
# Long before these a file holds a second idea and a function does two things: they are limits, no targets.
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 60

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


def says_pure() -> list[str]:
    """The files whose own docstring says so."""
    words = {
        path: ast.get_docstring(ast.parse(path.read_bytes())) or "" for path in sources("bot") + sources("sandbox")
    }
    return [str(path.relative_to(ROOT)) for path, text in words.items() if re.search(r"\bpure\b", text.lower())]


@pytest.mark.parametrize("name", sorted({*PURE, *says_pure()}))
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


def beside(source: Path) -> str:
    """Where the test of a file is, by name: bot/x.py -> tests/bot/test_x.py. One test runs every migration, each over
    rows of its own."""
    if source.parent.name == "versions":
        return "tests/bot/store/test_migrate.py"
    return f"tests/{source.parent.relative_to(ROOT)}/test_{source.stem.strip('_')}.py"


def has_code(source: Path) -> bool:
    """More than words, imports and names: a function or a class."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.parse(source.read_bytes()).body
    )


@pytest.mark.parametrize("path", sources("bot") + sources("sandbox"), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_source_file_has_its_test_beside_it_by_name(path: Path) -> None:
    name, its = str(path.relative_to(ROOT)), beside(path)
    if name in TESTED_ELSEWHERE:
        assert not (ROOT / its).exists(), f"{name} has a test of its own: take it off TESTED_ELSEWHERE"
    elif has_code(path):
        assert (ROOT / its).exists(), f"{name} has no {its}"


@pytest.mark.parametrize(("name", "test"), sorted(TESTED_ELSEWHERE.items()))
def test_what_is_tested_elsewhere_is_there_and_so_is_its_test(name: str, test: str) -> None:
    assert (ROOT / name).exists(), f"{name} is gone: take it off TESTED_ELSEWHERE"
    assert (ROOT / test).exists(), f"{name} lost the test that it is tested by"


@pytest.mark.parametrize("path", sources("bot") + sources("sandbox"), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_and_no_function_is_long(path: Path) -> None:
    source = path.read_bytes()
    assert source.count(b"\n") <= MAX_FILE_LINES
    long = {
        node.name: lines
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    }
    assert long == {}
