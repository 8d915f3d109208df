"""What a failed preparation says: the first cause, in words."""

from __future__ import annotations

import pytest

from sandbox import PrepareFailed, Reason, Unreachable
from sandbox.engine import Differs, Gone
from sandbox.helpers import HelperFailed
from sandbox.link import EgressFailed
from sandbox.prepare import _told


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
