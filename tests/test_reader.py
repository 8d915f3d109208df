"""The reader of what the bot has written."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bot.conversing import talk
from tests.github_world import FakeTime, Place, client_of, local_github
from tests.reader import FAILED, Reader


async def test_what_was_not_read_or_was_changed_since_is_left(tmp_path: Path) -> None:
    time = FakeTime()
    async with local_github(tmp_path / "github", time) as local, client_of(local, time) as client:
        place = Place(local)
        found = await talk(local, place)
        reader = Reader(local)
        reader.all_is_read()
        root = await local.review_comment(place.repository, found.issue, "alice", "Why?")
        made = await client.create_comment(place.where, place.issue.number, "one", "one")
        await client.conversation.reply(place.where, found.issue.number, root.id, "two", "two")
        await client.checks.create(
            place.where, sha=found.pull.sha, external_id="0123456789:2", title="three", summary="", actions=()
        )
        with pytest.raises(AssertionError, match=r"(?s)three.*one.*two"):
            reader.all_is_read()
        assert reader.comment(place.issue) == "one"
        assert reader.replies(found.issue) == {root.id: "two"}
        assert [one.words.title for one in reader.checks(place.repository)] == ["three"]
        reader.all_is_read()
        await client.edit_comment(place.where, made, "one more")
        with pytest.raises(AssertionError, match="one more"):
            reader.all_is_read()
        assert reader.comments(place.issue) == ["one more"]
        reader.all_is_read()


FINDS: list[Callable[[str], bool]] = [
    lambda text: "o" in text,
    lambda text: text == "one",
    lambda text: text.startswith("o"),
    lambda text: text.endswith("e"),
    lambda text: text in ("two", "one"),
    lambda text: [text] == ["one"],
]


async def test_a_comment_is_read_where_something_is_found_in_it_and_not_where_it_is_counted(tmp_path: Path) -> None:
    time = FakeTime()
    async with local_github(tmp_path / "github", time) as local, client_of(local, time) as client:
        place, reader = Place(local), Reader(local)
        made = await client.create_comment(place.where, place.issue.number, "one", "one")
        said = reader.conversation(place.issue)
        assert len(said) == 1
        assert "two" not in said[0]
        assert said[0] != "two"
        assert not said[0].startswith("two")
        assert not said[0].endswith("two")
        with pytest.raises(AssertionError, match="one"):
            reader.all_is_read()
        for finds in FINDS:
            reader = Reader(local)
            assert finds(reader.conversation(place.issue)[0])
            reader.all_is_read()
        await client.edit_comment(place.where, made, "one more")
        with pytest.raises(AssertionError, match="one more"):
            reader.all_is_read()


async def test_what_is_right_is_read_and_nothing_else(tmp_path: Path) -> None:
    time = FakeTime()
    async with local_github(tmp_path / "github", time) as local, client_of(local, time) as client:
        place, reader = Place(local), Reader(local)
        found = await talk(local, place)
        root = await local.review_comment(place.repository, found.issue, "alice", "Why?")
        await client.create_comment(place.where, place.issue.number, "one", "one")
        await client.conversation.reply(place.where, found.issue.number, root.id, "two", "two")
        await client.checks.create(
            place.where, sha=found.pull.sha, external_id="0123456789:2", title="three", summary="", actions=()
        )
        words = Reader(local).checks(place.repository)[0].words
        reader.right_comments(place.issue, ["ones"])
        reader.right_replies(found.issue, {root.id: "twos", root.id + 1: "two"})
        reader.right_checks(place.repository, [replace(words, title="threes")])
        with pytest.raises(AssertionError, match=r"(?s)three.*one.*two"):
            reader.all_is_read()
        reader.right_comments(place.issue, ["two", "one"])
        reader.right_replies(found.issue, {root.id: "two"})
        reader.right_checks(place.repository, [words])
        reader.all_is_read()


async def test_a_test_that_has_failed_is_asked_for_nothing_more(tmp_path: Path) -> None:
    time = FakeTime()
    name = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    async with local_github(tmp_path / "github", time) as local, client_of(local, time) as client:
        place, reader = Place(local), Reader(local)
        await client.create_comment(place.where, place.issue.number, "one", "one")
        FAILED.add(name)
        reader.all_is_read()
        FAILED.remove(name)
        with pytest.raises(AssertionError, match="one"):
            reader.all_is_read()
