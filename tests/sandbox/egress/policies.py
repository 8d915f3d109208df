"""The policy that the tests of this folder judge by."""

from __future__ import annotations

from sandbox.egress.reach import parse

PREFIX = "/v1/account/gateway"
MODEL = {"base_url": f"https://gateway.test{PREFIX}", "header": "x-api-key", "private": False, "ca_pem": ""}
GIT = {"base_url": "https://github.test", "private": False, "ca_pem": "", "repository": "Octo/hello.world"}
POLICY = parse({"model": MODEL, "git": GIT})
