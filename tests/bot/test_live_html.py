from __future__ import annotations

import pytest

from bot.live_html import MAX_OPEN, Held


def held_after(*pieces: str) -> bool:
    held = Held()
    for piece in pieces:
        held.see(piece)
    return bool(held)


@pytest.mark.parametrize("html", ["<blockquote>", "<DETAILS open>", "<pre\n>", "<code>x</code><q>", "<details/>"])
def test_an_open_element_holds(html: str) -> None:
    assert held_after(html)


@pytest.mark.parametrize(
    "html",
    ["", "<p>", "<br>", "<sub>", "<quote>", "</details>", "<!-- <details> -->", "<!-- <q>", "<q>x</Q >"],
)
def test_what_quotes_nothing_or_is_closed_holds_not(html: str) -> None:
    assert not held_after(html)


def test_an_element_ends_what_was_left_open_in_it() -> None:
    assert not held_after("<details>", "<code>", "</details>")
    assert held_after("<details>", "<code>", "</code>")
    assert not held_after("<details>" * (MAX_OPEN * 2), "</details>" * MAX_OPEN)
