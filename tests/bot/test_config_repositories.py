"""The file of what holds for single repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import ConfigError, SandboxConfig, read
from bot.config_repositories import parse
from sandbox import Setup
from tests.bot.settings_page import TAIL

GOOD = TAIL.partition("```toml\n")[2].partition("```")[0]


def test_the_example_of_the_settings_page() -> None:
    found = parse(GOOD)
    assert found.images == {"octo/hello": "gofer-hello/{agent}:latest"}
    (setup,) = found.setups.values()
    assert setup == Setup(commands=setup.commands, lockfiles=("package.json", "package-lock.json"), seconds=600)
    assert "npm ci" in setup.commands[-1]


def test_names_are_in_lower_case_as_github_compares_them() -> None:
    assert set(parse('["Octo/Hello"]\nimage = "x"').images) == {"octo/hello"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "it is no TOML"),
        ('["octo/hello"]\nimages = "x"', "octo/hello.images: extra inputs are not permitted"),
        ('["octo/hello"]\nimage = 3', "octo/hello.image: input should be a valid string"),
        ('image = "x"', "image: input should be"),
        ('["octo"]\nimage = "x"', 'must be named "OWNER/REPO"'),
        ('["https://github.com/o/r"]\nimage = "x"', 'must be named "OWNER/REPO"'),
        ('["o/r"]\nimage = "x"\n["O/R"]\nimage = "y"', "is there twice"),
        ('["o/r"]\nimage = "--privileged"', "must be the name of an image"),
        ('["o/r"]\nimage = "x y"', "must be the name of an image"),
        ('["o/r"]\nsetup.seconds = 3', "setup.commands: there is none"),
        ('["o/r"]\nsetup.commands = ["a"]\nsetup.lockfiles = ["../x"]', "must be a path inside the repository"),
        ('["o/r"]\nsetup.commands = ["a"]\nsetup.seconds = 0', "greater than 0"),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse(text)
    assert words in str(caught.value)


def test_the_file_reaches_the_sandbox_half_and_its_mistakes_the_operator(tmp_path: Path) -> None:
    path = tmp_path / "repositories.toml"
    environment = {"GOFER_MODEL_KEY": "k", "GOFER_REPOSITORIES_FILE": str(path)}
    with pytest.raises(ConfigError, match=r"GOFER_REPOSITORIES_FILE: .* cannot be read: No such file"):
        read(SandboxConfig, environment).sandbox_settings()
    path.write_text(GOOD)
    settings = read(SandboxConfig, environment).sandbox_settings()
    assert settings.repository_images == {"octo/hello": "gofer-hello/{agent}:latest"}
    assert "npm ci" in settings.setups["octo/hello"].commands[-1]
    path.write_text("[")
    with pytest.raises(ConfigError, match="GOFER_REPOSITORIES_FILE: it is no TOML"):
        read(SandboxConfig, environment).sandbox_settings()
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="no UTF-8"):
        read(SandboxConfig, environment).sandbox_settings()
