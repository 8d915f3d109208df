from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.store.contents import pack, unpack, without
from sandbox import ChangedFile, Changes, Outcome, Reason, State


def files(held: list[bytes | None]) -> tuple[ChangedFile, ...]:
    return tuple(
        ChangedFile(path=f"{number}", status="modified", content=content) for number, content in enumerate(held)
    )


@given(st.lists(st.none() | st.binary(max_size=50), max_size=5))
def test_what_is_packed_comes_out_again(held: list[bytes | None]) -> None:
    given_files = files(held)
    bare = tuple(file.model_copy(update={"content": None}) for file in given_files)
    assert unpack(bare, pack(given_files)) == given_files


def test_the_same_files_are_the_same_bytes() -> None:
    assert pack(files([b"a", None])) == pack(files([b"a", None]))


def test_nothing_held_is_no_column() -> None:
    assert pack(files([None])) is None


@pytest.mark.parametrize("packed", [b"", b"PK", b"x" * 100])
def test_a_damaged_column_is_told(packed: bytes) -> None:
    with pytest.raises(ValueError, match="damaged"):
        unpack(files([None]), packed)


def test_the_outcome_alone_has_neither_patch_nor_contents() -> None:
    outcome = Outcome(state=State.FAILED, reason=Reason.EXIT)
    assert without(outcome) == outcome
    changed = outcome.model_copy(update={"changes": Changes(base_commit="a", patch=b"p", files=files([b"x"]))})
    bare = without(changed).changes
    assert bare is not None
    assert (bare.patch, bare.files[0].content) == (None, None)
