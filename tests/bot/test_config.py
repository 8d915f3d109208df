"""Settings: strict, told all at once, and never with a secret in the words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.config import BUILD_OPTIONS, Config, ConfigError, for_run, for_runner, from_environment, settings
from bot.config_values import LOCAL_ONLY

ROOT = Path(__file__).parent.parent.parent
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEcanary\n-----END RSA PRIVATE KEY-----\n"
SECRET = "8f1f0c3b5a7d9e2460b1c2d3e4f5a697"  # 32 characters
GOOD = {
    "GOFER_APP_ID": "12345",
    "GOFER_PRIVATE_KEY": KEY,
    "GOFER_WEBHOOK_SECRET": SECRET,
    "GOFER_SERVED": "octo, other/repo",
    "GOFER_MODEL_KEY": "sk-canary",
}


def mistakes(**changes: str | None) -> list[str]:
    environment = {k: v for k, v in (GOOD | changes).items() if v is not None}
    with pytest.raises(ConfigError) as caught:
        from_environment(environment)
    for secret in ("canary", SECRET):
        assert secret not in str(caught.value)
    return str(caught.value).splitlines()


def test_what_must_be_given_is_enough() -> None:
    config = from_environment(GOOD)
    assert config.address == ("127.0.0.1", 8080)
    assert config.database == "sqlite:////var/lib/gofer/gofer.db"
    assert config.api_url == "https://api.github.com"
    assert config.sandbox_settings().gateway.key.get_secret_value() == "sk-canary"


def test_every_missing_setting_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        from_environment({})
    assert [line.split()[0] for line in str(caught.value).splitlines()] == [
        "GOFER_APP_ID",
        "GOFER_PRIVATE_KEY",
        "GOFER_WEBHOOK_SECRET",
        "GOFER_SERVED",
    ]


def test_misspelt_name_is_refused_with_the_nearest_right_one() -> None:
    (line,) = mistakes(GOFER_MAX_RUNING="3")
    assert line == "GOFER_MAX_RUNING is no setting of Gofer; nearest: GOFER_MAX_RUNNING"


def test_foreign_names_are_nobody_s_business() -> None:
    from_environment(GOOD | {"PATH": "/bin", "GITHUB_TOKEN": "x", "GO": "1"})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("GOFER_WEBHOOK_SECRET", "", "0 characters"),
        ("GOFER_WEBHOOK_SECRET", SECRET[:-1], "31 characters"),
        ("GOFER_WEBHOOK_SECRET", "change-me-change-me-change-me-change-me", "placeholder"),
        ("GOFER_WEBHOOK_SECRET", "<paste the secret of your app in here>", "placeholder"),
        ("GOFER_WEBHOOK_SECRET", "a" * 40, "placeholder"),
        ("GOFER_PRIVATE_KEY", "/etc/gofer/canary.pem", "no PEM private key"),
        ("GOFER_SERVED", " , ", "empty"),
        ("GOFER_SERVED", "*", "neither an owner nor owner/repository"),
        ("GOFER_SERVED", "https://github.com/octo", "neither an owner nor owner/repository"),
        ("GOFER_LISTEN", "8080", "HOST:PORT"),
        ("GOFER_LISTEN", "::1:8080", "HOST:PORT"),
        ("GOFER_LISTEN", "127.0.0.1:99999", "HOST:PORT"),
        ("GOFER_GITHUB_URL", "github.com", "https:// URL"),
        ("GOFER_GITHUB_URL", "https://user:canary@ghes.example", "no user"),
        ("GOFER_MAX_RUNNING", "0", "greater than 0"),
        ("GOFER_MAX_RUNNING", "two", "whole number"),
        ("GOFER_MEMORY_BYTES", "1024", "67108864 or more"),
        ("GOFER_CPUS", "", "leave it out"),
        ("GOFER_MODEL_PRIVATE", "perhaps", "true or false"),
        ("GOFER_MODEL", "", "leave it out"),
        ("GOFER_STATE_DIR", "", "leave it out"),
        ("GOFER_APP_ID", "", "it is empty"),
        ("GOFER_APP_ID", "my app", "look like 123456"),
        ("GOFER_LOG_LEVEL", "verbose", "DEBUG or INFO"),
        ("GOFER_COMMAND_WORD", "agent", "look like /agent"),
        ("GOFER_INSTANCE", "Mine!", "look like gofer"),
        ("GOFER_DOCKER_HOST", "/var/run/docker.sock", "unix:///PATH"),
    ],
)
def test_value_that_does_not_fit_is_refused_in_words(name: str, value: str, words: str) -> None:
    (line,) = mistakes(**{name: value})
    assert line.startswith(f"{name}: ")
    assert words in line


def test_plain_http_is_refused_unless_it_is_named_private() -> None:
    (line,) = mistakes(GOFER_GITHUB_URL="http://10.0.0.5")
    assert "GOFER_GITHUB_PRIVATE" in line
    config = from_environment(GOOD | {"GOFER_GITHUB_URL": "http://10.0.0.5/", "GOFER_GITHUB_PRIVATE": "true"})
    assert config.api_url == "http://10.0.0.5/api/v3"


def test_model_key_may_be_missing_with_a_gateway_of_one_s_own_only() -> None:
    (line,) = mistakes(GOFER_MODEL_KEY=None)
    assert "GOFER_MODEL_KEY" in line
    own = {"GOFER_MODEL_KEY": "", "GOFER_MODEL_URL": "http://10.0.0.6:4000", "GOFER_MODEL_PRIVATE": "yes"}
    assert from_environment(GOOD | own).sandbox_settings().gateway.private


@pytest.mark.parametrize(
    ("url", "api"),
    [
        ("https://github.com/", "https://api.github.com"),
        ("https://octo.ghe.com", "https://api.octo.ghe.com"),
        ("https://ghes.octo.test", "https://ghes.octo.test/api/v3"),
        ("https://evilghe.com", "https://evilghe.com/api/v3"),
    ],
)
def test_one_setting_names_a_github_of_one_s_own(url: str, api: str) -> None:
    assert from_environment(GOOD | {"GOFER_GITHUB_URL": url}).api_url == api


def test_secrets_come_from_files_too(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET + "\n")
    (tmp_path / "key.pem").write_text(KEY)
    environment = {k: v for k, v in GOOD.items() if k not in {"GOFER_WEBHOOK_SECRET", "GOFER_PRIVATE_KEY"}}
    config = from_environment(
        environment
        | {
            "GOFER_WEBHOOK_SECRET_FILE": str(tmp_path / "secret"),
            "GOFER_PRIVATE_KEY_FILE": str(tmp_path / "key.pem"),
        }
    )
    assert config.webhook_secret.get_secret_value() == SECRET
    assert config.private_key.get_secret_value() == KEY


def test_secret_file_that_is_not_there_is_told_once_by_name(tmp_path: Path) -> None:
    (line,) = mistakes(GOFER_WEBHOOK_SECRET=None, GOFER_WEBHOOK_SECRET_FILE=f"{tmp_path}/none")
    assert "GOFER_WEBHOOK_SECRET_FILE" in line
    assert "No such file" in line


def test_optional_secret_file_that_is_not_there_is_told_once_too(tmp_path: Path) -> None:
    (line,) = mistakes(GOFER_MODEL_KEY=None, GOFER_MODEL_KEY_FILE=f"{tmp_path}/none")
    assert "No such file" in line


def test_options_of_the_image_builds_may_be_exported() -> None:
    from_environment(
        GOOD | {"GOFER_BUILD_CA": "/ca.pem", "GOFER_DEBIAN_IMAGE": "d:1", "GOFER_DEBIAN_MIRROR": "http://m"}
    )
    page = (ROOT / "deploy" / "images.md").read_text()
    assert set(re.findall(r"^\| `(GOFER_\w+)`", page, re.MULTILINE)) - {"GOFER_IMAGE_PREFIX"} == BUILD_OPTIONS


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOME": "/home/me"}, "/home/me/.local/state/gofer"),
        ({"HOME": "/home/me", "XDG_STATE_HOME": "/x"}, "/x/gofer"),
        ({"HOME": "/home/me", "XDG_STATE_HOME": "x"}, "/home/me/.local/state/gofer"),
        ({"HOME": "/home/me", "GOFER_STATE_DIR": "/mine"}, "/mine"),
        ({}, "/var/lib/gofer"),
    ],
)
def test_run_keeps_its_state_with_the_user_and_not_with_the_server(environment: dict[str, str], expected: str) -> None:
    assert for_run({"GOFER_MODEL_KEY": "k", **environment}).sandbox_settings().state_dir == Path(expected)


def test_secret_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    (line,) = mistakes(GOFER_WEBHOOK_SECRET_FILE=str(tmp_path / "secret"))
    assert "both given" in line


def test_key_with_escaped_line_ends_is_taken() -> None:
    config = from_environment(GOOD | {"GOFER_PRIVATE_KEY": KEY.replace("\n", "\\n")})
    assert config.private_key.get_secret_value() == KEY


def test_nothing_that_is_printed_holds_a_secret() -> None:
    config = from_environment(GOOD)
    for text in (repr(config), str(config), config.model_dump_json(), repr(config.sandbox_settings())):
        assert "canary" not in text
        assert SECRET not in text


def test_certificates_are_read_and_a_missing_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    config = from_environment(GOOD | {"GOFER_MODEL_CA_FILE": str(tmp_path / "ca.pem")})
    assert config.sandbox_settings().gateway.ca_pem.startswith("-----BEGIN")
    assert from_environment(GOOD | {"GOFER_MODEL_CA_FILE": ""}).sandbox_settings().gateway.ca_pem == ""
    config = from_environment(GOOD | {"GOFER_GITHUB_CA_FILE": str(tmp_path / "none.pem")})
    with pytest.raises(ConfigError, match=r"GOFER_GITHUB_CA_FILE: .* cannot be read"):
        config.sandbox_settings()


@pytest.mark.parametrize("content", [b"", b"a secret\n", b"\xff\xfe"])
def test_a_file_without_certificates_is_refused_before_a_task_needs_them(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ca.pem").write_bytes(content)
    config = from_environment(GOOD | {"GOFER_MODEL_CA_FILE": str(tmp_path / "ca.pem")})
    with pytest.raises(ConfigError, match="GOFER_MODEL_CA_FILE: "):
        config.sandbox_settings()


def test_defaults_of_the_limits_are_the_sandbox_s_own() -> None:
    from sandbox import Limits

    assert from_environment(GOOD).limits == Limits()


def test_settings_page_is_the_one_the_code_has() -> None:
    """After a change: python -m tests.bot.settings_page > deploy/settings.md"""
    from tests.bot.settings_page import page

    assert (ROOT / "deploy" / "settings.md").read_text() == page()


def test_every_setting_says_what_it_means() -> None:
    assert all(meaning for _, _, meaning in settings())
    assert len({name for name, _, _ in settings()}) == len(settings()) > len(Config.model_fields)


@pytest.mark.parametrize(
    ("name", "url", "expected"),
    [
        ("MODEL", "http://host.docker.internal:1234", True),
        ("GITHUB", "http://host.docker.internal", True),
        ("MODEL", "http://host.docker.internal.example", False),
        ("MODEL", "https://gateway.example", False),
    ],
)
def test_docker_s_name_for_this_machine_is_resolved_where_a_setting_uses_it(
    name: str, url: str, expected: bool
) -> None:
    config = from_environment(GOOD | {f"GOFER_{name}_URL": url, f"GOFER_{name}_PRIVATE": "true"})
    assert config.sandbox_settings().gateway.host_gateway is expected


REMOTE = {
    "GOFER_SANDBOX": "http+unix:///run/gofer-runner/api.sock",
    "GOFER_RUNNER_TOKEN": "k7Qw9zR2mX4vB8nC1pL6tY3hJ5dF0sGa",
    "GOFER_MODEL_KEY": None,
}


def remote(**more: str) -> Config:
    given = GOOD | REMOTE | more
    return from_environment({name: value for name, value in given.items() if value is not None})


def test_with_a_runner_elsewhere_no_model_key_is_needed_and_no_docker() -> None:
    found = remote().sandbox_settings()
    assert found.runner is not None
    assert found.runner.token.get_secret_value() == REMOTE["GOFER_RUNNER_TOKEN"]
    assert found.gateway.key.get_secret_value() == ""
    assert found.limits.model_fields_set == set(), "they are the runner's"
    assert (remote().task_agent, remote().task_model) == (None, None)
    assert remote(GOFER_AGENT="claude", GOFER_MODEL="m").task_agent == "claude"
    assert remote(GOFER_AGENT="claude", GOFER_MODEL="m").task_model == "m"
    assert remote(GOFER_TOKENS="5").sandbox_settings().limits.model_fields_set == {"tokens"}


def test_with_a_runner_elsewhere_what_is_the_runner_s_is_not_wanted() -> None:
    lines = mistakes(
        **REMOTE | {"GOFER_MODEL_KEY": "sk-canary", "GOFER_DOCKER_HOST": "unix:///x", "GOFER_MIRROR": "no"}
    )
    assert [line.split()[0] for line in lines] == ["GOFER_DOCKER_HOST", "GOFER_MIRROR", "GOFER_MODEL_KEY"]
    assert all("is the runner's to know" in line for line in lines)
    assert {"model_key", "openai_key", "docker_host", "allowed"} < LOCAL_ONLY
    assert not LOCAL_ONLY & {"github_url", "instance", "proxy_url", "wall_seconds", "agents", "state_dir", "sandbox"}


def test_a_runner_elsewhere_needs_a_token_and_a_token_needs_a_runner() -> None:
    (line,) = mistakes(**REMOTE | {"GOFER_RUNNER_TOKEN": None})
    assert line.startswith("GOFER_RUNNER_TOKEN (or GOFER_RUNNER_TOKEN_FILE) is missing")
    (line,) = mistakes(GOFER_RUNNER_TOKEN="x" * 40)
    assert "give its address in GOFER_SANDBOX" in line
    (line,) = mistakes(**REMOTE | {"GOFER_SANDBOX": "http://runner:8081"})
    assert line.startswith("GOFER_SANDBOX: a runner is given as http+unix:///PATH, https://HOST[:PORT]")


RUNNER = {"GOFER_RUNNER_TOKENS_FILE": "/etc/gofer-runner/tokens", "GOFER_MODEL_KEY": "sk-canary"}


def test_the_runner_needs_tokens_and_the_model_and_nothing_of_github() -> None:
    config = for_runner(RUNNER)
    assert config.api_settings().listen == "127.0.0.1:8081"
    assert config.sandbox_settings().gateway.key.get_secret_value() == "sk-canary"
    with pytest.raises(ConfigError, match="GOFER_RUNNER_TOKENS_FILE is missing"):
        for_runner({"GOFER_MODEL_KEY": "k"})
    with pytest.raises(ConfigError, match="GOFER_MODEL_KEY"):
        for_runner({"GOFER_RUNNER_TOKENS_FILE": "/x"})
    with pytest.raises(ConfigError, match="leave it out for the runner itself"):
        for_runner(RUNNER | {"GOFER_SANDBOX": "https://runner"})
    with pytest.raises(ConfigError, match="GOFER_RUNNER_LISTEN: a socket is given as unix:///PATH"):
        for_runner(RUNNER | {"GOFER_RUNNER_LISTEN": "unix:run/x"})


def test_the_way_out_is_the_operator_s() -> None:
    found = from_environment(
        GOOD
        | {
            "GOFER_PROXY_URL": "http://proxy.test:3128/",
            "GOFER_PROXY_USER": "me",
            "GOFER_PROXY_PASSWORD": "canary",
            "GOFER_ALLOWED": "npm, lan.test:8443",
            "GOFER_ALLOWED_PRIVATE": "lan.test:8443",
            "GOFER_STORE_DIR": "/srv/gofer",
            "GOFER_RETENTION_SECONDS": "60",
            "GOFER_MIRROR": "false",
        }
    ).sandbox_settings()
    assert found.proxy is not None
    assert (found.proxy.url, found.proxy.user) == ("http://proxy.test:3128", "me")
    assert "canary" not in repr(found)
    assert [(one.port, one.private) for one in found.allowed][-1] == (8443, True)
    assert (found.store_dir, found.retention_seconds, found.mirror) == (Path("/srv/gofer"), 60, False)
    (line,) = mistakes(GOFER_ALLOWED="*.test")
    assert line.startswith("GOFER_ALLOWED: *.test: wildcards are not possible")
    (line,) = mistakes(GOFER_STORE_DIR="srv")
    assert line == "GOFER_STORE_DIR: it must be an absolute path"
