from __future__ import annotations

import pytest

from bot.granted import EVENTS, NEEDED, OPTIONAL, compare, too_broad, warnings
from tests.bot.triggers.test_manifest import manifest

ALL = NEEDED | OPTIONAL


def test_c08_needed_and_optional_are_what_the_manifest_asks_for() -> None:
    assert manifest()["default_permissions"] == ALL
    assert sorted(EVENTS) == manifest()["default_events"]
    assert list(OPTIONAL) == ["checks"]


def test_exactly_the_manifest_has_no_gaps() -> None:
    gaps = compare(ALL, EVENTS)
    assert (gaps.lacking, gaps.off, gaps.broader) == ((), (), ())
    assert gaps.checks
    assert too_broad(gaps) == ""
    assert warnings(gaps) == []


def test_without_checks_the_feature_is_off_and_nothing_is_wrong() -> None:
    gaps = compare(NEEDED)
    assert not gaps.checks
    assert gaps.lacking == ()
    assert warnings(gaps) == [
        "the GitHub App has no checks: write (check runs on pull requests are off, and CI that is held is not seen)"
    ]


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_each_needed_one_is_missed(name: str) -> None:
    without = {key: level for key, level in ALL.items() if key != name}
    assert compare(without).lacking == (f"{name}: {NEEDED[name]}",)


def test_read_where_write_is_needed_is_too_little() -> None:
    assert compare(ALL | {"contents": "read"}).lacking == ("contents: write",)


@pytest.mark.parametrize("extra", [{"workflows": "write"}, {"contents": "admin"}, {"issues": "sovereign"}])
def test_more_than_the_manifest_is_refused_in_words(extra: dict[str, str]) -> None:
    ((name, level),) = extra.items()
    words = too_broad(compare(ALL | extra))
    assert f"{name}: {level}" in words
    assert "GOFER_BROADER_APP=true" in words


def test_an_event_that_is_not_sent_is_named_with_what_it_means() -> None:
    assert compare(ALL, EVENTS - {"check_run"}).off == ("event check_run (the buttons of check runs do nothing)",)
    assert compare(ALL, EVENTS | {"push"}).off == ()
