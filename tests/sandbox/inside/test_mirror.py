"""Fetching through a mirror, from a real git host: what it saves, and that it never stands in for the host."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.inside import extract, mirror
from sandbox.inside.bounds import Deadline, Failed
from sandbox.inside.gitcmd import GitFailed, TooSlow
from sandbox.inside.mirrorlock import held
from tests.sandbox.inside.bases import PLAIN, git
from tests.sandbox.inside.githost import serving
from tests.sandbox.inside.hosted import IDENTITY, PATIENCE, Mirrored, mirrored


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Mirrored]:
    root = tmp_path / "host"
    root.mkdir()
    with serving(root) as host:
        yield mirrored(host, tmp_path)


def tip(one: Mirrored, ref: str = "main") -> str:
    return git(one.bare, "rev-parse", ref).decode().strip()


def test_the_whole_history_is_there_and_none_of_it_in_the_workspace(one: Mirrored) -> None:
    task = one.fetch("a")
    assert task.through_mirror
    assert (task.done.base_commit, task.done.branch) == (tip(one), "main")
    assert (task.repo / "README.md").read_bytes() == PLAIN[b"README.md"]
    for place in (task.repo, task.bare):
        assert git(place, "log", "--format=%s").split() == [b"second", b"base"]
        assert not list((place / ".git" if place == task.repo else place).glob("objects/pack/*"))
    assert b"second" in git(task.repo, "show", "--format=%s", "HEAD")
    assert git(task.repo, "blame", "more")
    assert git(task.repo, "status", "--porcelain") == b""
    assert git(task.repo, "symbolic-ref", "HEAD") == b"refs/heads/main\n"


def test_the_second_task_brings_nothing_and_the_third_what_is_new(one: Mirrored) -> None:
    first = one.fetch("a")
    before = sorted(one.data.rglob("*.pack"))
    one.host.requests.clear()
    second = one.fetch("b")
    # It is asked what it has, and that is all.
    assert [line.split("?")[0] for line in one.host.requests] == [
        "GET /plain.git/info/refs", "POST /plain.git/git-upload-pack",
    ]  # fmt: skip
    assert (second.done.base_commit, second.generation) == (first.done.base_commit, "git")
    assert sorted(one.data.rglob("*.pack")) == before
    new = one.commit("third")
    third = one.fetch("c")
    assert third.done.base_commit == new
    assert git(third.repo, "log", "--format=%s").split() == [b"third", b"second", b"base"]
    assert third.done.mirror is not None
    assert not third.done.mirror["stale"]
    assert int(str(third.done.mirror["bytes"])) > 0


@pytest.mark.parametrize("kind", ["branch", "slash", "tag", "commit", "pull", "full"])
def test_every_way_to_name_a_commit_works_as_without_a_mirror(one: Mirrored, kind: str) -> None:
    one.fetch("before")  # most of it is there already then
    git(one.bare, "tag", "-a", "-m", "x", "v1.0", "main~1")
    git(one.bare, "update-ref", "refs/heads/topic/x", "main~1")
    git(one.bare, "update-ref", "refs/pull/5/head", one.commit("pulled", "refs/pull/5/head"))
    ref, commit, expected, branch = {
        "branch": ("main", None, tip(one), "main"),
        "slash": ("topic/x", None, tip(one, "main~1"), "topic/x"),
        "tag": ("v1.0", None, tip(one, "main~1"), "v1.0"),
        "commit": (None, tip(one, "main~1"), tip(one, "main~1"), ""),
        "pull": ("refs/pull/5/head", None, tip(one, "refs/pull/5/head"), ""),
        "full": ("refs/heads/topic/x", None, tip(one, "main~1"), "topic/x"),
    }[kind]
    task = one.fetch("task", ref, commit)
    assert task.through_mirror
    assert (task.done.base_commit, task.done.branch) == (expected, branch)
    assert git(task.repo, "rev-parse", "HEAD").decode().strip() == expected


@pytest.mark.parametrize(
    ("status", "words"), [(401, "terminal prompts disabled"), (403, "403"), (404, "not found"), (502, "502")]
)
def test_what_the_host_refuses_is_never_served_from_the_mirror(one: Mirrored, status: int, words: str) -> None:
    one.fetch("a")
    one.host.status = status
    for ref, commit in ((None, None), ("main", None), (None, tip(one))):
        with pytest.raises(GitFailed, match=words):
            one.fetch("b", ref, commit)
    one.host.status = 0
    assert one.fetch("c").generation == "git"  # nothing was wrong with the mirror


def test_a_host_that_does_not_answer_ends_in_time(one: Mirrored) -> None:
    one.fetch("a")
    one.host.hang.clear()
    with pytest.raises(TooSlow):
        one.fetch("b", seconds=1)


@pytest.mark.parametrize(
    ("ref", "commit", "words"),
    [("nope", None, "Remote branch nope not found"), ("refs/pull/9/head", None, "find remote ref"),
     (None, "1" * 40, "not our ref")],
)  # fmt: skip
def test_what_the_host_does_not_have_is_told_in_gits_own_words(
    one: Mirrored, ref: str | None, commit: str | None, words: str
) -> None:
    one.fetch("a")
    with pytest.raises(GitFailed, match=words):
        one.fetch("b", ref, commit)
    assert one.fetch("c").generation == "git"


def test_a_deleted_branch_is_not_served_any_more(one: Mirrored) -> None:
    one.commit("topic", "refs/heads/topic")
    one.fetch("a", "topic")
    git(one.bare, "update-ref", "-d", "refs/heads/topic")
    with pytest.raises(GitFailed, match="Remote branch topic not found"):
        one.fetch("b", "topic")


def test_forced_pushes_and_branches_in_the_place_of_folders(one: Mirrored) -> None:
    one.commit("x", "refs/heads/a")
    one.commit("y", "refs/heads/b/c")
    one.fetch("a")
    git(one.bare, "update-ref", "-d", "refs/heads/a")
    git(one.bare, "update-ref", "-d", "refs/heads/b/c")
    git(one.work, "reset", "-q", "--hard", "HEAD~2")
    one.commit("z", "refs/heads/a/b")
    one.commit("w", "refs/heads/b")
    forced = one.commit("v")
    task = one.fetch("b", "a/b")
    assert task.generation == "git"
    assert one.fetch("c").done.base_commit == forced
    assert git(one.data / "git", "for-each-ref", "--format=%(refname)", "refs/heads").split() == [
        b"refs/heads/a/b", b"refs/heads/b", b"refs/heads/main",
    ]  # fmt: skip


def test_a_history_rewritten_as_a_whole_starts_a_new_mirror(one: Mirrored) -> None:
    """As another repository under a name that was given up would: nothing of the old one is for its tasks."""
    first = one.fetch("a")
    assert first.done.mirror is not None
    old = first.done.base_commit
    git(one.work, "checkout", "-q", "--orphan", "anew")
    new = one.commit("unrelated")
    task = one.fetch("b")
    assert (task.done.base_commit, task.generation) == (new, "git-2")
    with pytest.raises(AssertionError):
        git(task.repo, "cat-file", "-e", old)
    assert task.done.mirror is not None
    assert task.done.mirror["stale"]
    closed = [(one.data / "git" / name).stat().st_mode & 0o777 for name in ("objects", "refs", "packed-refs")]
    assert closed == [0, 0, 0]  # the agent, of the same uid, finds nothing there
    assert int(str(task.done.mirror["bytes"])) > int(str(first.done.mirror["bytes"]))


def truncated(one: Mirrored) -> None:
    pack = next(one.data.rglob("*.pack"))
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes()[:-30])


def index_gone(one: Mirrored) -> None:
    next(one.data.rglob("*.idx")).unlink()


def pack_gone(one: Mirrored) -> None:
    next(one.data.rglob("*.pack")).unlink()


def foreign(one: Mirrored) -> None:
    record = one.data / "git" / "gofer.json"
    record.write_text(record.read_text().replace(IDENTITY, "https://github.com octo/other"))


def leading_elsewhere(one: Mirrored) -> None:
    (one.data / "git" / "objects" / "info" / "alternates").write_text("/elsewhere\n")


def configured(one: Mirrored) -> None:
    git(one.data / "git", "config", "uploadpack.packObjectsHook", "touch /tmp/PWNED")


def unreadable_record(one: Mirrored) -> None:
    (one.data / "git" / "gofer.json").write_text("[")


@pytest.mark.parametrize(
    "harm", [truncated, index_gone, pack_gone, foreign, leading_elsewhere, configured, unreadable_record]
)
def test_a_mirror_that_is_not_as_it_was_left_is_made_anew(one: Mirrored, harm: Callable[[Mirrored], None]) -> None:
    git(one.bare, "config", "transfer.unpackLimit", "1")
    keep_packs(one)
    one.fetch("a")
    harm(one)
    task = one.fetch("b")
    assert task.done.base_commit == tip(one)
    assert task.generation == "git-2"
    assert git(task.repo, "fsck", "--no-dangling") == b""
    assert one.fetch("c").generation == "git-2"


def keep_packs(one: Mirrored) -> None:
    """Enough objects that Git keeps the pack as it came (fetch.unpackLimit is 100)."""
    for number in range(150):
        (one.work / f"file{number}").write_text(f"{number}\n" * 50)
    git(one.work, "add", "-A")
    one.commit("many")


def test_a_damaged_object_is_found_by_its_use(one: Mirrored) -> None:
    """Size and checksums at the ends are as they were: only reading it tells. The task has its repository all the
    same, from the host, and the next one a new mirror."""
    keep_packs(one)
    one.fetch("a")
    for pack in one.data.rglob("*.pack"):
        pack.chmod(0o644)
        held_bytes = bytearray(pack.read_bytes())
        middle = slice(len(held_bytes) // 3, len(held_bytes) - 200)
        held_bytes[middle] = bytes(byte ^ 0xFF for byte in held_bytes[middle])
        pack.write_bytes(held_bytes)
    task = one.fetch("b")
    assert (task.through_mirror, task.done.base_commit) == (False, tip(one))
    assert git(task.repo, "status", "--porcelain") == b""
    assert one.fetch("c").generation == "git-2"


def test_what_a_killed_fetch_left_is_swept_and_a_first_one_that_was_killed_starts_again(one: Mirrored) -> None:
    (one.data / "git" / "objects" / "pack").mkdir(parents=True)
    (one.data / "git" / "objects" / "pack" / "tmp_pack_x").write_text("half")
    task = one.fetch("a")
    assert task.generation == "git"
    place = one.data / "git"
    for left in ("packed-refs.lock", "refs/heads/main.lock", "objects/pack/tmp_pack_y", "objects/pack/.tmp-1-z"):
        (place / left).parent.mkdir(parents=True, exist_ok=True)
        (place / left).write_text("half")
    (place / "objects" / "ab").mkdir(exist_ok=True)
    (place / "objects" / "ab" / "tmp_obj_w").write_text("half")
    new = one.commit("third")
    task = one.fetch("b")
    assert (task.generation, task.done.base_commit) == ("git", new)
    assert not [path for path in place.rglob("*") if "tmp" in path.name or path.name.endswith(".lock")]


def test_a_branch_is_here_only_with_all_that_it_leads_to(one: Mirrored) -> None:
    """A killed fetch leaves objects without what they name, never a ref: the commit alone is not taken for it all."""
    one.fetch("a")
    new = one.commit("third")
    raw = git(one.work, "cat-file", "commit", new)
    assert git(one.data / "git", "hash-object", "-w", "-t", "commit", "--stdin", stdin=raw).decode().strip() == new
    task = one.fetch("b")
    assert (task.done.base_commit, task.through_mirror) == (new, True)
    assert (task.repo / "more").read_text() == "third"


def test_another_object_format_starts_a_new_mirror(one: Mirrored) -> None:
    one.fetch("a")
    shutil.rmtree(one.bare)
    shutil.rmtree(one.work)
    for place, bare in ((one.bare, ["--bare"]), (one.work, [])):
        place.mkdir()
        git(place, "init", "-q", "-b", "main", "--object-format=sha256", *bare, ".")
    made = one.commit("long")
    task = one.fetch("b")
    assert (task.done.base_commit, task.generation) == (made, "git-2")
    assert git(task.repo, "status", "--porcelain") == b""


def test_an_empty_repository_is_told(one: Mirrored) -> None:
    git(one.bare, "update-ref", "-d", "refs/heads/main")
    with pytest.raises(Failed, match="the repository is empty"):
        one.fetch("a")


def test_a_lock_that_is_held_is_waited_for_and_then_gone_without(one: Mirrored) -> None:
    one.fetch("a")
    with held(one.root / "lock", 0) as mine:
        assert mine
        task = one.fetch("b", seconds=10)
    assert (task.through_mirror, task.done.base_commit) == (False, tip(one))
    assert one.fetch("c").through_mirror


def test_two_first_fetches_at_the_same_time_make_one_mirror(one: Mirrored) -> None:
    keep_packs(one)
    tasks = {}

    def run(name: str) -> None:
        tasks[name] = one.fetch(name)

    threads = [threading.Thread(target=run, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {task.generation for task in tasks.values()} == {"git"}
    assert {task.done.base_commit for task in tasks.values()} == {tip(one)}


def test_a_volume_that_was_not_prepared_is_gone_without(one: Mirrored) -> None:
    one.data.rmdir()
    assert not one.fetch("a").through_mirror


def test_too_large_is_remembered_for_a_day_and_a_broken_line_is_not(one: Mirrored) -> None:
    place = mirror.Place(one.root, IDENTITY)
    one.fetch("a")
    mirror.failed(place, GitFailed("fetch", 128, "error: RPC failed; curl 18"))
    assert one.fetch("b").generation == "git"
    mirror.failed(place, GitFailed("fetch", 128, "fatal: write error: No space left on device"))
    assert not one.fetch("c").through_mirror
    (one.data / "skip").write_text(str(time.time() - 1))
    assert one.fetch("d").generation == "git"


def test_no_more_than_a_few_generations_are_kept(one: Mirrored) -> None:
    for number in range(mirror.MOST_GENERATIONS):
        task = one.fetch(f"t{number}")
        assert task.through_mirror
        (one.data / task.generation / "gofer.broken").touch()
    assert not one.fetch("last").through_mirror


def test_the_extractor_reads_the_base_through_the_mirror_whatever_the_agents_alternates_say(one: Mirrored) -> None:
    task = one.fetch("a")
    (task.repo / "README.md").write_text("changed\n")
    (task.repo / ".git" / "objects" / "info" / "alternates").write_text("/elsewhere\n")
    (task.repo / ".git" / "HEAD").write_text("junk")
    for side in (task.workspace, task.clean):
        (side / "id").write_text("0123456789abcdef")
    folder = task.workspace.parent / "x"
    folder.mkdir()
    given = extract.extract(task.workspace, task.clean, folder, extract.Limits(10_000, 10), Deadline.after(PATIENCE))
    assert given.header["refusal"] == ""
    assert b"+changed" in (given.patch or b"")


def test_an_extractor_without_the_mirror_says_so_and_never_that_nothing_changed(one: Mirrored) -> None:
    task = one.fetch("a")
    one.data.rename(one.data.with_name("away"))
    for side in (task.workspace, task.clean):
        (side / "id").write_text("0123456789abcdef")
    folder = task.workspace.parent / "x"
    folder.mkdir()
    with pytest.raises(GitFailed):
        extract.extract(task.workspace, task.clean, folder, extract.Limits(10_000, 10), Deadline.after(PATIENCE))
