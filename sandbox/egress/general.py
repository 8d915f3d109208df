"""What the listeners ``general`` and ``setup`` let through: reading from the operator's destinations. Pure.

A refusal of a CONNECT is shown to nobody by any tool. So every CONNECT to a name is accepted, without a look-up and
without a dial; TLS ends here, and what comes inside is judged: the host that CONNECT named, that TLS was opened for
and that the request names must be one and the same, and one of those that are allowed. Only then is anything dialled.
"""

from __future__ import annotations

from sandbox.egress import paths, shown
from sandbox.egress.places import General, Place, is_name
from sandbox.egress.reach import Policy, Upstream
from sandbox.egress.request import Request, Verdict, refused

LISTENERS = frozenset({"general", "setup"})
METHODS = frozenset({"GET", "HEAD"})


def decide(policy: Policy, request: Request) -> Verdict:
    """The one decision of these listeners. An allowed CONNECT has no ``target``: a tunnel is no request yet."""
    if request.listener not in LISTENERS or (request.listener == "setup" and not policy.general.setup):
        return refused(shown.host(request.host), 403, "nothing is reachable from this sandbox now")
    if request.inside:
        return _inside(policy.general, request)
    if request.method == "CONNECT":
        return _connect(policy.general, request)
    return _plain(policy, request)


def upstream(general: General, host: str, port: int) -> Upstream | None:
    """Where an allowed request goes; None where that is nowhere."""
    place = general.place(host.lower(), port)
    return _upstream(place) if place is not None else None


def upstreams(general: General) -> tuple[Upstream, ...]:
    """All that may ever be dialled."""
    return tuple(_upstream(place) for place in general.allowed.values())


def key(destination: Upstream) -> str:
    """Names one of ``upstreams`` among them."""
    return f"{destination.host}:{destination.port}"


def is_allowed(general: General, request: Request) -> bool:
    """Whether a CONNECT leads to a destination; where not, it counts as a blocked attempt at once."""
    return general.place(request.host.lower(), request.port) is not None


def _upstream(place: Place) -> Upstream:
    return Upstream(place.host, place.port, True, "", place.private, place.ca_pem)


def _connect(general: General, request: Request) -> Verdict:
    """A tunnel needs a name that a certificate can be made for. Port 80 is for plain HTTP, which no tunnel carries."""
    host, allowed = shown.host(request.host), is_allowed(general, request)
    if allowed or (is_name(request.host.lower()) and request.port != 80 and 0 < request.port < 65536):
        return Verdict(True, 200, "", host)
    return refused(host, 403, _words(host))


def _plain(policy: Policy, request: Request) -> Verdict:
    host, asked = shown.host(request.host), request.host.lower()
    known = {up.host for up in (policy.model, policy.git) if up is not None and up.tls}
    known |= {name for name, _ in policy.general.allowed}
    if request.scheme == "http" and request.method.upper() != "CONNECT" and asked in known:
        return refused(host, 403, f"{host} is reachable only over HTTPS")
    return refused(host, 403, _words(host))


def _inside(general: General, request: Request) -> Verdict:
    host = request.host.lower()
    place = general.place(host, request.port)
    if request.absolute or (other := _other_name(request)):
        other = request.host if request.absolute else other
        return refused(shown.host(other), 421, f"{_words(shown.host(other))} by way of {shown.host(host)}")
    if place is None:
        return refused(shown.host(host), 403, _words(shown.host(host)))
    return _to(place, request)


def _other_name(request: Request) -> str:
    """A name in SNI or Host that is not the one that CONNECT had; empty where all are one. Addresses have no SNI."""
    host = request.host.lower()
    if request.sni.lower() != (host if is_name(host) else ""):
        return request.sni or "a host without a name"
    if len(request.named) != 1:
        return "more than one host" if request.named else "a host without a name"
    bare = f"[{host}]" if ":" in host else host
    authority = bare if request.port == 443 else f"{bare}:{request.port}"
    return "" if request.named[0].lower() == authority else request.named[0]


def _to(place: Place, request: Request) -> Verdict:
    """A destination that is allowed: what may be asked of it."""
    if request.version != "HTTP/1.1":
        return refused(place.host, 400, "only HTTP/1.1 is spoken here")
    if request.upgrade:
        return refused(place.host, 403, "changing the protocol is not possible from this sandbox")
    if request.method not in METHODS:
        return refused(place.host, 405, f"{place.host} may only be read from this sandbox: GET and HEAD")
    if request.has_body:
        return refused(place.host, 400, "no body belongs here")
    if why := paths.refusal(request.target, place.grammar):
        return refused(place.host, 403, f"{place.host}: {why}")
    return Verdict(True, 200, "", place.host, request.target)


def _words(host: str) -> str:
    return f"{host} is not reachable from this sandbox"
