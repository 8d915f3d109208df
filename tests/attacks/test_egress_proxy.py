"""The operator's own proxy on a real egress container: the one way to whatever is not private, and no further trust."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.egress.connect_proxy import ConnectProxy
from tests.sandbox.egress.policies import line
from tests.sandbox.egress.rig import (
    FETCH_TOKEN,
    MODEL_KEY,
    REPOSITORY,
    Authority,
    Egress,
    Exchange,
    StandIn,
    World,
    get,
    git_part,
    model_part,
    post,
)

pytestmark = pytest.mark.engine

PASSWORD = "CANARY-proxy-0123456789"
PAIR = f"operator:{PASSWORD}"
REFS = f"/{REPOSITORY}.git/info/refs?service=git-upload-pack"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def upstream(here: World, authority: Authority, tmp_path: Path) -> Iterator[StandIn]:
    made = StandIn(here.gateway, tls=authority.server("up.test", tmp_path))
    yield made
    made.close()


@pytest.fixture
def proxy(here: World, upstream: StandIn) -> Iterator[ConnectProxy]:
    made = ConnectProxy(here.gateway, {"up.test": (here.gateway, upstream.port)}, pair=PAIR)
    yield made
    made.close()


def through(proxy: ConnectProxy, scheme: str = "http", host: str = "", ca_pem: str = "") -> dict[str, Any]:
    return {"url": f"{scheme}://{host or proxy.host}:{proxy.port}", "user": "operator", "ca_pem": ca_pem}


def start(here: World, proxy: Any, ca_pem: str, password: str = PASSWORD, **hosts: str) -> Egress:
    """``up.test`` is known to the proxy alone, unless ``hosts`` says otherwise."""
    public = {"private": False, "ca_pem": ca_pem}
    policy = line(model=model_part("https://up.test", **public), git=git_part("https://up.test", **public), proxy=proxy)
    return here.start(policy, hosts={name.replace("_", "."): at for name, at in hosts.items()}, proxy=password)


def both(egress: Egress) -> list[int]:
    answers = egress.talk(
        Exchange(post("/v1/messages"), until=b"{}"), Exchange(get(REFS), to="fetch/git.sock", until=b"{}")
    )
    for answer in answers:
        assert PASSWORD.encode() not in answer.data
        assert base64.b64encode(PAIR.encode()) not in answer.data
    assert PASSWORD.encode() not in egress.container.logs()
    return [answer.status for answer in answers]


def test_what_is_not_private_is_reached_through_it_and_each_credential_goes_to_its_own(
    here: World, proxy: ConnectProxy, upstream: StandIn, authority: Authority
) -> None:
    """The name is resolved by the proxy: here it leads nowhere."""
    assert both(start(here, through(proxy), authority.pem)) == [200, 200]
    pair = base64.b64encode(PAIR.encode()).decode()
    assert (
        proxy.heads == [["CONNECT up.test:443 HTTP/1.1", "host: up.test:443", f"proxy-authorization: Basic {pair}"]] * 2
    )
    assert [request.header("proxy-authorization") for request in upstream.requests] == [[], []]
    assert upstream.requests[0].header("x-api-key") == [MODEL_KEY]
    for secret in (MODEL_KEY, FETCH_TOKEN, REPOSITORY):
        assert secret.encode() not in proxy.raw, "what goes through is TLS"


def test_a_proxy_that_refuses_is_a_failure_and_there_is_no_way_round_it(
    here: World, proxy: ConnectProxy, upstream: StandIn, authority: Authority
) -> None:
    """It quotes what it was sent; and the name would lead to the upstream without it."""
    egress = start(here, through(proxy), authority.pem, password="wrong-0123456789", up_test=here.gateway)
    assert both(egress) == [502, 502]
    assert len(proxy.heads) == 2
    assert upstream.connections == 0


@pytest.mark.slow
def test_a_proxy_that_is_not_there_is_a_failure_too(
    here: World, proxy: ConnectProxy, upstream: StandIn, authority: Authority
) -> None:
    egress = start(here, through(proxy), authority.pem, up_test=here.gateway)
    proxy.close()
    assert both(egress) == [502, 502]
    assert upstream.connections == 0


@pytest.mark.slow
def test_e32_tls_with_the_upstream_is_verified_inside_the_tunnel(
    here: World, proxy: ConnectProxy, upstream: StandIn
) -> None:
    assert both(start(here, through(proxy), Authority().pem)) == [502, 502]
    assert upstream.requests == []


@pytest.mark.slow
def test_a_proxy_that_inspects_is_trusted_by_its_own_ca_and_by_no_other(
    here: World, proxy: ConnectProxy, upstream: StandIn, authority: Authority
) -> None:
    assert both(start(here, through(proxy, ca_pem=authority.pem), "")) == [200, 200]
    assert both(start(here, through(proxy, ca_pem=Authority().pem), "")) == [502, 502]
    assert len(upstream.requests) == 2


@pytest.mark.slow
def test_a_proxy_that_speaks_tls_is_verified_before_it_is_told_the_password(
    here: World, upstream: StandIn, authority: Authority, tmp_path: Path
) -> None:
    names = {"up.test": (here.gateway, upstream.port)}
    secure = ConnectProxy(here.gateway, names, pair=PAIR, tls=authority.server("proxy.test", tmp_path))
    good = start(here, through(secure, "https", "proxy.test", authority.pem), "", proxy_test=here.gateway)
    assert both(good) == [200, 200]
    heads = len(secure.heads)
    other = through(secure, "https", "proxy.test", Authority().pem)
    assert both(start(here, other, authority.pem, proxy_test=here.gateway)) == [502, 502]
    assert len(secure.heads) == heads == 2
    secure.close()


def test_what_is_private_is_reached_without_it(here: World, proxy: ConnectProxy, model: StandIn) -> None:
    model.forget()
    url = f"http://{model.host}:{model.port}"
    egress = here.start(line(model=model_part(url), git=None, proxy=through(proxy)), proxy=PASSWORD)
    assert egress.say(post("/v1/messages"), until=b"{}").status == 200
    assert (len(model.requests), proxy.heads) == (1, [])


@pytest.mark.slow
def test_e31_a_proxy_is_never_the_metadata_service(here: World, proxy: ConnectProxy, authority: Authority) -> None:
    egress = start(here, through(proxy, host="proxy.test"), authority.pem, proxy_test="169.254.169.254")
    assert both(egress) == [502, 502]
    assert {fact["method"] for fact in egress.verdicts() if not fact["allowed"]} == {"DIAL"}
