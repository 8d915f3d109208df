from __future__ import annotations

from typing import Any

import pytest

from bot.tasks import Change
from bot.triggers.lifecycle import installation, installation_repositories, repository
from tests.bot.triggers import reading


@pytest.mark.parametrize(
    ("action", "what"),
    [
        ("publicized", "repository_public"),
        ("transferred", "repository_gone"),
        ("deleted", "repository_gone"),
        ("archived", "repository_archived"),
    ],
)
def test_a13_the_end_of_a_repository_ends_its_tasks(action: str, what: str) -> None:
    found = reading.read(repository, "repository.publicized", action=action)
    assert isinstance(found, Change)
    assert (found.what, found.repository_id, found.thread) == (what, 186853002, None)


@pytest.mark.parametrize("action", ["renamed", "privatized", "edited", "created", "unarchived"])
def test_a13_a_rename_needs_nothing(action: str) -> None:
    assert reading.reason(repository, "repository.publicized", action=action) == "nothing is done on this action"


@pytest.mark.parametrize("name", ["installation.deleted", "installation.suspend"])
def test_an_installation_that_is_gone_or_suspended_ends_all(name: str) -> None:
    found = reading.read(installation, name)
    assert isinstance(found, Change)
    assert (found.what, found.repository_id) == ("installation_gone", None)


def test_repositories_that_are_taken_out_are_named_by_id() -> None:
    found = reading.read(installation_repositories, "installation_repositories.removed")
    assert isinstance(found, Change)
    assert (found.what, found.repositories) == ("repository_gone", (1296269,))
    assert reading.reason(installation_repositories, "installation_repositories.removed", repositories_removed=[]) == (
        "no repository was taken out"
    )


def test_what_adds_is_nothing() -> None:
    assert reading.reason(installation, "installation.created") == "nothing is done on this action"


@pytest.mark.parametrize(
    ("trigger", "name"),
    [
        (repository, "repository.publicized"),
        (installation, "installation.deleted"),
        (installation_repositories, "installation_repositories.removed"),
    ],
)
def test_w17_no_change_of_a_payload_raises_anything_but_that_it_is_none(trigger: Any, name: str) -> None:
    reading.survives(trigger, name)
