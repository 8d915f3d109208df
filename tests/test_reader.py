"""The reader of what the bot has written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bot.conversing import talk
from tests.github_world import FakeTime, Place, client_of, local_github
from tests.reader import Reader


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
