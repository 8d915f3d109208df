"""Tokens: who they are refused for, and that a wrong one is nobody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.api.tokens import MAX_TOKENS, Keyring, parse, read
from tests.sandbox.api.memory import OTHER_TOKEN, TOKEN, tokens_file


def test_each_line_is_a_caller() -> None:
    found = parse(f"# who\n\nbot {TOKEN}\n  alice\t{OTHER_TOKEN}  \n")
    assert [token.name for token in found] == ["bot", "alice"]
    assert TOKEN not in repr(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no token"),
        ("# only words\n", "there is no token"),
        (f"bot {TOKEN[:31]}", "line 1: the token of bot has 31 characters"),
        (f"bot {TOKEN * 17}", "the token of bot has 544 characters"),
        ("bot change-me-change-me-change-me-change-me", "placeholder"),
        ("bot aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "placeholder"),
        (f"bot {TOKEN} more", "NAME TOKEN"),
        (TOKEN, "NAME TOKEN"),
        (f"Bot! {TOKEN}", "NAME TOKEN"),
        (f"bot {TOKEN}\nbot {OTHER_TOKEN}", "line 2: the name bot is there twice"),
        (f"bot {TOKEN}\neve {TOKEN}", "the token of eve is another's too"),
        ("\n".join(f"n{n} {TOKEN}{n}" for n in range(MAX_TOKENS + 1)), "64 are the most"),
    ],
)
def test_what_is_refused_is_told_by_its_line_and_without_the_token(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse(text)
    assert TOKEN[:31] not in str(caught.value)


def test_a_file_is_read_and_one_that_everybody_can_read_is_refused(tmp_path: Path) -> None:
    path = tokens_file(tmp_path)
    assert [token.name for token in read(path)] == ["bot", "alice"]
    path.chmod(0o644)
    with pytest.raises(ValueError, match=r"open to everybody on this machine \(mode 0644\): chmod 0640"):
        read(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"bot " + b"a" * 70_000])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tokens").write_bytes(content)
    (tmp_path / "tokens").chmod(0o600)
    with pytest.raises(ValueError, match=r"no ASCII text|larger than"):
        read(tmp_path / "tokens")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read(tmp_path / "none")


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        ([f"Bearer {TOKEN}"], "bot"),
        ([f"bearer  {OTHER_TOKEN}"], "alice"),
        ([], None),
        ([""], None),
        (["Bearer"], None),
        (["Bearer "], None),
        ([TOKEN], None),
        ([f"Basic {TOKEN}"], None),
        ([f"Bearer {TOKEN[:-1]}"], None),
        ([f"Bearer {TOKEN}x"], None),
        ([f"Bearer {TOKEN.lower()}"], None),
        ([f"Bearer {TOKEN}, Bearer {OTHER_TOKEN}"], None),
        ([f"Bearer {TOKEN}", f"Bearer {TOKEN}"], None),
        (["Bearer \xff\xff"], None),
    ],
)
def test_who_calls(headers: list[str], name: str | None) -> None:
    assert Keyring(parse(f"bot {TOKEN}\nalice {OTHER_TOKEN}")).who(headers) == name
