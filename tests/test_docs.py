"""The pages that people rely on are held against the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from bot import __main__ as command
from bot.command_options import OPTIONS
from bot.commands import VERBS
from bot.config import settings
from bot.tasks import Verb
from bot.triggers import TRIGGERS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("deploy/*.md")])


def names_of_tests() -> set[str]:
    """The names of all test functions, read from the source."""
    trees = (ast.parse(path.read_bytes()) for path in (ROOT / "tests").rglob("test_*.py"))
    functions = (node for tree in trees for node in ast.walk(tree))
    return {f.name for f in functions if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_that_the_threat_model_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "deploy/threat-model.md").read_text()))
    assert len(named) > 40
    assert named - names_of_tests() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_settings_that_pages_name_exist(page: Path) -> None:
    known = {name for name, _, _ in settings()} | {"GOFER_BUILD_CA"} | build_options()
    assert set(re.findall(r"\bGOFER_[A-Z_]+[A-Z]\b", page.read_text())) - known == set()


def build_options() -> set[str]:
    """Variables of the image builds: they have a page of their own."""
    return set(re.findall(r"`(GOFER_[A-Z_]+)", (ROOT / "deploy/images.md").read_text()))


def test_every_command_line_in_the_readme_is_understood() -> None:
    readme = (ROOT / "README.md").read_text()
    targets = re.findall(r"^\$ make (\w[\w-]*)", readme, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []
    verbs = set(re.findall(r"gofer (serve|run|demo|patch|[a-z]+)\b(?= [-\"A-Z]|`)", readme))
    assert verbs <= known_verbs()


def known_verbs() -> set[str]:
    """The subcommands of ``gofer``."""
    action = command.parser()._subparsers
    assert action is not None
    return {name for group in action._group_actions for name in (group.choices or {})}


def test_every_verb_of_the_grammar_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    lone = [verb for verb in VERBS if verb is not Verb.RUN]  # written without a word of its own: `/agent PROMPT`
    assert [verb for verb in lone if f"/agent {verb}" not in readme] == []


def test_every_option_and_every_event_that_asks_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [name for name in OPTIONS if f"`--{name}" not in readme] == []
    assert [event for event in TRIGGERS if f"`{event}`" not in readme] == []


def test_the_two_units_share_the_socket_and_not_the_engine() -> None:
    bot, runner = ((ROOT / f"deploy/gofer-{name}.service").read_text() for name in ("bot", "runner"))
    assert "docker" not in re.sub(r"^(#|InaccessiblePaths=).*", "", bot, flags=re.MULTILINE)
    assert "SupplementaryGroups=docker\n" in runner
    assert "SupplementaryGroups=gofer-runner\n" in bot
    one = (ROOT / "deploy/gofer.service").read_text()
    hardening = set(re.findall(r"^(?:Protect|Private|No|Restrict|Lock|Capability|Limit)\w+=.*$", one, re.MULTILINE))
    for unit in (bot, runner):
        assert hardening <= set(unit.splitlines())
