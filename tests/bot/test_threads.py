"""A thread as values: what is asked of them."""

from __future__ import annotations

import pytest

from bot.threads import Head, Thread

HEAD = Head(sha="a" * 40, ref="topic", repository_id=1, base_ref="main", base_sha="b" * 40)


def thread(head: Head | None) -> Thread:
    return Thread(
        number=7, is_pull_request=head is not None, title="T", state="open", locked=False, author=None, head=head
    )


@pytest.mark.parametrize(
    ("head", "forked"),
    [
        pytest.param(None, False, id="an issue has no head"),
        pytest.param(HEAD, False, id="a branch of the same repository"),
        pytest.param(HEAD.model_copy(update={"repository_id": 2}), True, id="another repository"),
        pytest.param(HEAD.model_copy(update={"repository_id": None}), True, id="a repository that was deleted"),
    ],
)
def test_b68_a_head_that_is_not_ours_is_a_forks(head: Head | None, forked: bool) -> None:
    assert thread(head).from_fork(1) is forked
