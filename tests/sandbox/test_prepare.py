"""What a failed preparation says: the first cause, in words, and never the credential."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from sandbox import PrepareFailed, Reason, Secrets, Unreachable
from sandbox.engine import Differs, Gone
from sandbox.helpers import HelperFailed
from sandbox.link import EgressFailed
from sandbox.prepare import WORDS_CHARACTERS, _archive, _fetch_words, _told


@pytest.mark.parametrize(
    ("cause", "kind", "reason"),
    [
        (EgressFailed("it ended"), PrepareFailed, Reason.EGRESS_LOST),
        (HelperFailed("not enough disk space"), PrepareFailed, Reason.DISK_FULL),
        (PrepareFailed(Reason.FETCH_FAILED, "git"), PrepareFailed, Reason.FETCH_FAILED),
        (Differs("HostConfig.Privileged"), PrepareFailed, Reason.LOST),
        (Unreachable("no answer"), Unreachable, None),
        (Gone("image"), Unreachable, None),
    ],
)
def test_the_first_cause_is_told(cause: Exception, kind: type[Exception], reason: Reason | None) -> None:
    for error in (cause, ExceptionGroup("outer", [ExceptionGroup("inner", [cause]), ValueError("later")])):
        told = _told(error)
        assert type(told) is kind
        assert getattr(told, "reason", None) is reason


def test_the_words_of_git_hold_no_credential() -> None:
    given = Secrets(fetch_token=SecretStr("ghs_secret"))
    words = _fetch_words({"error": "it is private", "stderr": "fatal: ghs_secret in url"}, given)
    assert "ghs_secret" not in words
    assert "it is private" in words
    assert "fatal: ***" in words


def test_the_words_of_git_are_bounded_and_never_empty() -> None:
    assert len(_fetch_words({"stderr": "x" * 100_000}, Secrets())) < WORDS_CHARACTERS + 100
    assert "no reason was given" in _fetch_words({}, Secrets())


def test_inputs_belong_to_root_and_are_for_reading() -> None:
    import io
    import tarfile

    with tarfile.open(fileobj=io.BytesIO(_archive({"prompt": b"\xff\x00", "fetch.json": b"{}"}))) as archive:
        entries = archive.getmembers()
        assert [(e.name, e.uid, e.gid, e.mode) for e in entries] == [
            ("prompt", 0, 0, 0o444),
            ("fetch.json", 0, 0, 0o444),
        ]
        content = archive.extractfile("prompt")
        assert content is not None
        assert content.read() == b"\xff\x00"
