"""G28: two looks that disagree are refused, unless the base's own attributes explain it."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from sandbox.inside.agree import Agreement, agree, disputed
from sandbox.inside.bounds import Refused
from sandbox.inside.manifest import Difference


def difference(modified: Collection[bytes] = (), deleted: Collection[bytes] = ()) -> Difference:
    return Difference(frozenset(modified), frozenset(deleted), frozenset())


def test_what_both_see_is_taken() -> None:
    settled = agree(difference({b"a"}, {b"b"}), {b"a", b"b"}, set())
    assert settled == Agreement(frozenset({b"a"}), frozenset({b"b"}), frozenset())


@pytest.mark.parametrize(("modified", "by_git"), [({b"a"}, set()), (set(), {b"a"})])
def test_g28_what_one_alone_sees_is_refused(modified: set[bytes], by_git: set[bytes]) -> None:
    with pytest.raises(Refused, match="disagree on what has changed: a"):
        agree(difference(modified), by_git, set())


def test_conversion_explains_raw_bytes_that_differ() -> None:
    settled = agree(difference({b"a", b"b"}), {b"b"}, {b"a"})
    assert settled == Agreement(frozenset({b"b"}), frozenset(), frozenset({b"a"}))


def test_conversion_explains_an_untouched_file_that_git_would_rewrite() -> None:
    settled = agree(difference(), {b"a"}, {b"a"})
    assert settled == Agreement(frozenset(), frozenset(), frozenset())


def test_g28_no_conversion_explains_a_deletion_that_git_does_not_see() -> None:
    with pytest.raises(Refused):
        agree(difference(set(), {b"a"}), set(), {b"a"})


def test_disputed_paths_are_those_of_one_side() -> None:
    assert disputed(difference({b"a"}, {b"b"}), {b"b", b"c"}) == {b"a", b"c"}
