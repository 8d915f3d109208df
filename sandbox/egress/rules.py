"""The exact strings that a listener lets through, each with what is sent upstream in its place. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.egress.reach import Policy, Upstream

# A model request of the agents is 55 to 100 kB at the start and grows with the conversation; providers refuse
# bodies above 32 MB themselves.
MODEL_BODY_BYTES = 32 * 2**20
# "want" and "have" lines of a fetch at depth 1 are a few kB.
GIT_BODY_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Rule:
    """What one request target is good for. ``content_type`` is empty where there must be no body."""

    method: str
    target: str
    content_type: str = ""
    body_bytes: int = 0
    encodings: tuple[str, ...] = ("",)


def rules(policy: Policy, listener: str) -> dict[str, Rule]:
    """Every request target that this listener knows, with what becomes of it."""
    upstream = policy.upstream(listener)
    if upstream is None:
        return {}
    return _model_rules(upstream) if listener == "model" else _git_rules(upstream, policy.repository)


def _model_rules(upstream: Upstream) -> dict[str, Rule]:
    """The agent may say the gateway's path prefix or leave it to us; it need not know it."""
    table = {}
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        for query in ("", "?beta=true"):
            rule = Rule("POST", f"{upstream.prefix}{path}{query}", "application/json", MODEL_BODY_BYTES)
            table[f"{path}{query}"] = table[rule.target] = rule
    return table


def _git_rules(upstream: Upstream, repository: str) -> dict[str, Rule]:
    """Git's smart protocol, reading half, of one repository: the two requests of a fetch."""
    table = {}
    for suffix in ("", ".git"):
        path = f"/{repository}{suffix}"
        refs, pack = f"{path}/info/refs?service=git-upload-pack", f"{path}/git-upload-pack"
        table[refs] = Rule("GET", f"{upstream.prefix}{refs}")
        table[pack] = Rule(
            "POST", f"{upstream.prefix}{pack}", "application/x-git-upload-pack-request", GIT_BODY_BYTES, ("", "gzip")
        )
    return table
