"""The exact strings that a listener lets through, each with what is sent upstream in its place. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.egress.reach import Policy, Terms, Upstream

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
    api: str = ""
    """By which of the model's APIs the body is judged; empty: by none."""
    answers: bool = False
    """Its response counts as an answer of the model (counting tokens is none)."""


def rules(policy: Policy, listener: str) -> dict[str, Rule]:
    """Every request target that this listener knows, with what becomes of it."""
    upstream = policy.upstream(listener)
    if upstream is None:
        return {}
    if listener == "model":
        return _model_rules(upstream, policy.terms) if policy.terms is not None else {}
    return _git_rules(upstream, policy.repository)


def _model_rules(upstream: Upstream, terms: Terms) -> dict[str, Rule]:
    """The agent may say the gateway's path prefix or leave it to us; it need not know it."""
    table: dict[str, Rule] = {}
    if "anthropic-messages" in terms.apis:
        for path in ("/v1/messages", "/v1/messages/count_tokens"):
            for query in ("", "?beta=true"):
                target = f"{upstream.prefix}{path}{query}"
                rule = _model_rule(target, "anthropic-messages", answers=path == "/v1/messages")
                table[f"{path}{query}"] = table[target] = rule
    for api, path in (("openai-responses", "/responses"), ("openai-chat", "/chat/completions")):
        if api in terms.apis:
            target = f"{upstream.prefix or '/v1'}{path}"
            table[f"/v1{path}"] = table[target] = _model_rule(target, api, answers=True)
    return table


def _model_rule(target: str, api: str, *, answers: bool) -> Rule:
    return Rule("POST", target, "application/json", MODEL_BODY_BYTES, api=api, answers=answers)


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
