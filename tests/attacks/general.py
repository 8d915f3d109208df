"""The world of the attacks on the general way out: allowed and other upstreams, and the name server that all names are
asked of. Each file has its own (fixtures are imported by name)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sandbox.egress.rig import Authority, Egress, StandIn, World
from tests.sandbox.egress.tunnel import NameServer, general_policy, place


@dataclass
class Beyond:
    """All that is outside. ``npm`` and ``cdn`` are allowed, ``evil`` is not; all three listen and log."""

    world: World
    authority: Authority
    names: NameServer
    npm: StandIn
    cdn: StandIn
    evil: StandIn

    def policy(self, *, setup: bool = False) -> dict[str, object]:
        return general_policy(
            place(self.npm, "npm.test", self.authority.pem, "npm"),
            place(self.cdn, "cdn.test", self.authority.pem),
            setup=setup,
        )

    def forget(self) -> None:
        for upstream in (self.npm, self.cdn, self.evil):
            upstream.forget()
        self.names.asked.clear()

    @property
    def reached(self) -> int:
        """Connections to any of them."""
        return sum(upstream.connections for upstream in (self.npm, self.cdn, self.evil))

    @property
    def host(self) -> str:
        """The Host header of the allowed registry."""
        return f"npm.test:{self.npm.port}"


@pytest.fixture(scope="module")
def beyond(here: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beyond]:
    folder, authority = tmp_path_factory.mktemp("certificates"), Authority()
    names = NameServer(here.gateway, lambda name: here.gateway if name.endswith(".test") else None)
    here.dns = [here.gateway]
    ups = [StandIn(here.gateway, tls=authority.server(f"{name}.test", folder)) for name in ("npm", "cdn", "evil")]
    yield Beyond(here, authority, names, *ups)
    for upstream in ups:
        upstream.close()
    names.close()


@pytest.fixture(scope="module")
def general_egress(here: World, beyond: Beyond) -> Egress:
    return here.start(beyond.policy(setup=True))


@pytest.fixture
def egress(general_egress: Egress, beyond: Beyond) -> Egress:
    """One egress for a file's tests; the outside has forgotten what earlier tests sent."""
    beyond.forget()
    return general_egress


def certificates(folder: Path) -> Authority:
    """Another authority, which nobody trusts."""
    folder.mkdir(exist_ok=True)
    return Authority()
