"""When a running agent is over: decided from one look."""

from __future__ import annotations

import pytest

from sandbox.agents import AGENTS
from sandbox.egress.meter import Breach
from sandbox.verdict import Kill
from sandbox.watch import GRACE_SECONDS, View, Watched, decide

FINE = {"elapsed": 10.0, "wall": 100.0, "egress_runs": True, "since_final": None}


@pytest.mark.parametrize(
    ("name", "seen", "due"),
    [
        ("it works", {}, None),
        ("its time is over", {"elapsed": 100.0}, Kill.DEADLINE),
        ("its way out is dead", {"egress_runs": False}, Kill.EGRESS_LOST),
        ("late with a dead way out", {"elapsed": 100.0, "egress_runs": False}, Kill.DEADLINE),
        ("it has just finished", {"since_final": 0.0}, None),
        ("it has just finished, and its way out is dead", {"since_final": 1.0, "egress_runs": False}, None),
        ("b91: it has finished long ago", {"since_final": GRACE_SECONDS}, Kill.FINISHED),
        ("it has finished long ago and is late", {"since_final": GRACE_SECONDS, "elapsed": 200.0}, Kill.FINISHED),
        ("a limit is reached", {"breach": Breach("tokens", 5)}, Kill.BUDGET),
        ("it asks the same again", {"breach": Breach("same_request", 12)}, Kill.LOOP),
        ("a limit and late", {"breach": Breach("cost_usd", 1.5), "elapsed": 100.0}, Kill.BUDGET),
        ("a limit and its way out is dead", {"breach": Breach("tokens", 5), "egress_runs": False}, Kill.BUDGET),
        ("it has just finished, at its limit", {"breach": Breach("tokens", 5), "since_final": 1.0}, None),
        ("it finished at the last moment", {"since_final": 1.0, "elapsed": 100.0}, Kill.DEADLINE),
    ],
)
def test_decision(name: str, seen: dict[str, object], due: Kill | None) -> None:
    assert decide(View(**{**FINE, **seen})) is due  # type: ignore[arg-type]


def test_b91_work_after_a_final_event_starts_the_grace_anew() -> None:
    """A final event that was taken back (or forged early) must not have a working agent killed half a minute later."""
    watched = Watched(AGENTS["claude"].reader())
    seen = []
    for now, final in enumerate([False, True, True, False, False, True, True]):
        watched.saw(final=final, now=float(now))
        seen.append(watched.final_seen)
    assert seen == [None, 1.0, 1.0, None, None, 5.0, 5.0]
