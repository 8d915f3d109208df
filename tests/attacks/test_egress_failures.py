"""Group E on a real egress container: it breaks in every place, and nothing gets out."""

from __future__ import annotations

import json

import pytest

from tests.sandbox.egress.policies import line
from tests.sandbox.egress.rig import (
    LAUNCH,
    PYTHON,
    REPOSITORY,
    Egress,
    Exchange,
    StandIn,
    World,
    get,
    model_part,
    policy_for,
    post,
)

pytestmark = pytest.mark.engine

# The real launcher, with functions that raise while /tmp/fail names them. Name lookups are written down.
BREAKABLE = r"""
import pathlib, socket
from sandbox.egress import addon, answer, answering, asked, credentials, headers, journal, launch, policy
from sandbox.egress import bodies, refusing, scrub, shown
from sandbox.egress.gate import Gate
from sandbox.egress.meter import Meter
from sandbox.egress.pool import Share
from sandbox.egress.questions import Questions
from sandbox.egress.usage import Reader
from sandbox.egress.allowed import Allowed
from sandbox.egress.dial import PinnedLoop

def failing(name):
    path = pathlib.Path("/tmp/fail")
    return path.exists() and name in path.read_text().split()

def breakable(owner, attribute):
    real, name = getattr(owner, attribute), owner.__name__.rsplit(".")[-1] + "." + attribute
    def either(*args, **kwargs):
        if failing(name):
            raise RuntimeError("CANARY-in-an-exception")
        return real(*args, **kwargs)
    setattr(owner, attribute, either)

for owner, attribute in [
    (policy, "decide"), (policy, "body_limit"), (shown, "path"), (headers, "sent"), (headers, "answered"),
    (credentials.Credentials, "set_on"), (credentials.Credentials, "masked"), (journal.Journal, "verdict"),
    (journal.Journal, "answer"), (journal.Journal, "trouble"), (PinnedLoop, "pin"), (addon, "HttpLayer"),
    (asked, "judged"), (asked, "rewrite"), (answering, "unwanted"), (answering, "clean"), (Allowed, "count"),
    (scrub.Scrubber, "feed"), (scrub.Scrubber, "finish"), (answer.Answer, "feed"), (answer.Answer, "complete"),
    (Gate, "open"), (Gate, "share"), (Gate, "question"), (Questions, "keep"), (Questions, "judged"),
    (Questions, "answered"), (Questions, "ended"), (bodies, "judged"), (Meter, "question"), (Meter, "moved"),
    (Meter, "answered"), (Meter, "spent"), (headers, "whole"), (Share, "count"), (Reader, "feed"), (Reader, "used"),
    (refusing.Refusals, "request"), (addon.Egress, "_allow"), (addon.Egress, "_end"),
]:
    breakable(owner, attribute)

real = socket.getaddrinfo
def lookup(*args, **kwargs):
    with open("/tmp/lookups", "a") as out:
        out.write(str(args[0]) + "\n")
    return real(*args, **kwargs)
socket.getaddrinfo = lookup
launch.main()
"""

BEFORE_SENDING = [
    "policy.decide", "headers.sent", "Credentials.set_on", "Journal.verdict", "PinnedLoop.pin",
    "addon.HttpLayer", "asked.judged", "asked.rewrite",
]  # fmt: skip
# Of a question to the model alone: its body is kept and judged.
BEFORE_ASKING = [
    "Gate.open", "Gate.share", "Gate.question", "Questions.keep", "Questions.judged", "bodies.judged", "Meter.question",
    "Meter.moved", "headers.whole", "Share.count",
]  # fmt: skip
WHILE_REFUSING = ["policy.decide", "Journal.verdict", "addon.HttpLayer", "shown.path", "Refusals.request"]
BEFORE_ANSWERING = [
    "Questions.answered",
    "Meter.answered",
    "headers.answered",
    "Credentials.masked",
    "answering.unwanted",
    "answering.clean",
]
WHILE_ANSWERING = [
    "Scrubber.feed",
    "Answer.feed",
    "Scrubber.finish",
    "Answer.complete",
    "Journal.answer",
    "Egress._end",
    "Reader.feed",
    "Reader.used",
    "Meter.spent",
    "Questions.ended",
]


CANARY_BODY = b'{"model":"CANARY-body"}'


@pytest.fixture(scope="module")
def egress(here: World, model: StandIn) -> Egress:
    return here.start(policy_for(model, model), command=[*PYTHON, BREAKABLE])


def fail(egress: Egress, *names: str) -> None:
    assert egress.container.exec_run(["sh", "-c", f"echo {' '.join(names)} > /tmp/fail"]).exit_code == 0


@pytest.mark.parametrize("name", BEFORE_SENDING)
def test_an_exception_before_sending_is_a_refusal(egress: Egress, model: StandIn, name: str) -> None:
    fail(egress, name)
    model.forget()
    answers = egress.talk(
        Exchange(post("/v1/messages", CANARY_BODY, "transfer-test: x")),
        Exchange(get(f"/{REPOSITORY}.git/info/refs?service=git-upload-pack"), to="fetch/git.sock"),
    )
    assert [answer.status for answer in answers] == [403, 403]
    assert b"CANARY-body" not in model.raw
    assert model.requests == []
    assert b"CANARY-in-an-exception" not in egress.container.logs()


@pytest.mark.parametrize("name", ["policy.body_limit", "Egress._allow"])
def test_an_exception_before_fetching_is_a_refusal(egress: Egress, model: StandIn, name: str) -> None:
    fail(egress, name)
    model.forget()
    answer = egress.say(get(f"/{REPOSITORY}.git/info/refs?service=git-upload-pack"), to="fetch/git.sock")
    assert (answer.status, model.connections) == (403, 0)


@pytest.mark.parametrize("name", WHILE_REFUSING)
def test_an_exception_while_refusing_is_a_refusal(egress: Egress, model: StandIn, name: str) -> None:
    fail(egress, name)
    model.forget()
    own = f"{model.host}:{model.port}"
    answers = egress.talk(
        Exchange(f"CONNECT {own} HTTP/1.1\r\nHost: {own}\r\n\r\n".encode(), to="agent/general.sock"),
        Exchange(f"GET http://{own}/ HTTP/1.1\r\nHost: {own}\r\n\r\n".encode(), to="agent/general.sock"),
        Exchange(post("/v1/files")),
    )
    assert [answer.status for answer in answers] == [403, 403, 403]
    assert model.connections == 0


@pytest.mark.parametrize("name", BEFORE_ASKING)
def test_an_exception_before_asking_sends_nothing(egress: Egress, model: StandIn, name: str) -> None:
    """The body comes in two pieces, so that what is counted on the way is too."""
    fail(egress, name)
    model.forget()
    head = post("/v1/messages", b"").replace(b"content-length: 0", b"content-length: %d" % (len(CANARY_BODY) + 2**18))
    answer = egress.say(head + CANARY_BODY, zeros=2**18)
    assert answer.status in (0, 403)
    assert model.connections == 0
    fail(egress, "nothing")
    assert egress.say(post("/v1/messages"), until=b"{}").status == 200


def test_an_exception_while_counting_a_body_sends_nothing_of_it(egress: Egress, model: StandIn) -> None:
    fail(egress, "Allowed.count")
    model.forget()
    first = egress.say(post("/v1/messages", CANARY_BODY))
    fail(egress, "nothing")
    model.settle()
    assert first.status != 200
    assert b"CANARY-body" not in model.raw
    assert egress.say(post("/v1/messages"), until=b"{}").status == 200


@pytest.mark.parametrize("name", BEFORE_ANSWERING)
def test_an_exception_before_answering_shows_nothing_of_the_answer(egress: Egress, model: StandIn, name: str) -> None:
    fail(egress, name)
    answer = egress.say(post("/v1/messages"))
    assert answer.status == 403
    assert b"{}" not in answer.data


@pytest.mark.parametrize("name", WHILE_ANSWERING)
def test_an_exception_while_answering_ends_the_connection(egress: Egress, model: StandIn, name: str) -> None:
    """What has been let through cannot be called back; what comes after it does not pass, and the egress lives on."""
    fail(egress, name)
    first = egress.say(post("/v1/messages") + post("/v1/messages"))
    fail(egress, "nothing")
    assert first.data.count(b"HTTP/1.1 200") <= 1
    assert egress.say(post("/v1/messages"), until=b"{}").status == 200


def test_e08_a_refused_name_is_never_looked_up(egress: Egress, model: StandIn) -> None:
    fail(egress, "nothing")
    egress.run("sh", "-c", ": > /tmp/lookups")
    egress.talk(
        Exchange(b"CONNECT secret.evil.test:443 HTTP/1.1\r\n\r\n", to="agent/general.sock", until=b"\r\n\r\n"),
        Exchange(
            b"GET http://secret.evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n", to="agent/general.sock", until=b"\r\n\r\n"
        ),
        Exchange(b"GET / HTTP/1.1\r\nHost: secret.evil.test\r\n\r\n", to="agent/general.sock", until=b"\r\n\r\n"),
        Exchange(
            b"POST http://secret.evil.test/v1/messages HTTP/1.1\r\nHost: x\r\ncontent-length: 0\r\n\r\n",
            until=b"\r\n\r\n",
        ),
        Exchange(post("/v1/messages").replace(b"127.0.0.1:9001", b"secret.evil.test"), until=b"{}"),
    )
    looked_up = egress.run("cat", "/tmp/lookups").split()
    assert set(looked_up) == {model.host}, "the control: the one allowed request was"


def test_where_even_refusing_fails_the_process_ends(here: World, model: StandIn) -> None:
    model.forget()
    egress = here.start(policy_for(model), command=[*PYTHON, BREAKABLE])
    fail(egress, "policy.decide", "Journal.trouble")
    assert egress.say(post("/v1/messages")).status == 0
    assert egress.container.wait(timeout=20)["StatusCode"] == 70
    assert model.connections == 0


SECRETS = {"model": "CANARY-key-0123456789", "fetch": "", "proxy": ""}


def whole(**policy: object) -> bytes:
    return json.dumps({"policy": line(git=None, **policy), "secrets": SECRETS}).encode() + b"\n"


BAD_FIRST_LINES = {
    "missing": b"",
    "malformed": b'{"policy": {}, "secrets": {"model": "CANARY-key-0123456789", "fetch": ""}\n',
    "plain-http": whole(model=model_part("http://api.test", private=False)),
    "no-certificate": whole(model=model_part("https://api.test", ca_pem="junk")),
    "unknown-part": whole(model=model_part("https://api.test"), more={}),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "missing" else []) for name in BAD_FIRST_LINES]
)
def test_e25_a_bad_policy_is_no_start(here: World, name: str) -> None:
    """Missing altogether takes ten seconds to be noticed."""
    egress = Egress(here, LAUNCH)
    egress.tell(BAD_FIRST_LINES[name])
    assert egress.container.wait(timeout=40)["StatusCode"] == 1
    facts = egress.log()
    assert [fact["event"] for fact in facts] == ["fatal"]
    assert "CANARY" not in json.dumps(facts)
    assert egress.say(post("/v1/messages")).status == 0


def test_e25_nothing_replaces_the_policy_of_a_running_egress(egress: Egress, model: StandIn) -> None:
    """No reload: later lines can only take away, and the code is out of this uid's reach."""
    other = {"policy": policy_for(model), "secrets": {**SECRETS, "model": "other-key-0123456789"}}
    model.forget()
    egress.tell(json.dumps(other).encode() + b"\n" + b'{"do": "allow-all"}\n' + b"\xff\n")
    egress.wait_for("trouble")
    egress.say(post("/v1/messages"), until=b"{}")
    assert model.requests[0].header("x-api-key") != ["other-key-0123456789"]
    where = "/opt/gofer/venv/lib/python3.13/site-packages/sandbox/egress/policy.py"
    assert egress.container.exec_run(["sh", "-c", f"echo >> {where}"]).exit_code != 0


def test_drop_fetch_ends_fetching_and_nothing_else(here: World, model: StandIn) -> None:
    egress = here.start(policy_for(model, model))
    refs = get(f"/{REPOSITORY}.git/info/refs?service=git-upload-pack")
    before = egress.say(refs, to="fetch/git.sock", until=b"{}")
    egress.tell(b'{"do": "drop-fetch"}\n')
    egress.wait_for("fetch-dropped")
    model.forget()
    after, still = egress.talk(Exchange(refs, to="fetch/git.sock"), Exchange(post("/v1/messages"), until=b"{}"))
    assert (before.status, after.status, still.status) == (200, 403, 200)
    assert after.text == "nothing can be fetched from this sandbox now\n"
    assert [request.header("authorization") for request in model.requests] == [[]]
    assert egress.report().fetch_dropped


def test_e28_without_the_egress_there_is_no_other_way(here: World, model: StandIn) -> None:
    """Frozen, then killed: the sockets are all there was."""
    egress = here.start(policy_for(model))
    model.forget()
    egress.container.pause()
    frozen = egress.say(post("/v1/messages"), seconds=1)
    egress.container.unpause()
    egress.container.kill()
    egress.container.wait(timeout=20)
    dead = egress.say(post("/v1/messages"))
    assert (frozen.status, frozen.error) == (0, "TimeoutError")
    assert (dead.status, dead.data) == (0, b"")
    assert dead.error in ("ConnectionRefusedError", "FileNotFoundError")


def test_e28_an_egress_without_memory_dies_and_is_not_open(here: World, model: StandIn) -> None:
    """24 MiB are less than it needs to start."""
    model.forget()
    egress = Egress(here, LAUNCH, memory="24m")
    assert egress.container.wait(timeout=60)["StatusCode"] == 137
    assert egress.say(post("/v1/files")).status == 0
    assert model.connections == 0


def test_e02_a_client_that_ignores_the_proxy_has_no_route(egress: Egress, model: StandIn) -> None:
    """No interface but loopback: not the upstream, not the host, not a name server, not even UDP."""
    script = f"""
import json, socket
def tried(kind, address):
    s = socket.socket(socket.AF_INET, kind); s.settimeout(5)
    try:
        s.connect(address); s.send(b"CANARY-direct"); return "sent"
    except OSError as e:
        return type(e).__name__
    finally:
        s.close()
hosts = [("{model.host}", {model.port}), ("172.17.0.1", 22), ("8.8.8.8", 53), ("169.254.169.254", 80), ("1.1.1.1", 443)]
out = [tried(kind, host) for host in hosts for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
try:
    out.append(str(socket.getaddrinfo("api.anthropic.com", 443)))
except OSError as e:
    out.append(type(e).__name__)
print(json.dumps([out, [name for _, name in socket.if_nameindex()]]))
"""
    model.forget()
    container = egress.world.client.containers.create(
        egress.world.image, [*PYTHON, script], labels=egress.world.labels("agent"), network_mode="none"
    )
    try:
        container.start()
        container.wait(timeout=60)
        results, interfaces = json.loads(container.logs(stderr=False))
    finally:
        container.remove(force=True)
    assert "sent" not in results
    assert all("rror" in result for result in results)
    assert interfaces == ["lo"]
    assert model.connections == 0
