"""A response on its way back, as mitmproxy hands it over."""

from __future__ import annotations

from typing import Any

import docker
import pytest

from tests.engine import Images
from tests.sandbox.egress.rig import inside

pytestmark = pytest.mark.engine

_ANSWERED = """
import json
from mitmproxy.test import tutils
from sandbox.egress import answering
from sandbox.egress.scrub import Scrubber
def response(status, **fields):
    return tutils.tresp(status_code=status, headers=[(k.replace("_", "-").encode(), v) for k, v in fields.items()])
def unwanted(status, **fields):
    return answering.unwanted(response(status, **fields))
def cleaned(listener):
    it = response(401, x_echo=b"a secret-0123", set_cookie=b"a=b")
    it.data.reason = b"secret-0123"
    answering.clean(it, listener, Scrubber([b"secret-0123"]))
    return [it.status_code, dict(it.headers), it.reason]
class Broken:
    def feed(self, chunk):
        raise RuntimeError
failed, yes = [], lambda chunk: True
passed = answering.stream(Scrubber([b"secret-0123"]), yes, failed.append)
stopped = answering.stream(Scrubber([]), lambda chunk: False, failed.append)
broken = answering.stream(Broken(), yes, failed.append)
print(json.dumps({
    "refused": [unwanted(status) for status in (101, 199, 301, 304, 399)],
    "encoded": [unwanted(200, content_encoding=value) for value in (b"gzip", b"identity, br")],
    "wanted": [unwanted(200), unwanted(429), unwanted(500), unwanted(200, content_encoding=b" Identity ")],
    "git": cleaned("git"), "model": cleaned("model"),
    "passed": [[piece.decode() for piece in passed(chunk)] for chunk in (b"a sec", b"ret-0123", b"b sec", b"", b"")],
    "stopped": stopped(b"a"), "broken": broken(b"a secret-0123"), "failed": [type(error).__name__ for error in failed],
}))
"""


@pytest.fixture(scope="module")
def answered(docker_client: docker.DockerClient, images: Images) -> Any:
    return inside(docker_client, images.egress, _ANSWERED)


def test_redirects_other_protocols_and_encoded_answers_are_not_passed_on(answered: Any) -> None:
    assert all(answered["refused"])
    assert all(answered["encoded"])
    assert answered["wanted"] == ["", "", "", ""]


def test_a_head_keeps_no_secret_and_git_is_not_asked_for_a_password(answered: Any) -> None:
    assert answered["model"] == [401, {"x-echo": "a ***********"}, "***********"]
    assert answered["git"][0] == 403


def test_a_secret_across_two_chunks_is_masked_and_nothing_is_no_chunk(answered: Any) -> None:
    assert answered["passed"] == [["a "], ["***********"], ["b "], ["sec"], []]


def test_a_chunk_that_cannot_be_read_goes_nowhere(answered: Any) -> None:
    assert (answered["stopped"], answered["broken"], answered["failed"]) == ([], [], ["RuntimeError"])
