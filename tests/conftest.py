"""What all tests share. Fixtures live in files of their own below and are imported here by name.

``tests`` is no package: pytest's importlib mode with ``pythonpath = ["."]`` lets a test say
``from tests.engine import labelled``.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests import reader
from tests.engine import docker_client, engine_host, images, instance, need_engine, nothing_left_behind

__all__ = ["docker_client", "engine_host", "images", "instance", "nothing_left_behind"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Says which tests have failed by themselves, before their fixtures end."""
    report = yield
    if report.when == "call" and report.failed:
        reader.FAILED.add(item.nodeid)
    return report


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked ``engine`` never runs without one, whatever fixtures it uses."""
    if item.get_closest_marker("engine") is not None:
        need_engine()
