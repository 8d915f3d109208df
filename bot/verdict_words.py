"""What became of a task, in words: one headline and what to do about it. Pure.

The headline follows the outcome, never the agent's own words: what changed is what the diff says.
"""

from __future__ import annotations

from dataclasses import dataclass

from sandbox import Outcome, Reason, State


@dataclass(frozen=True)
class Verdict:
    """``word`` repeats the headline at the comment's end, where nothing of the agent's comes after it."""

    word: str
    headline: str
    advice: str = ""


def duration(seconds: float) -> str:
    """For people: ``45 s``, ``2 min 5 s``, ``1 h 2 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def counted(number: int, one: str, many: str = "") -> str:
    """``1 file``, ``1,234 files``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def verdict(outcome: Outcome) -> Verdict:
    """The one verdict for an outcome."""
    if outcome.state is State.SUCCEEDED:
        return _finished(outcome)
    if outcome.state is State.LOST:
        return Verdict(
            "lost",
            "❓ **Lost.** The sandbox ended without recording how: the machine or its engine was restarted, or "
            "it was killed, from outside or by something in it.",
            "Write the command again to start over.",
        )
    return _failed(outcome)


def _finished(outcome: Outcome) -> Verdict:
    changes = outcome.changes
    if changes is None:
        return Verdict(
            "finished, changes unknown",
            "⚠️ **Finished, but its files could not be read back**, so there is no diff.",
            "Write the command again to start over.",
        )
    if changes.refusal or changes.patch is None:
        return Verdict(
            "finished, changes refused",
            "⚠️ **Finished, but there is no diff:** what the agent left cannot be taken over as a patch.",
            "Ask for it in another way; the reason is above.",
        )
    if not changes.patch:
        return Verdict("no change", "⚪ **No change.** The agent finished, and every file is as it was.")
    added, removed = sum(file.added for file in changes.files), sum(file.removed for file in changes.files)
    files = counted(len(changes.files), "file")
    done = f"✅ **Done: {files} changed**, {counted(added, 'line')} added, {removed:,} removed."
    if outcome.reason is Reason.NO_REPLY:
        return Verdict("changed", done, "The agent did not say what it did: read the diff with more care.")
    return Verdict("changed", done)


AGAIN = "Write the command again to start over."


def _failed(outcome: Outcome) -> Verdict:
    ran = duration(outcome.duration_seconds)
    known = _stopped(ran) | _by_itself(outcome.exit_code)
    return known.get(outcome.reason, Verdict("failed", "❌ **Failed.**", AGAIN))


def _stopped(ran: str) -> dict[Reason, Verdict]:
    """What we, the machine or a limit did to the agent."""
    return {
        Reason.CANCELLED: Verdict("cancelled", f"🛑 **Cancelled** after {ran}.", AGAIN),
        Reason.DEADLINE: Verdict(
            "timed out",
            f"⏱️ **Timed out.** The agent was stopped after {ran}, the longest that is allowed here.",
            "Ask for a smaller step, or let the operator raise the limit.",
        ),
        Reason.LOST: Verdict("lost", "❓ **Lost.** The sandbox ended without recording how.", AGAIN),
        Reason.OUT_OF_MEMORY: Verdict(
            "failed: out of memory",
            f"❌ **Failed: out of memory.** The agent was killed after {ran}.",
            "Ask for a smaller step, or let the operator raise the limit.",
        ),
        Reason.DISK_FULL: Verdict(
            "failed: workspace full",
            "❌ **Failed: the workspace is full.** The task reached its limit of bytes or of files.",
            "Ask for something that writes less, or let the operator raise the limit.",
        ),
        Reason.BUDGET: Verdict(
            "stopped: budget",
            f"💸 **Stopped: a budget is used up.** The agent was ended after {ran}; what it had done by then is here.",
            "Ask for a smaller step, or let the operator raise the limit.",
        ),
        Reason.LOOP: Verdict(
            "stopped: going round in circles",
            f"🔁 **Stopped: the agent went round in circles.** For {ran} it worked, and at the end it put the same "
            "question to the model again and again.",
            f"{AGAIN} If it stays so, the operator should look at the model's gateway.",
        ),
        Reason.EGRESS_LOST: Verdict(
            "failed",
            "❌ **Failed.** The sandbox lost its way out to the model, and nothing else may take its place.",
            AGAIN,
        ),
        Reason.FETCH_FAILED: Verdict(
            "failed: not fetched", "❌ **Failed: the repository could not be fetched.** No agent ran.", AGAIN
        ),
    }


def _by_itself(exit_code: int | None) -> dict[Reason, Verdict]:
    """What the agent or its model did."""
    status = "" if exit_code is None else f" with exit status {exit_code}"
    return {
        Reason.REFUSED: Verdict(
            "refused by the model",
            "⛔ **Refused by the model.** Its provider's rules stopped the answer, not this bot.",
            "Ask for it in other words or in a smaller part, or let the operator choose another model.",
        ),
        Reason.NO_REPLY: Verdict(
            "failed: no reply",
            "❌ **Failed: the agent ended without a word**, and nothing is changed.",
            f"{AGAIN} If it stays so, say more closely what is to be done.",
        ),
        Reason.EXIT: Verdict("failed", f"❌ **Failed.** The agent's program ended{status}.", AGAIN),
        Reason.AGENT_ERROR: Verdict(
            "failed",
            "❌ **Failed.** The agent reported an error, or stopped before it had finished.",
            f"{AGAIN} If it says that the model refused or had no credit, the operator must mend that first.",
        ),
        Reason.NO_MODEL_ANSWER: Verdict(
            "failed",
            "❌ **Failed.** The agent says it has finished, but the model never gave one whole answer.",
            "Try again later; if it stays so, the operator should look at the model's gateway.",
        ),
    }
