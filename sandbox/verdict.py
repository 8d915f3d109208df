"""The rule that turns facts into an outcome's state and reason (in this order, the first that holds decides).

1. a kill of ours that was written down before it was done: its reason
   (a bound of the budget that was reached decides over all below, unless the agent ended well all the same)
2. lost: the container is gone; or it shows 255; or 137 or 143 without memory as the cause
3. out of memory with a non-zero exit (with exit 0: a note)
4. workspace full with a non-zero exit (with exit 0: a note)
5. the way out died and the exit was non-zero
6. non-zero exit: the model's refusal by the provider's own signal, the agent's own error, or the end of its stderr
7. exit 0: succeeded only with the final event, without a refusal or an error, and at least one complete answer of the
   model; and if it said or changed something. Without a last word but with changes it is a success with a reason of its
   own, and so is a reply with nothing changed. What cannot be read is not held to be unchanged.

The stream is the agent's and may be forged: it can lower a verdict and never raise it. That is why an agent that we
ended because its stream said that it had finished has failed: only an exit status of 0 of its own is proof. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sandbox.egress.meter import Breach
from sandbox.job import Reason, State

STDERR_CHARACTERS = 2_000  # of the agent's stderr, the end: its last words say why
CRASHED = 255  # what an engine records after a crash or a power loss; our entry turns an agent's own into 254
KILLED = frozenset({137, 143})  # SIGKILL, SIGTERM


class Kill(StrEnum):
    """Why we ended a task. ``FINISHED``: its stream had its final event, and its program would not end."""

    CANCELLED = "cancelled"
    DEADLINE = "deadline"
    EGRESS_LOST = "egress_lost"
    FINISHED = "finished"
    BUDGET = "budget"
    LOOP = "loop"


@dataclass(frozen=True)
class Facts:
    """All that the rule looks at. ``present``: the container is there and ended; ``exit_code`` is None without it."""

    kill: Kill | None = None
    present: bool = True
    exit_code: int | None = None
    oom: bool = False
    disk_full: bool = False
    egress_died: bool = False
    final: bool = False
    agent_error: str = ""
    refused: bool = False
    """The model refused, by the provider's own signal."""
    replied: bool = True
    """There is a final reply that is not blank."""
    changed: bool | None = None
    """Whether there is a patch with something in it; None where that could not be read."""
    stderr: str = ""
    model_answers: int = 0
    over: tuple[Reason, str] | None = None
    """The bound of the budget that was reached: BUDGET or LOOP, and the sentence."""
    wall_seconds: int = 0
    """The limit, for the sentence."""


@dataclass(frozen=True)
class Verdict:
    """``error`` is empty exactly when ``state`` is succeeded; notes hold whatever the state."""

    state: State
    reason: Reason
    error: str = ""
    notes: tuple[str, ...] = ()


def judge(facts: Facts) -> Verdict:
    """The verdict on a task that has ended."""
    state, reason, error = _judge(facts)
    return Verdict(state, reason, error, _notes(facts, reason))


def _judge(facts: Facts) -> tuple[State, Reason, str]:
    match facts.kill:
        case Kill.DEADLINE:
            return State.FAILED, Reason.DEADLINE, f"The agent was stopped after {_span(facts.wall_seconds)}."
        case Kill.CANCELLED:
            return State.FAILED, Reason.CANCELLED, "The task was cancelled."
        case Kill.EGRESS_LOST if facts.over is None:
            return State.FAILED, Reason.EGRESS_LOST, EGRESS_WORDS
        case Kill.BUDGET | Kill.LOOP if facts.over is None:
            return State.FAILED, Reason(facts.kill.value), BUDGET_WORDS
        case Kill.FINISHED if facts.exit_code != 0 and facts.over is None:  # with 0 it was quicker than our kill
            return _stayed(facts)
    ended = _ended(facts)
    return ended if facts.over is None or ended[0] is State.SUCCEEDED else (State.FAILED, *facts.over)


def _ended(facts: Facts) -> tuple[State, Reason, str]:
    """By what it left, whoever ended it."""
    if lost := _lost(facts):
        return State.LOST, Reason.LOST, lost
    if facts.exit_code == 0:
        return _by_stream(facts)
    return _by_exit(facts)


def _lost(facts: Facts) -> str:
    if not facts.present or facts.exit_code is None:
        return "The agent's container is not there any more."
    if facts.exit_code == CRASHED:
        return "The machine or its container engine went down while the agent ran."
    if facts.exit_code in KILLED and not facts.oom:
        return "The agent's container was killed, from outside or from inside, or the container engine was restarted."
    return ""


def _by_exit(facts: Facts) -> tuple[State, Reason, str]:
    if facts.oom:
        return State.FAILED, Reason.OUT_OF_MEMORY, "The agent ran out of memory."
    if facts.disk_full:
        return State.FAILED, Reason.DISK_FULL, "The workspace is full."
    if facts.egress_died:
        return State.FAILED, Reason.EGRESS_LOST, EGRESS_WORDS
    if error := _told(facts):
        return error
    said = facts.stderr.strip()[-STDERR_CHARACTERS:]
    words = f"The agent ended with exit status {facts.exit_code}"
    return State.FAILED, Reason.EXIT, f"{words}:\n{said}" if said else f"{words} and said nothing on stderr."


def _stayed(facts: Facts) -> tuple[State, Reason, str]:
    """Never a success: whoever can write into the stream could have asked for this very kill."""
    state, reason, error = _by_stream(facts)
    return (state, reason, error) if state is State.FAILED else (State.FAILED, Reason.EXIT, STAYED_WORDS)


def _by_stream(facts: Facts) -> tuple[State, Reason, str]:
    if error := _told(facts):
        return error
    if not facts.final:
        return State.FAILED, Reason.AGENT_ERROR, "The agent ended without its final event."
    if facts.model_answers == 0:
        words = "The agent said that it had finished, but no complete answer of the model was seen."
        return State.FAILED, Reason.NO_MODEL_ANSWER, words
    return _by_work(facts)


def _told(facts: Facts) -> tuple[State, Reason, str] | None:
    """The failure that the agent's stream tells, if any."""
    if facts.refused:
        return State.FAILED, Reason.REFUSED, facts.agent_error or REFUSED_WORDS
    if facts.agent_error:
        return State.FAILED, Reason.AGENT_ERROR, facts.agent_error
    return None


def _by_work(facts: Facts) -> tuple[State, Reason, str]:
    """A run that ended well, by what it leaves: words, changes, both or neither."""
    if facts.replied:
        return State.SUCCEEDED, Reason.UNCHANGED if facts.changed is False else Reason.OK, ""
    if facts.changed is False:
        return State.FAILED, Reason.NO_REPLY, NO_REPLY_WORDS
    return State.SUCCEEDED, Reason.NO_REPLY, ""


BUDGET_WORDS = "The agent was stopped at a limit of its budget."
EGRESS_WORDS = "The agent's way out to the model ended before the agent did."
REFUSED_WORDS = "The model refused this request."
NO_REPLY_WORDS = "The agent ended without a word, and every file is as it was."
STAYED_WORDS = "The agent said that it had finished, but its program did not end by itself, and it was stopped."


def _notes(facts: Facts, reason: Reason) -> tuple[str, ...]:
    notes = []
    if facts.over is not None and reason is not facts.over[0]:
        notes.append(facts.over[1])
    if facts.oom and reason is not Reason.OUT_OF_MEMORY:
        notes.append("A process in the sandbox was killed because it ran out of memory.")
    if facts.disk_full and reason is not Reason.DISK_FULL:
        notes.append("The workspace was full at the end.")
    if facts.egress_died and reason is not Reason.EGRESS_LOST:
        notes.append("The way out to the model had ended before the agent did.")
    return tuple(notes)


def over(breach: Breach) -> tuple[Reason, str]:
    """The reason and the sentence for a bound that was reached."""
    limit = breach.limit
    match breach.of:
        case "same_request":
            words = f"the same question was put to the model again after it had been answered {limit:,.0f} times"
            return Reason.LOOP, f"The agent was stopped: {words}."
        case "model_requests":
            words = f"{limit:,.0f} questions to the model"
        case "tokens":
            words = f"{limit:,.0f} tokens"
        case "cost_usd":
            amount = f"{limit:,.2f}" if limit >= 0.01 else f"{limit:f}".rstrip("0")
            words = f"{amount} USD, estimated from a table of prices"
        case _:
            words = f"{limit:,.0f} bytes over the network"
    return Reason.BUDGET, f"The agent was stopped at its limit of {words}."


def _span(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    if not minutes:
        return f"{seconds} s, its time limit"
    return f"{minutes} min{f' {rest} s' if rest else ''}, its time limit"
