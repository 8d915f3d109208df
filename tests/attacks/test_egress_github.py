"""E37 on a real egress container: an account at GitHub is no way out, whatever is asked of it and by what way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sandbox.egress.rig import (
    REPOSITORY,
    Egress,
    Exchange,
    Got,
    StandIn,
    World,
    get,
    policy_for,
    post,
)
from tests.sandbox.egress.tunnel import Tunnel, through
from tests.sandbox.egress.tunnel import get as inner

pytestmark = pytest.mark.engine

OWN = f"/repos/{REPOSITORY}"
# What writes, what reads more than the one repository, and what GitHub would fetch or send on for the asker.
ENDPOINTS = [
    "POST /gists", "PATCH /gists/1", "POST /gists/1/comments", "POST /gists/1/forks", "PUT /gists/1/star", "GET /gists",
    "POST /graphql", "GET /graphql", "POST /api/graphql",
    f"POST {OWN}/issues", f"POST {OWN}/issues/1/comments", f"PATCH {OWN}/issues/1", f"POST {OWN}/issues/1/labels",
    f"POST {OWN}/issues/comments/1/reactions", f"PUT {OWN}/issues/1/lock",
    "POST /repos/evil/drop/issues", "POST /repos/evil/drop/issues/1/comments", "GET /repos/evil/drop/contents/x",
    f"POST {OWN}/pulls", f"POST {OWN}/pulls/1/reviews", f"PUT {OWN}/pulls/1/merge", f"POST {OWN}/pulls/1/comments",
    f"POST {OWN}/forks", "POST /repos/evil/drop/forks", f"POST {OWN}/merges", f"POST {OWN}/generate",
    "PUT /user/starred/evil/drop", "PUT /user/following/evil", f"PUT {OWN}/subscription", "PATCH /user",
    f"POST {OWN}/dispatches", f"POST {OWN}/actions/workflows/1/dispatches", f"PUT {OWN}/actions/secrets/X",
    f"PUT {OWN}/contents/x", f"DELETE {OWN}/contents/x", f"POST {OWN}/git/blobs", f"POST {OWN}/git/trees",
    f"POST {OWN}/git/commits", f"POST {OWN}/git/refs", f"PATCH {OWN}/git/refs/heads/main", f"POST {OWN}/git/tags",
    f"POST {OWN}/releases", f"POST {OWN}/releases/1/assets?name=x", f"POST {OWN}/deployments", f"POST {OWN}/hooks",
    f"POST {OWN}/statuses/0", f"POST {OWN}/check-runs", f"POST {OWN}/keys", f"PUT {OWN}/collaborators/evil",
    f"POST {OWN}/code-scanning/sarifs", f"POST {OWN}/pages", f"POST {OWN}/transfer", f"PATCH {OWN}", f"GET {OWN}",
    f"GET {OWN}/tarball", f"GET {OWN}/commits", f"GET {OWN}/actions/artifacts/1/zip", f"GET {OWN}/import",
    "POST /user/repos", "POST /orgs/evil/repos", "POST /user/keys", "POST /markdown", "GET /search/code?q=canary",
    "GET /user", "GET /installation/repositories", "POST /app/installations/1/access_tokens", "GET /events",
    "GET /repos/evil/canary", "GET /users/canary", "POST /login/oauth/access_token", "POST /login/device/code",
    f"GET /{REPOSITORY}", f"GET /{REPOSITORY}/archive/HEAD.zip", f"GET /{REPOSITORY}/raw/main/x", "GET /evil/canary",
    f"POST /{REPOSITORY}.git/git-receive-pack", f"POST /{REPOSITORY}.git/info/lfs/objects/batch",
    f"GET /{REPOSITORY}.wiki.git/info/refs?service=git-upload-pack",
    "GET /evil/drop.git/info/refs?service=git-upload-pack", "POST /evil/drop.git/git-upload-pack",
    "POST /evil/drop.git/git-receive-pack", "GET /evil/drop.git/info/refs?service=git-receive-pack",
]  # fmt: skip
HOSTS = ["github.com", "api.github.com", "gist.github.com", "uploads.github.com", "raw.githubusercontent.com",
         "codeload.github.com", "objects.githubusercontent.com", "ghcr.io", "evil.github.io"]  # fmt: skip
# None of these lets anything through: malformed, refused, wrong method, kind of body.
REFUSED = {400, 403, 405, 415}


@pytest.fixture(scope="module")
def upstream(here: World) -> Iterator[StandIn]:
    """Model and git host in one: nothing may reach either."""
    made = StandIn(here.gateway)
    yield made
    made.close()


@pytest.fixture(scope="module")
def egress(here: World, upstream: StandIn) -> Egress:
    return here.start(policy_for(upstream, upstream))


def endpoint(line: str, host: str = "") -> bytes:
    """As a client with an account of its own would ask."""
    method, target = line.split(" ")
    token = "Authorization: Bearer ghp_anattackersown0123456789"
    asked = get(target, token) if method == "GET" else post(target, b'{"body":"canary"}', token)
    return asked.replace(b"POST", method.encode(), 1).replace(b"127.0.0.1:9002", host.encode() or b"127.0.0.1:9002")


def let_through(lines: list[str], answers: list[Got]) -> list[str]:
    return [line for line, answer in zip(lines, answers, strict=True) if answer.status not in REFUSED]


def test_control_the_one_repository_can_be_fetched(egress: Egress, upstream: StandIn) -> None:
    upstream.forget()
    answer = egress.say(get(f"/{REPOSITORY}.git/info/refs?service=git-upload-pack"), to="fetch/git.sock", until=b"{}")
    assert answer.status == 200
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("way", ["fetch/git.sock", "agent/model.sock", "agent/general.sock"])
def test_e37_no_endpoint_of_github_is_reached(egress: Egress, upstream: StandIn, way: str) -> None:
    """By the way to the git host, which holds a token, and by the two that the agent has."""
    assert len(ENDPOINTS) >= 60
    upstream.forget()
    answers = egress.talk(*(Exchange(endpoint(line, "api.github.com"), to=way) for line in ENDPOINTS))
    assert let_through(ENDPOINTS, answers) == []
    assert upstream.connections == 0


def test_e37_no_host_of_github_is_reached_through_the_general_proxy(egress: Egress, upstream: StandIn) -> None:
    upstream.forget()
    words = {f"{host} is not reachable from this sandbox\n" for host in HOSTS}
    requests = [f"GET http://{host}/gists HTTP/1.1\r\nHost: {host}\r\n\r\n" for host in HOSTS]
    answers = egress.talk(*(Exchange(request.encode(), to="agent/general.sock") for request in requests))
    assert let_through([f"GET {host}" for host in HOSTS], answers) == []
    assert {answer.text for answer in answers} == words
    inside = through(egress, *(Tunnel(host, 443, inner(host, "/gists")) for host in HOSTS))
    assert {(answer.status, answer.text) for answer in inside} == {(403, text) for text in words}
    assert upstream.connections == 0


def test_e37_once_fetched_the_repository_itself_is_out_of_reach(here: World, upstream: StandIn) -> None:
    """The token is forgotten before an agent runs; and the agent has no socket of that listener."""
    egress = here.start(policy_for(upstream, upstream))
    egress.tell(b'{"do": "drop-fetch"}\n')
    egress.wait_for("fetch-dropped")
    upstream.forget()
    lines = [f"GET /{REPOSITORY}.git/info/refs?service=git-upload-pack", *ENDPOINTS[-8:]]
    answers = egress.talk(*(Exchange(endpoint(line), to="fetch/git.sock") for line in lines))
    assert let_through(lines, answers) == []
    assert upstream.connections == 0
