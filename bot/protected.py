"""Which changed files a pull request of ours never holds, and which of them CI would run. Pure.

An agent that may write what a workflow, a hook or another agent reads would work outside its sandbox: on runners, in
editors, in the next task. Those files are refused for a pull request by name, whatever the case, the Unicode form or
the links on the way, and shown in the diff all the same. GitHub itself refuses workflow files besides, since the App
has no ``workflows`` permission.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from sandbox import ChangedFile

# `**` is any number of folders, `*` anything within one; a pattern without a slash is that name in any folder.
ALWAYS = (
    ".github/**",
    "CODEOWNERS",
    "action.yml",
    "action.yaml",
    ".gitattributes",
    ".gitmodules",
    "**/.git/**",
    ".gitlab-ci.yml",
    ".circleci/**",
    ".travis.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".buildkite/**",
    "**/.husky/**",
    "**/.githooks/**",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    # what agents and editors read as settings, and run
    "**/.claude/**",
    "**/.codex/**",
    "**/.opencode/**",
    "opencode.json",
    "opencode.jsonc",
    "**/.pi/**",
    "**/.agents/**",
    ".mcp.json",
    "**/.cursor/**",
    ".cursorrules",
    "**/.gemini/**",
    "**/.vscode/**",
    "**/.devcontainer/**",
    ".envrc",
    # instructions that the next agent obeys
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "GEMINI.md",
)

# What the usual CI of a pull request runs or reads as code: not refused, but a reviewer should know.
_RUN_BY_CI = (
    "Makefile", "GNUmakefile", "*.mk", "package.json", "setup.py", "setup.cfg", "pyproject.toml", "tox.ini",
    "noxfile.py", "conftest.py", "Dockerfile", "*.dockerfile", "docker-compose*.yml", "build.rs", "Cargo.toml",
    "build.gradle*", "pom.xml", "Rakefile", "Gemfile", "CMakeLists.txt", "*.sh", "*.bash", "*.ps1", "go.mod",
    "jest.config.*", "vite.config.*", "webpack.config.*", "babel.config.*", ".npmrc", ".yarnrc*", "pip.conf", "*.lock",
    "package-lock.json", "requirements*.txt", "test_*.py", "*_test.py", "*_test.go", "*.test.*", "*.spec.*",
)  # fmt: skip

# Zero-width and other characters that file systems ignore when they compare names (HFS+ does so for ".git").
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff\u200b\u00ad]")


def folded(path: str) -> str:
    """The path as the most forgiving file system would compare it: no case, no invisible character, one form, and
    Windows' short forms and trailing dots undone."""
    text = unicodedata.normalize("NFKC", _IGNORED.sub("", path)).casefold().replace("\\", "/")
    parts = [part.partition(":")[0].rstrip(" .") or part for part in text.split("/")]
    return "/".join(".git" if re.fullmatch(r"git~[0-9]+", part) else part for part in parts)


def pattern(glob: str) -> re.Pattern[str]:
    """What a pattern matches, over ``folded`` paths."""
    text = folded(glob)
    if "/" not in text:
        text = f"**/{text}"
    made = ""
    for piece in re.split(r"(\*\*/|/\*\*\Z|\*\*|\*|\?)", text):
        made += {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(
            piece, re.escape(piece)
        )
    return re.compile(rf"\A{made}(?:/.*)?\Z", re.DOTALL)


_ALWAYS = tuple(map(pattern, ALWAYS))
_CI = tuple(map(pattern, _RUN_BY_CI))


def protected(files: Iterable[ChangedFile], extra: Iterable[str] = ()) -> tuple[str, ...]:
    """The paths among ``files`` that keep a pull request from being made. ``extra``: the repository's own patterns."""
    patterns = (*_ALWAYS, *map(pattern, extra))
    return tuple(file.path for file in files if any(one.match(folded(file.path)) for one in patterns))


def run_by_ci(files: Iterable[ChangedFile]) -> tuple[str, ...]:
    """The paths that CI is likely to execute when it looks at the pull request."""
    return tuple(
        file.path for file in files if file.status != "deleted" and any(p.match(folded(file.path)) for p in _CI)
    )


def unpublishable(files: Iterable[ChangedFile]) -> tuple[tuple[str, str], ...]:
    """(path, why in words) of what no commit through GitHub's API can hold, or none of ours may."""
    found = []
    for file in files:
        why = _why_not(file)
        if why:
            found.append((file.path, why))
    return tuple(found)


def _why_not(file: ChangedFile) -> str:
    raw = file.raw_path or file.path.encode()
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "its name is not UTF-8, which GitHub's API cannot carry"
    if "160000" in (file.old_mode, file.new_mode):
        return "it is a submodule's entry"
    parts = path.split("/")
    if path.startswith("/") or any(part in {"", ".", ".."} for part in parts) or "\x00" in path:
        return "its name leads out of the repository"
    if any(part == ".git" for part in folded(path).split("/")):
        return "its name would be taken for git's own folder"
    if file.status != "deleted" and file.content is None:
        return "it was too large to be taken along"
    if file.new_mode == "120000" and leads_out(path, file.content or b""):
        return "it is a link that leads out of the repository"
    return ""


def leads_out(path: str, target: bytes) -> bool:
    """Whether a link at ``path`` with this target points outside of the repository, or into ``.git``."""
    text = target.decode("utf-8", "replace").replace("\\", "/")
    if text.startswith("/") or re.match(r"[A-Za-z]:", text):
        return True
    at = path.split("/")[:-1]
    for part in text.split("/"):
        if part == "..":
            if not at:
                return True
            at.pop()
        elif part not in {"", "."}:
            at.append(part)
    return any(part == ".git" for part in folded("/".join(at)).split("/"))
