"""Room for bodies that are kept: bounded for each and for all, and given back once."""

from __future__ import annotations

import pytest

from sandbox.egress.pool import Pool, Share, TooLong


def test_one_body_has_its_bound() -> None:
    share = Share(Pool(100), 5)
    share.count(5)
    with pytest.raises(TooLong, match="a body may have 5 bytes at most"):
        share.count(1)


def test_all_bodies_together_have_theirs_and_what_is_released_is_there_again() -> None:
    pool = Pool(10)
    first, second = Share(pool, 8), Share(pool, 8)
    first.count(8)
    with pytest.raises(TooLong, match="10 bytes together at most"):
        second.count(3)
    second.count(2)
    first.release()
    first.release()
    second.count(6)
    with pytest.raises(TooLong):
        Share(pool, 8).count(3)


def test_nothing_is_counted_after_the_release() -> None:
    pool = Pool(10)
    share = Share(pool, 8)
    share.release()
    share.count(8)
    Share(pool, 10).count(10)
