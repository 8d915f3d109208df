"""``python3 -I -m sandbox.inside.fetch``: the repository comes into the workspace, before any agent runs.

Reads ``/inputs/fetch.json`` and, where they are there, ``/inputs/bundle`` and ``/inputs/patch``. Makes the clean Git
directory first (bare; one commit deep, or over the repository's mirror), then the agent's checkout from it, then the
manifest and ``base.json``; last it reads another commit's instructions and lays an earlier result into the checkout.
Prints one JSON line; exit status 0 only when all of it is done. May be run again: it starts by emptying both places.
No secret passes through here: the egress adds the credential.
"""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from sandbox.inside import checkout, earlier, manifest, mirror, told
from sandbox.inside.bounds import MAX_WORDS, Deadline, Failed, Refused
from sandbox.inside.fetchwords import sentence
from sandbox.inside.gitcmd import Git, GitFailed, TooSlow
from sandbox.inside.refs import branch_of, check_commit, check_ref
from sandbox.inside.relay import relay

INPUTS, WORKSPACE, CLEAN, MIRROR = Path("/inputs"), Path("/ws"), Path("/clean"), Path("/mirror")
SOCKET = Path("/sock/git.sock")
PORT = 9002
MAX_REQUEST_BYTES = 64 * 1024
DEFAULT_SECONDS = 300.0
# git's own first line, said for it where it said nothing: through a mirror, and of a bundle.
CLONED = "Cloning into 'repo'...\n"

# Refuse to wait on a host that sends less than 1 kB/s for a minute.
SLOW = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60")
# Redirects would lead away from the pinned address, so they are told instead of followed.
HTTP = (*SLOW, "-c", "http.followRedirects=false", "-c", "protocol.version=2", "-c", "transfer.fsckObjects=false")


@dataclass(frozen=True)
class Wanted:
    """The parsed request. ``bundle`` wins over ``url``, ``commit`` over ``ref``.

    ``mirror``: the name that a mirror of this repository goes by; empty: none is to be used. ``patch``: an earlier
    result; ``instructions``: the commit whose instruction files are to be told.
    """

    url: str
    ref: str | None
    commit: str | None
    origin: str
    seconds: float
    bundle: Path | None
    mirror: str = ""
    patch: Path | None = None
    instructions: str = ""


@dataclass(frozen=True)
class Fetched:
    """What came: the commit, the branch it is checked out as (empty: detached), and git's own words.

    ``mirror``: its report where the workspace's objects are in it; None: all of them are in the workspace. ``told``:
    None where no commit's instructions were asked for.
    """

    base_commit: str
    branch: str
    words: str
    mirror: dict[str, object] | None = None
    told: told.Told | None = None


def read_request(inputs: Path) -> Wanted:
    """Parse and judge the request. Raises ``Failed``."""
    try:
        raw = json.loads((inputs / "fetch.json").read_bytes()[:MAX_REQUEST_BYTES])
        ref, commit = raw.get("ref"), raw.get("commit")
        seconds = float(raw.get("seconds") or DEFAULT_SECONDS)
        url, origin = str(raw.get("url") or ""), str(raw.get("origin") or "")
        kept, instructions = str(raw.get("mirror") or ""), str(raw.get("instructions") or "")
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise Failed(f"the request to fetch cannot be read: {error}") from error
    bundle, patch = inputs / "bundle", inputs / "patch"
    return Wanted(
        url=url,
        ref=check_ref(ref) if ref else None,
        commit=check_commit(commit) if commit else None,
        origin=origin,
        seconds=seconds,
        bundle=bundle if bundle.exists() else None,
        mirror=kept,
        patch=patch if patch.exists() else None,
        instructions=check_commit(instructions) if instructions else "",
    )


def fetch(wanted: Wanted, workspace: Path, clean: Path, deadline: Deadline, root: Path = MIRROR) -> Fetched:
    """Fill both places. Raises ``Failed`` or ``GitFailed``; what is there then is of no use."""
    done = _repository(wanted, workspace, clean, deadline, root)
    heard = _instructions(wanted, clean / "data" / "git", deadline) if wanted.instructions else None
    if wanted.patch is not None:
        earlier.lay(wanted.patch, workspace / "repo", done.base_commit, Git(deadline))
    return replace(done, told=heard)


def _instructions(wanted: Wanted, bare: Path, deadline: Deadline) -> told.Told:
    """Asked of the host as anything else is: a commit that it does not serve, it does not serve for this either."""
    place = {"GIT_DIR": str(bare)}

    def bring(commit: str, ref: str) -> None:
        if wanted.bundle:
            raise Failed(f"the bundle does not hold the commit {commit}, whose instructions the agent is to read")
        git = Git(deadline, extra={**place, "GIT_ALLOW_PROTOCOL": "http"}, flags=HTTP)
        args = ("fetch", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
        git.run(*args, "--end-of-options", wanted.url, f"+{commit}:{ref}")

    return told.take(Git(deadline, extra=place), wanted.instructions, bring)


def _repository(wanted: Wanted, workspace: Path, clean: Path, deadline: Deadline, root: Path) -> Fetched:
    """Through the mirror mounted at ``root`` where one is wanted. Whatever goes wrong with that, the host is asked
    again without it, and the words are those of that attempt: a mirror never makes a fetch fail, nor lets one succeed
    that the host refuses.
    """
    if wanted.bundle or not wanted.mirror:
        return _without(wanted, workspace, clean, deadline)
    place = mirror.Place(root, wanted.mirror)
    try:
        return _through(place, wanted, workspace, clean, deadline)
    except (mirror.Without, GitFailed, Failed, OSError) as error:
        done = _without(wanted, workspace, clean, deadline)
        with contextlib.suppress(OSError):
            mirror.failed(place, error)
        return done


def _through(place: mirror.Place, wanted: Wanted, workspace: Path, clean: Path, deadline: Deadline) -> Fetched:
    bare = _emptied(workspace, clean)
    asked = mirror.Asked(wanted.url, wanted.ref, wanted.commit)
    found = mirror.refreshed(place, asked, deadline, HTTP)
    if wanted.commit and found.base != wanted.commit:
        raise Failed(f"the git host sent the commit {found.base} instead of {wanted.commit}")
    branch = branch_of(wanted.ref) if wanted.ref or wanted.commit else found.head_branch
    mirror.bare_over(found.folder, bare, found.base, branch, Git(deadline))
    _fill(wanted, workspace, clean, found.base, branch, deadline)
    return Fetched(found.base, branch, found.words, mirror.report(place))


def _without(wanted: Wanted, workspace: Path, clean: Path, deadline: Deadline) -> Fetched:
    bare = _emptied(workspace, clean)
    words = _get(wanted, bare, deadline)
    git = Git(deadline, extra={"GIT_DIR": str(bare)})
    base = _head(git, wanted)
    branch = _branch(git, wanted)
    _fill(wanted, workspace, clean, base, branch, deadline)
    return Fetched(base, branch, words)


def _emptied(workspace: Path, clean: Path) -> Path:
    """Nothing is left in both places; answers where the clean Git directory goes."""
    for folder in (clean / "data", workspace / "repo"):
        empty(folder)
    return clean / "data" / "git"


def _fill(wanted: Wanted, workspace: Path, clean: Path, base: str, branch: str, deadline: Deadline) -> None:
    """The agent's checkout, the manifest and the record of the base."""
    data, repo = clean / "data", workspace / "repo"
    bare = data / "git"
    tree = Git(deadline, cwd=str(repo), extra={"GIT_DIR": str(repo / ".git"), "GIT_WORK_TREE": str(repo)})
    checkout.make(bare, repo, base, branch, wanted.origin, tree)
    manifest.write(manifest.take(repo, deadline), data / "manifest")
    record = {"base_commit": base, "branch": branch, "ref": wanted.ref, "origin": wanted.origin}
    (data / "base.json").write_text(json.dumps(record))


def _get(wanted: Wanted, bare: Path, deadline: Deadline) -> str:
    """Objects of the one commit into ``bare``, with HEAD on it; answers git's words."""
    protocol = "file" if wanted.bundle else "http"
    source = str(wanted.bundle) if wanted.bundle else wanted.url
    git = Git(deadline, extra={"GIT_ALLOW_PROTOCOL": protocol}, flags=HTTP)
    depth = () if wanted.bundle else ("--depth=1",)
    name = wanted.commit or wanted.ref
    if name and (wanted.commit or name.startswith("refs/")):
        return _fetch_one(git, source, wanted.commit or name, bare, depth, bool(wanted.bundle))
    args = ["clone", "--bare", "--single-branch", "--no-tags", "--template=", *depth]
    if name:
        args.append(f"--branch={name}")
    return git.run(*args, "--end-of-options", source, str(bare)).words


def _fetch_one(git: Git, source: str, name: str, bare: Path, depth: tuple[str, ...], bundle: bool) -> str:
    """One commit id or one full ref; HEAD is detached on it."""
    long = ["--object-format=sha256"] if len(name) == 64 else []
    git.run("init", "--quiet", "--bare", "--template=", *long, str(bare))
    inside = Git(git.deadline, extra={**git.extra, "GIT_DIR": str(bare)}, flags=git.flags)
    # A bundle offers its refs, never a bare commit id: take all, then look for the commit.
    what = "+refs/heads/*:refs/gofer/*" if bundle and not name.startswith("refs/") else f"+{name}:refs/gofer/base"
    args = ("fetch", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", *depth)
    words = inside.run(*args, "--end-of-options", source, what).words
    target = "refs/gofer/base" if what.endswith("refs/gofer/base") else name
    commit = inside.run("rev-parse", "--verify", "--end-of-options", f"{target}^{{commit}}").out.decode().strip()
    inside.run("update-ref", "--no-deref", "HEAD", commit)
    return words


def _head(git: Git, wanted: Wanted) -> str:
    try:
        base = git.run("rev-parse", "--verify", "HEAD^{commit}").out.decode().strip()
    except TooSlow:
        raise
    except GitFailed as error:
        raise Failed("the repository is empty, or its default branch is not there: no commit to start from") from error
    if wanted.commit and base != wanted.commit:
        raise Failed(f"the git host sent the commit {base} instead of {wanted.commit}")
    return base


def _branch(git: Git, wanted: Wanted) -> str:
    """The name to check out: the one asked for, or the one that HEAD of the host is on."""
    if wanted.ref or wanted.commit:
        return branch_of(wanted.ref)
    try:
        return branch_of(git.run("symbolic-ref", "HEAD").out.decode().strip())
    except TooSlow:
        raise
    except GitFailed:  # the host's HEAD is detached
        return ""


def empty(folder: Path) -> None:
    """Remove what is in it and keep it: it may be a mount's own child, owned by us in a parent that is not."""
    for child in folder.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        else:
            child.unlink()


def main() -> int:
    """The command: one JSON line, whatever happens."""
    wanted: Wanted | None = None
    try:
        wanted = read_request(INPUTS)
        way_out = contextlib.nullcontext() if wanted.bundle else relay(SOCKET, PORT)
        with way_out:
            done = fetch(wanted, WORKSPACE, CLEAN, Deadline.after(wanted.seconds))
    except TooSlow:
        return _answer(1, f"fetching the repository took longer than {wanted.seconds if wanted else 0:.0f} seconds")
    except GitFailed as error:
        ref, commit = (wanted.ref, wanted.commit) if wanted else (None, None)
        return _answer(error.code or 1, sentence(error.words, ref, commit), error.words)
    except earlier.Unfit as error:
        return _answer(1, str(error), unfit=True)
    except (Failed, Refused) as error:
        return _answer(1, str(error))
    except Exception as error:  # fails closed: half a checkout is never reported as one
        return _answer(1, f"the fetch helper broke: {type(error).__name__}: {error}")
    return _answer(0, "", done.words or CLONED, done)


def _answer(code: int, error: str, words: str = "", done: Fetched | None = None, *, unfit: bool = False) -> int:
    heard = done.told if done else None
    line = {
        "exit_code": code,
        "stdout": "",
        "stderr": words[-MAX_WORDS:] or error,
        "base_commit": done.base_commit if done else "",
        "branch": done.branch if done else "",
        "mirror": done.mirror if done else None,
        "told": {name: base64.b64encode(data).decode() for name, data in heard.files.items()} if heard else None,
        "left_out": heard.left_out if heard else [],
        "unfit": unfit,
        "error": error,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
