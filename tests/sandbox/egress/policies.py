"""The policy that the tests of this folder judge by."""

from __future__ import annotations

from typing import Any

from sandbox.egress.reach import parse

PREFIX = "/v1/account/gateway"
MODEL = {
    "base_url": f"https://gateway.test{PREFIX}",
    "header": "x-api-key",
    "private": False,
    "ca_pem": "",
    "apis": ["anthropic-messages"],
    "oauth": False,
    "server_side": False,
}
GIT = {"base_url": "https://github.test", "private": False, "ca_pem": "", "repository": "Octo/hello.world"}
GENERAL = {"allowed": [], "setup": False}
BUDGET = {
    "model_requests": 1_000,
    "tokens": 50_000_000,
    "cost_usd": None,
    "egress_bytes": 2**32,
    "same_request": 12,
    "prices": None,
}


def line(**given: Any) -> dict[str, Any]:
    """A whole policy as the first line has it: a model and one repository, nothing else."""
    return {"model": MODEL, "git": GIT, "general": GENERAL, "proxy": None, "budget": None, **given}


POLICY = parse(line())
