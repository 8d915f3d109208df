"""How many tasks there may be in an hour."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bot.allowance import WINDOW, Allowance, wait

AGES = st.lists(st.floats(min_value=0, max_value=2 * WINDOW))


def test_one_more_may_be_until_there_are_so_many() -> None:
    assert wait([], 1) == 0
    assert wait([10, 5], 3) == 0
    assert wait([600, 10, 5], 3) == WINDOW - 600
    assert wait([WINDOW, 10, 5], 3) == 0


def test_more_than_so_many_wait_for_as_many_to_pass() -> None:
    assert wait([3000, 2000, 1000, 10], 2) == WINDOW - 1000


def test_a_clock_that_was_put_back_locks_nobody_out() -> None:
    assert wait([-50, -10], 1) == 0


@given(AGES, st.integers(1, 5))
def test_after_the_wait_one_more_may_be_and_not_before(ages: list[float], most: int) -> None:
    seconds = wait(ages, most)
    assert 0 <= seconds <= WINDOW
    assert wait([age + seconds for age in ages], most) < 1e-3
    if seconds > 1:
        assert wait([age + seconds - 1 for age in ages], most) > 0


def test_nobody_s_own_limit_is_above_everybody_s() -> None:
    default = Allowance()
    assert default.person <= default.repository <= default.everybody
