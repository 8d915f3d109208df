"""The local GitHub's contents, with no server before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.demo.github_contents import Contents
from bot.demo.github_state import level_of, role_of
from tests.github_world import START


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path, lambda: START)


def test_a_repository_has_one_commit_and_one_without_files_has_none(contents: Contents) -> None:
    full = contents.add_repository("octo", "hello", {"README.md": b"hello"})
    bare = contents.add_repository("octo", "empty", {}, default_branch="trunk")
    first = contents.head(full)
    assert first is not None
    assert contents.commit(full, {"README.md": b"more"}) == contents.head(full) != first
    assert contents.head(full, "other") is None
    assert contents.head(bare) is None


def test_an_account_has_one_installation_for_all_its_repositories(contents: Contents) -> None:
    one = contents.add_repository("octo", "one", {})
    two = contents.add_repository("Octo", "two", {}, private=True)
    away = contents.add_repository("octo", "away", {}, installed=False)
    (installation,) = contents.state.installations.values()
    assert installation.repository_ids == {one.id, two.id}
    assert contents.state.installation_of(away) is None


def test_a_role_counts_whatever_the_case_of_the_login(contents: Contents) -> None:
    repository = contents.add_repository("octo", "hello", {}, roles={"Mona": "maintain"})
    contents.set_role(repository, "reader", "read")
    assert level_of(role_of(repository, "mona")) == "write"
    assert role_of(repository, "READER") == "read"


def test_issues_are_numbered_from_one_and_opened_by_the_owner_unless_somebody_is_named(contents: Contents) -> None:
    repository = contents.add_repository("octo", "hello", {})
    mine, theirs = contents.add_issue(repository), contents.add_issue(repository, user="mona", pull_request=True)
    assert [(mine.number, mine.user.login), (theirs.number, theirs.user.login)] == [(1, "octo"), (2, "mona")]


def test_a_renamed_repository_is_known_by_both_names(contents: Contents) -> None:
    repository = contents.add_repository("octo", "hello", {})
    contents.rename(repository, "goodbye")
    assert (repository.full_name, repository.former) == ("octo/goodbye", {"octo/hello"})
