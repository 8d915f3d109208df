from __future__ import annotations

import pytest

from bot.demo import asked


def test_what_a_cli_puts_in_is_not_what_a_person_typed() -> None:
    texts = [
        "<system-reminder>x",
        " <environment_context>\n<cwd>/ws/repo</cwd>",
        "# AGENTS.md instructions for /",
        "Go.",
    ]
    assert asked.typed(texts) == ("Go.",)


@pytest.mark.parametrize(
    ("places", "found"),
    [
        (["Working directory: /a/b\n", "working directory: /c"], "/a/b"),
        (["nothing", "<environment_context>\n  <cwd>/c/d</cwd>"], "/c/d"),
        (["Current working directory: /e"], "/e"),
        ([None, []], "/ws/repo"),
    ],
)
def test_the_first_place_that_tells_says_where_the_agent_works(places: list[object], found: str) -> None:
    assert asked.folder(*places) == found
