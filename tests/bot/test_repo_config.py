from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from bot.repo_config import ConfigMistake, RepoConfig, parse, schema
from tests.bot.repo_page import keys, page

WHOLE = """
ask:
  role: maintain
  users: [octocat]
agents: [claude, codex]
models: [claude-sonnet-4-5]
default:
  agent: claude
  model: claude-sonnet-4-5
  result: pr
  draft: false
labels:
  agent: ""
  "fix it": Fix what the issue says and add a test.
protected_paths: ["migrations/**", "*.lock"]
instructions: |
  Run `make lint` before you finish.
setup:
  commands: [python3 -m venv /deps/venv, /deps/venv/bin/pip install -r requirements.txt]
  lockfiles: [requirements.txt]
  minutes: 5
allowed_destinations: [pypi]
budget:
  minutes: 20
  cost_usd: 2
  tokens: 100000
  requests: 50
rounds: 2
context: everyone
"""


def test_everything_that_can_be_said() -> None:
    config = parse(WHOLE)
    assert set(RepoConfig.model_fields) == set(yaml.safe_load(WHOLE))
    assert (config.ask.role, config.ask.users, config.default.draft) == ("maintain", ["octocat"], False)
    assert (config.budget.cost_usd, config.rounds, config.context) == (2.0, 2, "everyone")
    assert config.setup is not None
    assert config.setup.lockfiles == ["requirements.txt"]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}"])
def test_an_empty_file_is_as_good_as_none(text: str) -> None:
    assert parse(text) == RepoConfig()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("agent: claude", "agent: there is no such key; nearest: agents", id="a key with a typo"),
        pytest.param("ask:\n  rolle: admin", "ask.rolle: there is no such key; nearest: role", id="a key inside"),
        pytest.param("budget:\n  minute: 3", "budget.minute: there is no such key; nearest: minutes", id="nearest"),
        pytest.param("rounds: many", "rounds: Input should be a valid integer", id="a text for a number"),
        pytest.param("rounds: true", "rounds: Input should be a valid integer", id="truth for a number"),
        pytest.param("rounds: -1", "rounds: Input should be greater than or equal to 0", id="less than nothing"),
        pytest.param("agents: claude", "agents: Input should be a valid list", id="a text for a list"),
        pytest.param("agents: []", "agents: List should have at least 1 item", id="no agent at all"),
        pytest.param("ask:\n  role: read", "ask.role: Input should be 'write', 'maintain' or 'admin'", id="wider"),
        pytest.param('ask:\n  bots: ["*"]', "ask.bots: there is no such key", id="b35 no bot"),
        pytest.param('ask:\n  users: ["*"]', "ask.users.0: there is no wildcard: name each", id="every user"),
        pytest.param("protected_paths: [/etc]", "protected_paths.0: a path of this repository", id="absolute"),
        pytest.param("protected_paths: [a/../b]", "protected_paths.0: a path of this repository", id="climbs"),
        pytest.param("setup:\n  commands: []", "setup.commands: List should have at least 1 item", id="empty setup"),
        pytest.param("- a\n", "it must hold keys with values", id="a list"),
        pytest.param("a: [", "line 1: ", id="no YAML"),
        pytest.param("default:\n  draft: no", "default.draft: Input should be a valid boolean", id="a word for truth"),
    ],
)
def test_d07_b35_a_mistake_is_told_and_is_never_read_as_permission(text: str, words: str) -> None:
    with pytest.raises(ConfigMistake) as caught:
        parse(text)
    assert str(caught.value).startswith(words)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ConfigMistake) as caught:
        parse("agent: x\nrounds: y\n")
    assert len(str(caught.value).splitlines()) == 2


def test_the_schema_for_editors_takes_what_we_take_and_is_the_published_one() -> None:
    jsonschema.validate(yaml.safe_load(WHOLE), schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"agent": "claude"}, schema())
    published = Path(__file__).parent.parent.parent / "deploy" / "gofer.schema.json"
    assert json.loads(published.read_text()) == schema(), "python -m tests.bot.repo_schema > deploy/gofer.schema.json"


def test_the_page_for_maintainers_is_the_one_the_code_has_and_its_example_is_taken() -> None:
    written = (Path(__file__).parent.parent.parent / "deploy" / "repository.md").read_text()
    assert written == page(), "python -m tests.bot.repo_page > deploy/repository.md"
    assert parse(written.split("```yaml\n")[1].split("```")[0]).default.result == "pr"
    named = [key for key, *_ in keys()]
    assert [name for name in RepoConfig.model_fields if not any(key.split(".")[0] == name for key in named)] == []
