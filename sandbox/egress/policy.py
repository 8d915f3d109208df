"""What may leave a sandbox: ``decide(policy, request) -> Verdict``. Default deny; pure; standard library only.

There is nothing to normalise here. All that a listener lets through is a handful of exact strings (method and
request target, byte for byte), each with the exact string that is sent upstream in its place. A spelling that would
need decoding to be understood (``%2e``, ``..``, ``//``, ``;``, another case) is not in the table, so it is refused,
and what was judged is what is sent.
"""

from __future__ import annotations

from sandbox.egress import shown
from sandbox.egress.reach import Policy, Upstream
from sandbox.egress.request import Request, Verdict
from sandbox.egress.request import refused as _no
from sandbox.egress.rules import Rule, rules

__all__ = ["Request", "Verdict", "body_limit", "decide"]


def decide(policy: Policy, request: Request) -> Verdict:
    """The one decision for model and repository (general.py has the other). Everything is refused that no line below
    lets through."""
    upstream = policy.upstream(request.listener)
    if upstream is None:
        if request.listener == "git":
            return _no("git", 403, "nothing can be fetched from this sandbox now")
        if request.listener == "model":
            return _no("model", 403, "no model is reachable from this sandbox")
        return _no(shown.host(request.host), 403, f"{shown.host(request.host)} is not reachable from this sandbox")
    if request.version != "HTTP/1.1":
        return _no(upstream.host, 400, "only HTTP/1.1 is spoken here")
    if request.absolute:
        return _no(upstream.host, 421, f"{shown.host(request.host)} is not reachable from this sandbox")
    if request.upgrade:
        return _no(upstream.host, 403, "changing the protocol is not possible from this sandbox")
    rule = rules(policy, request.listener).get(request.target)
    if rule is None:
        return _no(upstream.host, 403, _unknown_target(policy, request))
    return _against(rule, upstream, request)


def _against(rule: Rule, upstream: Upstream, request: Request) -> Verdict:
    if request.method != rule.method:
        return _no(upstream.host, 405, f"{shown.path(request.target)} takes {rule.method} only")
    if bool(rule.content_type) != request.has_body:
        return _no(upstream.host, 400, "a body is missing" if rule.content_type else "no body belongs here")
    if rule.content_type and request.content_type.partition(";")[0].strip().lower() != rule.content_type:
        return _no(upstream.host, 415, f"the body must be {rule.content_type}")
    if request.content_encoding not in rule.encodings:
        return _no(upstream.host, 415, "the body must not be encoded")
    if request.length is not None and request.length > rule.body_bytes:
        return _no(upstream.host, 413, f"a body may have {rule.body_bytes} bytes at most")
    return Verdict(True, 200, "", upstream.host, rule.target, rule)


def body_limit(policy: Policy, request: Request) -> int:
    """Bytes that the body of an allowed request may have; 0 for any other request."""
    rule = rules(policy, request.listener).get(request.target)
    return rule.body_bytes if rule is not None and decide(policy, request).allowed else 0


def _unknown_target(policy: Policy, request: Request) -> str:
    if request.listener == "model":
        return f"{shown.method(request.method)} {shown.path(request.target)} is not reachable from this sandbox"
    if "receive-pack" in request.target:
        return f"pushing is refused: this sandbox may only read {policy.repository}"
    return f"only {policy.repository} can be fetched from this sandbox"
