"""The rule, row by row: the first that holds decides, and the stream can only lower it."""

from __future__ import annotations

import pytest

from sandbox.egress.meter import Breach
from sandbox.job import Reason, State
from sandbox.verdict import STDERR_CHARACTERS, Facts, Kill, judge, over

GOOD = {"exit_code": 0, "final": True, "model_answers": 1}

LIMIT, LOOP = over(Breach("tokens", 5)), over(Breach("same_request", 12))

ROWS: list[tuple[str, dict[str, object], State, Reason]] = [
    ("a clean end", {}, State.SUCCEEDED, Reason.OK),
    ("deadline", {"kill": Kill.DEADLINE, "exit_code": 137}, State.FAILED, Reason.DEADLINE),
    ("cancelled", {"kill": Kill.CANCELLED, "exit_code": 137}, State.FAILED, Reason.CANCELLED),
    ("cancelled before its start", {"kill": Kill.CANCELLED, "exit_code": None}, State.FAILED, Reason.CANCELLED),
    ("cancelled, and it ended at the same moment", {"kill": Kill.CANCELLED}, State.FAILED, Reason.CANCELLED),
    ("our kill, container gone", {"kill": Kill.DEADLINE, "present": False}, State.FAILED, Reason.DEADLINE),
    (
        "our kill beats out of memory",
        {"kill": Kill.DEADLINE, "oom": True, "exit_code": 137},
        State.FAILED,
        Reason.DEADLINE,
    ),
    ("killed for its dead way out", {"kill": Kill.EGRESS_LOST, "exit_code": 137}, State.FAILED, Reason.EGRESS_LOST),
    ("finished but would not go", {"kill": Kill.FINISHED, "exit_code": 137}, State.FAILED, Reason.EXIT),
    ("finished, and went before our kill", {"kill": Kill.FINISHED}, State.SUCCEEDED, Reason.OK),
    ("finished, and failed before our kill", {"kill": Kill.FINISHED, "exit_code": 3}, State.FAILED, Reason.EXIT),
    (
        "finished, would not go, and is gone",
        {"kill": Kill.FINISHED, "present": False, "exit_code": None},
        State.FAILED,
        Reason.EXIT,
    ),
    (
        "finished, and worked on until our kill",
        {"kill": Kill.FINISHED, "exit_code": 137, "final": False},
        State.FAILED,
        Reason.AGENT_ERROR,
    ),
    (
        "finished with an error and would not go",
        {"kill": Kill.FINISHED, "exit_code": 137, "agent_error": "no"},
        State.FAILED,
        Reason.AGENT_ERROR,
    ),
    (
        "a forged end that had us kill it",
        {"kill": Kill.FINISHED, "exit_code": 137, "model_answers": 0},
        State.FAILED,
        Reason.NO_MODEL_ANSWER,
    ),
    ("at its limit", {"kill": Kill.BUDGET, "over": LIMIT, "exit_code": 137}, State.FAILED, Reason.BUDGET),
    ("in a loop", {"kill": Kill.LOOP, "over": LOOP, "exit_code": 137}, State.FAILED, Reason.LOOP),
    ("gave up at its limit", {"over": LIMIT, "exit_code": 1, "agent_error": "timed out"}, State.FAILED, Reason.BUDGET),
    ("gave up at its limit, exit 0", {"over": LIMIT, "agent_error": "timed out"}, State.FAILED, Reason.BUDGET),
    ("its way out was cut at its limit", {"over": LIMIT, "kill": Kill.EGRESS_LOST}, State.SUCCEEDED, Reason.OK),
    ("ended well at its limit", {"over": LIMIT}, State.SUCCEEDED, Reason.OK),
    ("ended well before our kill", {"over": LIMIT, "kill": Kill.BUDGET}, State.SUCCEEDED, Reason.OK),
    ("cancelled at its limit", {"over": LIMIT, "kill": Kill.CANCELLED}, State.FAILED, Reason.CANCELLED),
    ("late at its limit", {"over": LIMIT, "kill": Kill.DEADLINE}, State.FAILED, Reason.DEADLINE),
    (
        "finished at its limit and would not go",
        {"over": LIMIT, "kill": Kill.FINISHED, "exit_code": 137},
        State.FAILED,
        Reason.BUDGET,
    ),
    ("gone", {"present": False, "exit_code": None}, State.LOST, Reason.LOST),
    ("crash or power loss", {"exit_code": 255}, State.LOST, Reason.LOST),
    ("the agent's own 255, told as 254", {"exit_code": 254}, State.FAILED, Reason.EXIT),
    ("killed by someone else", {"exit_code": 137}, State.LOST, Reason.LOST),
    ("stopped by someone else", {"exit_code": 143}, State.LOST, Reason.LOST),
    ("killed for memory", {"exit_code": 137, "oom": True}, State.FAILED, Reason.OUT_OF_MEMORY),
    (
        "its child was killed for memory and it gave up",
        {"exit_code": 1, "oom": True},
        State.FAILED,
        Reason.OUT_OF_MEMORY,
    ),
    ("its child was killed for memory and it went on", {"oom": True}, State.SUCCEEDED, Reason.OK),
    ("memory and disk", {"exit_code": 1, "oom": True, "disk_full": True}, State.FAILED, Reason.OUT_OF_MEMORY),
    ("workspace full", {"exit_code": 1, "disk_full": True}, State.FAILED, Reason.DISK_FULL),
    ("workspace full and it went on", {"disk_full": True}, State.SUCCEEDED, Reason.OK),
    ("way out died first", {"exit_code": 1, "egress_died": True, "agent_error": "x"}, State.FAILED, Reason.EGRESS_LOST),
    ("way out died afterwards", {"egress_died": True}, State.SUCCEEDED, Reason.OK),
    ("its own error", {"exit_code": 1, "agent_error": "credit"}, State.FAILED, Reason.AGENT_ERROR),
    ("an exit without words", {"exit_code": 3, "final": False}, State.FAILED, Reason.EXIT),
    ("a forged success and exit 3", {"exit_code": 3}, State.FAILED, Reason.EXIT),
    ("exit 0 with an error", {"agent_error": "no"}, State.FAILED, Reason.AGENT_ERROR),
    ("exit 0 without a final event", {"final": False}, State.FAILED, Reason.AGENT_ERROR),
    ("exit 0 without an answer of the model", {"model_answers": 0}, State.FAILED, Reason.NO_MODEL_ANSWER),
    ("a reply, and nothing changed", {"changed": False}, State.SUCCEEDED, Reason.UNCHANGED),
    ("a reply, and something changed", {"changed": True}, State.SUCCEEDED, Reason.OK),
    ("a reply, and changes that cannot be read", {"changed": None}, State.SUCCEEDED, Reason.OK),
    ("no reply, and something changed", {"replied": False, "changed": True}, State.SUCCEEDED, Reason.NO_REPLY),
    ("no reply, and changes that cannot be read", {"replied": False}, State.SUCCEEDED, Reason.NO_REPLY),
    ("no reply, and nothing changed", {"replied": False, "changed": False}, State.FAILED, Reason.NO_REPLY),
    ("the model refused", {"refused": True, "agent_error": "no", "exit_code": 1}, State.FAILED, Reason.REFUSED),
    ("the model refused, and exit 0", {"refused": True, "agent_error": "no"}, State.FAILED, Reason.REFUSED),
    ("the model refused without a word", {"refused": True, "replied": False}, State.FAILED, Reason.REFUSED),
    (
        "refused, and gone by someone's kill",
        {"refused": True, "exit_code": 137},
        State.LOST,
        Reason.LOST,
    ),
    (
        "refused past the deadline",
        {"refused": True, "exit_code": 137, "kill": Kill.DEADLINE},
        State.FAILED,
        Reason.DEADLINE,
    ),
    ("nothing changed, and an error", {"agent_error": "no", "changed": False}, State.FAILED, Reason.AGENT_ERROR),
    ("nothing changed, and exit 3", {"exit_code": 3, "changed": False}, State.FAILED, Reason.EXIT),
    ("no reply, and no answer either", {"replied": False, "model_answers": 0}, State.FAILED, Reason.NO_MODEL_ANSWER),
    (
        "no reply, nothing changed, and no final event",
        {"replied": False, "changed": False, "final": False},
        State.FAILED,
        Reason.AGENT_ERROR,
    ),
]


@pytest.mark.parametrize(("name", "given", "state", "reason"), ROWS, ids=[row[0] for row in ROWS])
def test_rule(name: str, given: dict[str, object], state: State, reason: Reason) -> None:
    verdict = judge(Facts(**{**GOOD, **given}))  # type: ignore[arg-type]
    assert (verdict.state, verdict.reason) == (state, reason)
    assert (verdict.error == "") == (state is State.SUCCEEDED)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"oom": True}, "ran out of memory"),
        ({"disk_full": True}, "workspace was full"),
        ({"egress_died": True}, "way out"),
    ],
)
def test_what_did_not_decide_is_a_note(given: dict[str, object], words: str) -> None:
    [note] = judge(Facts(**{**GOOD, **given})).notes  # type: ignore[arg-type]
    assert words in note


def test_b88_no_stream_makes_a_success_without_an_exit_status_of_0() -> None:
    """Whatever is recorded besides: the final event and a real answer of the model raise nothing."""
    for kill in (None, *Kill):
        for code in (None, 1, 3, 137, 143, 252, 254, 255):
            verdict = judge(Facts(kill=kill, exit_code=code, present=code is not None, final=True, model_answers=9))
            assert verdict.state is not State.SUCCEEDED, (kill, code)


def test_a_failed_exit_quotes_the_end_of_stderr() -> None:
    verdict = judge(Facts(exit_code=2, stderr="a" * 5_000 + "the reason\n"))
    assert verdict.error.endswith("the reason")
    assert len(verdict.error) < STDERR_CHARACTERS + 100


@pytest.mark.parametrize(("seconds", "words"), [(45, "45 s"), (1800, "30 min,"), (90, "1 min 30 s")])
def test_the_deadline_says_how_long_it_was(seconds: int, words: str) -> None:
    assert words in judge(Facts(kill=Kill.DEADLINE, wall_seconds=seconds)).error


def test_no_reason_is_forgotten() -> None:
    """Every kill that a caller can ask for by ``Reason`` exists, and leads to that reason."""
    for kill in set(Kill) - {Kill.FINISHED}:
        assert judge(Facts(kill=kill)).reason.value == kill.value


@pytest.mark.parametrize(
    ("of", "limit", "reason", "words"),
    [
        ("model_requests", 1000, Reason.BUDGET, "at its limit of 1,000 questions to the model."),
        ("tokens", 50_000_000, Reason.BUDGET, "at its limit of 50,000,000 tokens."),
        ("cost_usd", 0.5, Reason.BUDGET, "at its limit of 0.50 USD, estimated from a table of prices."),
        ("cost_usd", 0.0001, Reason.BUDGET, "at its limit of 0.0001 USD, estimated from a table of prices."),
        ("egress_bytes", 2**32, Reason.BUDGET, "at its limit of 4,294,967,296 bytes over the network."),
        ("same_request", 12, Reason.LOOP, "again after it had been answered 12 times."),
    ],
)
def test_a_limit_is_told_in_words(of: str, limit: float, reason: Reason, words: str) -> None:
    assert over(Breach(of, limit))[0] is reason
    assert over(Breach(of, limit))[1].endswith(words)


def test_a_limit_that_decided_nothing_is_a_note() -> None:
    assert judge(Facts(exit_code=0, final=True, model_answers=1, over=LIMIT)).notes == (LIMIT[1],)
    assert judge(Facts(exit_code=1, over=LIMIT)).notes == ()
