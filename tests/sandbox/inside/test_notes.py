"""What a reviewer is told beside the patch."""

from __future__ import annotations

import pytest

from sandbox.inside import notes
from sandbox.inside.newfiles import NewFiles


def test_nothing_to_tell_is_no_note() -> None:
    assert notes.about_new(NewFiles(taken={b"a"}, ignored={b"b"})) == []
    assert notes.about_repositories([], {b"a"}, NewFiles()) == []
    assert notes.about_tracked([], []) == []
    assert notes.about_attributes({b"a"}, {b"a": {"text"}}) == []


@pytest.mark.parametrize(
    ("path", "target", "out"),
    [
        (b"a/link", b"../b", False),
        (b"a/link", b"../../b", True),
        (b"link", b"/etc/passwd", True),
        (b"link", b"a/../b", False),
        (b"link", b".git/hooks", True),
        (b"a/link", b"../.GIT/config", True),
        (b"link", b"..", True),
        (b"link", b"..b", False),
    ],
)
def test_links_that_lead_out_are_told(path: bytes, target: bytes, out: bool) -> None:
    assert bool(notes.about_links({path: target})) == out


def test_g11_a_nested_repository_is_told_unless_it_is_ignored() -> None:
    new = NewFiles(taken={b"sub/a"}, ignored={b"deps/x"})
    (note,) = notes.about_repositories([b"sub", b"deps", b"empty"], new.taken, new)
    assert note.endswith("empty, sub.")


def test_g08_a_bare_looking_directory_is_told() -> None:
    (note,) = notes.about_repositories([], {b"b/HEAD", b"b/config", b"c/HEAD"}, NewFiles())
    assert note.endswith("inside: b.")


def test_g13_edited_attributes_and_lfs_are_told() -> None:
    told = notes.about_attributes({b"d/.gitattributes", b"x.big"}, {b"x.big": {"filter"}})
    assert "edits .gitattributes" in told[0]
    assert told[1].endswith("x.big.")


def test_what_a_patch_does_not_show_is_told() -> None:
    told = notes.about_tracked({b"crlf.txt"}, {b"sub"})
    assert "(1): crlf.txt." in told[0]
    assert "as they were: sub." in told[1]


def test_new_files_left_out_are_told() -> None:
    new = NewFiles(newly_ignored={b"evil"}, ignored={b"evil"}, leftovers={b"node_modules/x"}, special={b"pipe"})
    told = "\n".join(notes.about_new(new))
    assert "itself adds or edits (1): evil." in told
    assert "leftovers (1): node_modules/x." in told
    assert "devices: pipe." in told
