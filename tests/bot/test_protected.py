from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.protected import leads_out, pattern, protected, run_by_ci, unpublishable
from sandbox import ChangedFile


def changed(path: str, **more: Any) -> ChangedFile:
    told = {"path": path, "raw_path": path.encode(), "status": "modified", "new_mode": "100644", "content": b"x"}
    return ChangedFile.model_validate(told | more)


@pytest.mark.parametrize(
    "path",
    [
        ".github/workflows/ci.yml", ".github/dependabot.yml", ".github/CODEOWNERS", ".GITHUB/workflows/x.yml",
        ".github", "sub/CODEOWNERS", "docs/codeowners", "action.yml", "my-action/action.yaml", ".gitattributes",
        "src/.gitattributes", ".gitmodules", ".GitModules", ".git/config", "a/.git/hooks/pre-commit",
        ".husky/pre-commit",
        ".claude/settings.json", "pkg/.claude/settings.json", ".mcp.json", "opencode.json", ".opencode/plugin/x.js",
        ".codex/config.toml", ".pi/settings.json", ".vscode/tasks.json", ".devcontainer/devcontainer.json", "CLAUDE.md",
        "sub/AGENTS.md", ".cursor/rules/x.mdc", "Jenkinsfile", ".circleci/config.yml", ".pre-commit-config.yaml",
        ".g\u200cithub/workflows/x.yml", ".github./workflows/x.yml", "\uff0egithub/workflows/x.yml", ".github\\x.yml",
    ],
)  # fmt: skip
def test_g22_what_ci_hooks_and_agents_read_is_protected_however_it_is_spelt(path: str) -> None:
    assert protected([changed(path)]) == (path,)
    assert protected([changed(path, status="deleted", content=None)]) == (path,)


@pytest.mark.parametrize(
    "path",
    ["README.md", "src/github/x.py", "docs/action.yml.md", "github/workflows/ci.yml", "src/agents.md.txt", "x.lock"],
)
def test_g22_what_merely_sounds_like_it_is_not(path: str) -> None:
    assert protected([changed(path)]) == ()


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("migrations/**", "migrations/0001.sql", True),
        ("migrations/**", "src/migrations/0001.sql", False),
        ("**/migrations/**", "src/migrations/a/b.sql", True),
        ("*.lock", "a/b/poetry.lock", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("docs", "docs/a/b.md", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        ("Infra/**", "infra/MAIN.tf", True),
    ],
)
def test_the_repositorys_own_patterns(glob: str, path: str, matches: bool) -> None:
    assert (protected([changed(path)], [glob]) == (path,)) is matches


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_pattern_and_no_path_makes_it_raise(glob: str, path: str) -> None:
    pattern(glob)
    protected([changed(path.encode("utf-8", "ignore").decode())], [glob])


@pytest.mark.parametrize(
    "path", ["Makefile", "sub/package.json", "tests/test_x.py", "run.sh", "x.spec.ts", "Cargo.lock"]
)
def test_what_ci_executes_is_named(path: str) -> None:
    assert run_by_ci([changed(path), changed("README.md")]) == (path,)
    assert run_by_ci([changed(path, status="deleted")]) == ()


@pytest.mark.parametrize(
    ("path", "more", "why"),
    [
        ("caf\\xe9.txt", {"raw_path": b"caf\xe9.txt"}, "its name is not UTF-8"),
        ("sub", {"new_mode": "160000"}, "it is a submodule's entry"),
        ("sub", {"old_mode": "160000", "status": "deleted", "new_mode": ""}, "it is a submodule's entry"),
        ("../../etc/cron.d/x", {}, "its name leads out"),
        ("/etc/passwd", {}, "its name leads out"),
        (".GIT/hooks/pre-commit", {}, "its name would be taken for git's own folder"),
        ("a/.g\u200cit/config", {}, "its name would be taken for git's own folder"),
        ("git~1/config", {}, "its name would be taken for git's own folder"),
        (".git./config", {}, "its name would be taken for git's own folder"),
        (".git::$INDEX_ALLOCATION/x", {}, "its name would be taken for git's own folder"),
        ("big.bin", {"content": None}, "it was too large to be taken along"),
        ("a", {"new_mode": "120000", "content": b"/etc/passwd"}, "it is a link that leads out"),
        ("a/b", {"new_mode": "120000", "content": b"../../x"}, "it is a link that leads out"),
        ("a", {"new_mode": "120000", "content": b".git/config"}, "it is a link that leads out"),
    ],
)
def test_b43_b44_b56_g23_what_no_commit_of_ours_may_hold_is_told(path: str, more: dict[str, Any], why: str) -> None:
    found = unpublishable([changed(path, **more)])
    assert [name for name, _ in found] == [path]
    assert found[0][1].startswith(why)


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("a/b.txt", {}),
        ("caf\u00e9.txt", {}),
        ("run.sh", {"new_mode": "100755"}),
        ("gone.txt", {"status": "deleted", "new_mode": "", "content": None}),
        ("CLAUDE.md.link", {"new_mode": "120000", "content": b"docs/AGENTS.txt"}),
        ("a/link", {"new_mode": "120000", "content": b"../b/c"}),
        (".gitignore", {}),
    ],
)
def test_ordinary_changes_can_be_published(path: str, more: dict[str, Any]) -> None:
    assert unpublishable([changed(path, **more)]) == ()


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        ("l", b"a/../../x", True),
        ("a/l", b"../x", False),
        ("l", b"C:/x", True),
        ("l", b"..\\x", True),
        ("l", b".", False),
    ],
)
def test_b44_where_a_link_leads(path: str, target: bytes, out: bool) -> None:
    assert leads_out(path, target) is out
