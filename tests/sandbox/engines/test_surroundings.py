"""The environment that every agent and every setup phase has."""

from __future__ import annotations

import pytest

from sandbox.agents.agent import PROXY_PORT
from sandbox.engines.surroundings import PROXY_URL, agent_environment, setup_environment


def parsed(lines: list[str]) -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines)


def test_the_proxy_is_where_the_entry_offers_it() -> None:
    assert f"http://127.0.0.1:{PROXY_PORT}" == PROXY_URL
    environment = parsed(agent_environment("pi", {}, deps=False))
    assert environment["https_proxy"] == environment["HTTPS_PROXY"] == PROXY_URL


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_the_model_is_not_asked_through_the_proxy(host: str, name: str) -> None:
    assert host in parsed(agent_environment("pi", {}, deps=False))[name].split(",")


def test_what_an_agent_sets_for_itself_holds() -> None:
    lines = agent_environment("pi", {"NO_PROXY": "*", "X": "y"}, deps=False)
    assert parsed(lines)["NO_PROXY"] == "*"
    assert len({line.split("=")[0] for line in lines}) == len(lines)  # no name twice: engines differ on which holds
    assert parsed(lines)["GOFER_AGENT"] == "pi"


def test_whatever_the_setup_phase_filled_is_looked_for_in_the_same_place_by_the_agent() -> None:
    made, found = parsed(setup_environment()), parsed(agent_environment("pi", {}, deps=True))
    for name in ("PATH", "VIRTUAL_ENV", "NODE_PATH", "CARGO_HOME", "GOMODCACHE", "SSL_CERT_FILE", "HTTPS_PROXY"):
        assert made[name] == found[name]
    assert "/deps" not in "".join(agent_environment("pi", {}, deps=False))
