"""Bounds: what is reached is still within, and the next question is not."""

from __future__ import annotations

from dataclasses import replace

from sandbox.egress.budget import Budget, Prices
from sandbox.egress.meter import MAX_QUESTIONS, Breach, Meter
from sandbox.egress.usage import Used

BUDGET = Budget(model_requests=1_000, tokens=1_000, egress_bytes=1_000, same_request=3)


def meter(**given: object) -> tuple[Meter, list[Breach]]:
    told: list[Breach] = []
    return Meter(replace(BUDGET, **given), told.append), told  # type: ignore[arg-type]


def test_so_many_questions_and_not_one_more() -> None:
    it, told = meter(model_requests=2)
    assert [it.question(bytes([n]), answers=True) for n in range(4)] == [True, True, False, False]
    assert told == [Breach("model_requests", 2)]
    assert it.requests == 2


def test_counting_tokens_is_not_counted_and_held_after_a_breach() -> None:
    it, _ = meter(model_requests=1)
    assert [it.question(b"c", answers=False) for _ in range(9)] == [True] * 9
    assert [it.question(b"q", answers=True), it.question(b"r", answers=True)] == [True, False]
    assert not it.question(b"c", answers=False)


def test_the_very_same_question_answered_again_and_again_is_a_loop() -> None:
    it, told = meter()
    for _ in range(3):
        assert it.question(b"same", answers=True)
        it.answered(b"same")
    assert not it.question(b"same", answers=True)
    assert told == [Breach("same_request", 3)]
    assert not it.question(b"other", answers=True)


def test_a_question_that_is_not_answered_is_no_loop() -> None:
    it, told = meter()
    assert all(it.question(b"same", answers=True) for _ in range(50))
    assert told == []


def test_questions_that_are_remembered_are_bounded() -> None:
    it, _ = meter()
    for number in range(2 * MAX_QUESTIONS):
        it.answered(number.to_bytes(4))
    assert len(it._answered) == MAX_QUESTIONS


def test_tokens_of_every_kind_count() -> None:
    it, told = meter()
    it.spent(Used(input=400, cached=300, cache_write=200, output=99))
    assert it.question(b"1", answers=True)
    it.spent(Used(output=1))
    assert not it.question(b"2", answers=True)
    assert told == [Breach("tokens", 1_000)]


def test_cost_is_what_the_prices_say() -> None:
    it, told = meter(tokens=10**9, cost_usd=0.5, prices=Prices(3, 0.3, 3.75, 15))
    it.spent(Used(input=100_000, output=10_000))
    assert it.cost == 0.45
    assert it.question(b"1", answers=True)
    it.spent(Used(cached=200_000))
    assert not it.question(b"2", answers=True)
    assert told == [Breach("cost_usd", 0.5)]


def test_bytes_either_way_are_stopped_in_the_middle() -> None:
    it, told = meter()
    assert it.moved(600)
    assert it.moved(400)
    assert not it.moved(1)
    assert not it.moved(1)
    assert told == [Breach("egress_bytes", 1_000)]
    assert not it.question(b"1", answers=True)


def test_without_a_budget_everything_is_counted_and_nothing_held() -> None:
    it = Meter(None, lambda breach: None)
    assert it.question(b"1", answers=True)
    it.spent(Used(input=10**9))
    assert it.moved(10**12)
    assert it.question(b"1", answers=True)
    assert (it.requests, it.tokens, it.bytes) == (2, 10**9, 10**12)
