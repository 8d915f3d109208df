"""A request on its way in, as mitmproxy hands it over."""

from __future__ import annotations

from typing import Any

import docker
import pytest

from tests.engine import Images
from tests.sandbox.egress.rig import inside

pytestmark = pytest.mark.engine

_JUDGED = """
import dataclasses, json
from mitmproxy.test import tflow, tutils
from sandbox.egress import asked
def judged(fields, **request):
    flow = tflow.tflow(req=tutils.treq(headers=fields, **request))
    flow.client_conn.peername = ("model", 7)
    return dataclasses.asdict(asked.judged(flow))
plain = {"authority": b"", "path": b"/v1/messages", "method": b"POST"}
print(json.dumps({
    "plain": judged(((b"content-length", b"2"), (b"content-type", b"application/json")), **plain),
    "empty": judged(((b"content-length", b"0"),), **plain),
    "chunked": judged(((b"transfer-encoding", b"Chunked"),), **plain),
    "hidden": judged(((b"transfer-encoding", b"gzip, chunked"),), **plain),
    "odd length": judged(((b"content-length", b"+2"),), **plain),
    "upgrade": judged(((b"upgrade", b"websocket"),), **plain),
    "h2c": judged(((b"http2-settings", b"x"),), **plain),
    "absolute": judged((), **{**plain, "authority": b"evil.test"}),
    "bytes": judged((), **{**plain, "path": b"/\\xc3\\xa9"}),
}))
"""


@pytest.fixture(scope="module")
def judged(docker_client: docker.DockerClient, images: Images) -> Any:
    return inside(docker_client, images.egress, _JUDGED)


def test_what_is_judged_is_what_came(judged: Any) -> None:
    facts = judged["plain"]
    assert (facts["listener"], facts["method"], facts["target"]) == ("model", "POST", "/v1/messages")
    assert (facts["has_body"], facts["length"], facts["content_type"]) == (True, 2, "application/json")
    assert (facts["upgrade"], facts["absolute"], facts["version"]) == (False, False, "HTTP/1.1")
    assert judged["bytes"]["target"] == "/\xc3\xa9", "one character a byte: nothing is decoded"


@pytest.mark.parametrize(
    ("name", "has_body", "length", "encoding"),
    [
        ("empty", False, 0, ""),
        ("chunked", True, None, ""),
        ("hidden", True, None, "gzip, chunked"),
        ("odd length", True, None, ""),
    ],
)
def test_a_body_is_seen_however_it_is_announced(
    judged: Any, name: str, has_body: bool, length: int | None, encoding: str
) -> None:
    facts = judged[name]
    assert (facts["has_body"], facts["length"], facts["content_encoding"]) == (has_body, length, encoding)


def test_a_change_of_protocol_and_an_absolute_target_are_seen(judged: Any) -> None:
    assert (judged["upgrade"]["upgrade"], judged["h2c"]["upgrade"], judged["absolute"]["absolute"]) == (True,) * 3
