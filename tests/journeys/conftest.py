"""Every journey is made twice: with sandboxes in the bot's own process, and through a runner that is another one.

The second way is slow all in all, so most of it is for `make test-all`; ``QUICK`` is made both ways every time.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ways import LOCAL, RUNNER, going

BOTH_WAYS = {
    "test_changes",
    "test_conversation",
    "test_enterprise",
    "test_going_on",
    "test_issue_to_diff",
    "test_large_results",
    "test_outcomes",
    "test_restart",
}
QUICK = {
    "test_a_private_repository_is_fetched_with_a_token_that_is_revoked",
    "test_a_task_whose_container_vanished_meanwhile_is_lost_not_failed",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The journeys' modules only: the tables of failures are about one agent each, whoever starts it."""
    if metafunc.module.__name__.rpartition(".")[2] in BOTH_WAYS:
        metafunc.fixturenames.insert(0, "way")
        marks = [] if metafunc.function.__name__ in QUICK else [pytest.mark.slow]
        metafunc.parametrize("way", [LOCAL, pytest.param(RUNNER, marks=marks)], indirect=True)


@pytest.fixture
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    with going(request.param):
        yield request.param
