"""What the doctor makes of facts: well only where every fact says so."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox import findings
from sandbox.findings import Health
from sandbox.presets import parse
from sandbox.settings import Destination, Settings

LOOK: dict[str, Any] = {
    "interfaces": ["lo"], "seccomp": "2", "no_new_privileges": "1", "capabilities": "0000000000000000", "uid": 65532,
    "unshare": False, "packets": False, "lookup": False, "root": False,
}  # fmt: skip


def health(look: dict[str, Any]) -> dict[str, Health]:
    return {finding.subject: finding.health for finding in findings.container(look)}


def test_a_container_as_it_should_be() -> None:
    assert health(LOOK) == dict.fromkeys(["network", "seccomp", "privileges", "image"], Health.OK)


@pytest.mark.parametrize(
    ("fact", "value", "subject"),
    [
        ("interfaces", ["eth0", "lo"], "network"), ("lookup", True, "network"), ("seccomp", "0", "seccomp"),
        ("unshare", True, "seccomp"), ("packets", True, "seccomp"), ("no_new_privileges", "0", "privileges"),
        ("capabilities", "00000000a80425fb", "privileges"), ("uid", 0, "privileges"), ("root", True, "image"),
    ],
)  # fmt: skip
def test_each_fact_fails_its_subject_and_no_other(fact: str, value: object, subject: str) -> None:
    wrong = health({**LOOK, fact: value})
    assert [name for name, found in wrong.items() if found is not Health.OK] == [subject]


def test_unknown_is_not_well() -> None:
    assert set(health({}).values()) == {Health.FAILED}
    assert findings.workspace({}, 1).health is Health.FAILED
    assert findings.gateway("gateway", {}).health is Health.FAILED


@pytest.mark.parametrize(
    ("fill", "well"),
    [
        ({"written": 30, "full": "No space left on device"}, True),
        ({"written": 64, "full": ""}, False),
        ({"written": 33, "full": "No space left on device"}, False),
        ({"written": 0, "full": "Read-only file system"}, False),
    ],
)
def test_a_workspace_is_capped_or_it_is_not(fill: dict[str, Any], well: bool) -> None:
    assert (findings.workspace(fill, 32).health is Health.OK) == well


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, Health.OK), (400, Health.WARNING), (401, Health.FAILED), (402, Health.FAILED), (403, Health.FAILED),
        (404, Health.WARNING), (429, Health.WARNING), (500, Health.WARNING), (502, Health.FAILED), (0, Health.FAILED),
        (529, Health.WARNING),
    ],
)  # fmt: skip
def test_a_gateways_answer(status: int, expected: Health) -> None:
    found = findings.gateway("gateway", {"status": status, "words": "said \x1b[2J\nso"})
    assert found.health is expected
    assert (found.remedy == "") == (expected is Health.OK)
    assert found.words.isprintable()


PLACE = Destination(host="npm.test", port=8443)
OUTPUTS = [
    ("curl", "{}status 404", Health.OK),
    ("node", "status 200\n", Health.OK),
    ("python", "status 404 Not Found", Health.OK),
    ("git", "fatal: repository 'https://npm.test:8443/gofer-doctor.git/' not found", Health.OK),
    ("npm", "npm error code E404\nnpm error 404 Not Found - GET https://npm.test/gofer-doctor", Health.OK),
    ("pip", "Could not fetch URL: 404 Client Error: Not Found for url - skipping", Health.OK),
    ("npm", "npm error code SELF_SIGNED_CERT_IN_CHAIN", Health.FAILED),
    ("git", "fatal: SSL certificate problem: unable to get local issuer certificate", Health.FAILED),
    ("curl", "npm.test is not reachable from this sandbox\nstatus 403", Health.FAILED),
    ("curl", "npm.test could not be reached, or did not answer as HTTP/1.1 demands\nstatus 502", Health.FAILED),
    ("node", "Error: getaddrinfo EAI_AGAIN npm.test", Health.FAILED),
    ("pip", "it did not end within 60 s", Health.FAILED),
    ("pip", None, Health.WARNING),
]


@pytest.mark.parametrize(("name", "output", "expected"), OUTPUTS)
def test_what_a_tool_printed(name: str, output: str | None, expected: Health) -> None:
    assert findings.tool(name, output, PLACE).health is expected


def test_the_list_is_shown_as_it_is_in_force(tmp_path: Any) -> None:
    assert "none is allowed" in findings.allowed(Settings(state_dir=tmp_path)).words
    places = parse("a.test, b.test:8443, [fd00::5]:8443", private=["[fd00::5]:8443"])
    words = findings.allowed(Settings(state_dir=tmp_path, allowed=places)).words
    assert words == "agents may read from a.test, b.test:8443, [fd00::5]:8443"
