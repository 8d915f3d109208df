"""The Git database API of the local GitHub: blobs, trees, commits, references, and files by path."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from bot.demo import github_activity
from bot.demo import github_git_objects as objects
from bot.demo.github_access import Answered, Asked, World, reach
from bot.demo.github_auth import Refusal
from bot.demo.github_shapes import node_id, stamp
from bot.demo.github_state import Repository


def _url(world: World, repository: Repository, tail: str) -> str:
    return f"{world.api}/repos/{repository.full_name}/{tail}"


def _invalid(words: str) -> Refusal:
    return Refusal(422, words)


def create_blob(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "contents", "write")
    body = asked.body or {}
    content = body.get("content", "")
    try:
        raw = base64.b64decode(content, validate=True) if body.get("encoding") == "base64" else content.encode()
    except (binascii.Error, ValueError):
        raise _invalid("content is not valid Base64") from None
    sha = objects.write_blob(repository.git_dir, raw)
    url = _url(world, repository, f"git/blobs/{sha}")
    return Answered(201, {"sha": sha, "url": url}, {"Location": url})


def get_blob(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "contents", "read")
    sha = asked.params["file_sha"]
    if not objects.exists(repository.git_dir, sha, "blob"):
        raise Refusal(404, "Not Found")
    content = objects.read_blob(repository.git_dir, sha)
    url = _url(world, repository, f"git/blobs/{sha}")
    shape = {"content": objects.encoded(content), "encoding": "base64", "url": url, "sha": sha, "size": len(content)}
    return Answered(200, shape | {"node_id": node_id("Blob", len(content))})


def create_tree(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "contents", "write")
    body = asked.body or {}
    base = body.get("base_tree", "")
    if base and not (
        objects.exists(repository.git_dir, base, "tree") or objects.exists(repository.git_dir, base, "commit")
    ):
        raise _invalid("base_tree is not a valid tree")
    for entry in body.get("tree", []):
        if entry.get("sha") and not objects.exists(repository.git_dir, entry["sha"], entry.get("type", "blob")):
            raise _invalid("tree.sha " + entry["sha"] + " is not a valid blob")
        parts = str(entry.get("path", "")).split("/")
        if any(part in {"", ".", ".."} or part.lower() == ".git" for part in parts):
            raise _invalid("tree contains a malformed path component")
        if "sha" in entry and "content" in entry:
            raise _invalid("Must supply either tree.sha or tree.content")
    try:
        sha = objects.write_tree(repository.git_dir, base, body.get("tree", []))
    except objects.GitRefused as error:
        raise _invalid(f"tree contains a malformed path: {error}") from None
    url = _url(world, repository, f"git/trees/{sha}")
    return Answered(201, _tree(world, repository, sha), {"Location": url})


def get_tree(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "contents", "read")
    sha = asked.params["tree_sha"]
    try:
        return Answered(200, _tree(world, repository, sha, recursive="recursive" in asked.query))
    except objects.GitRefused:
        raise Refusal(404, "Not Found") from None


def _tree(world: World, repository: Repository, sha: str, *, recursive: bool = False) -> dict[str, Any]:
    items = objects.read_tree(repository.git_dir, sha, recursive=recursive)
    kinds = {"blob": "blobs", "tree": "trees", "commit": "commits"}
    tree = [item | {"url": _url(world, repository, f"git/{kinds[item['type']]}/{item['sha']}")} for item in items]
    return {"sha": sha, "url": _url(world, repository, f"git/trees/{sha}"), "tree": tree, "truncated": False}


def create_commit(world: World, asked: Asked) -> Answered:
    """Signed by GitHub, and so verified, only where neither author nor committer was given."""
    repository = reach(world, asked, "contents", "write")
    body = asked.body or {}
    if not objects.exists(repository.git_dir, body.get("tree", ""), "tree"):
        raise _invalid("Tree SHA does not exist")
    for parent in body.get("parents", []):
        if not objects.exists(repository.git_dir, parent, "commit"):
            raise _invalid("Parent SHA does not exist or is not a commit object")
    own = "author" not in body and "committer" not in body
    who = body.get("author", {})
    bot = world.app.user
    name = who.get("name", bot.login)
    email = who.get("email", f"{bot.id}+{bot.login}@users.noreply.github.com")
    at = int(world.now().timestamp())
    sha = objects.write_commit(
        repository.git_dir, body["tree"], body.get("parents", []), body["message"], (name, email), at
    )
    if own:
        world.state.verified.add(sha)
    shape = _commit(world, repository, sha)
    return Answered(201, shape, {"Location": shape["url"]})


def get_commit(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "contents", "read")
    sha = asked.params["commit_sha"]
    if not objects.exists(repository.git_dir, sha, "commit"):
        raise Refusal(404, "Not Found")
    return Answered(200, _commit(world, repository, sha))


def _commit(world: World, repository: Repository, sha: str) -> dict[str, Any]:
    commit = objects.read_commit(repository.git_dir, sha)
    at = stamp(world.now().fromtimestamp(commit.seconds, tz=world.now().tzinfo))
    who = {"name": commit.author, "email": commit.email, "date": at}
    verified = sha in world.state.verified
    page = f"{repository.full_name}/commit"
    return {
        "sha": commit.sha,
        "node_id": node_id("Commit", commit.seconds),
        "url": _url(world, repository, f"git/commits/{sha}"),
        "html_url": f"{world.shapes.web}/{page}/{sha}",
        "author": who,
        "committer": who,
        "message": commit.message,
        "tree": {"sha": commit.tree, "url": _url(world, repository, f"git/trees/{commit.tree}")},
        "parents": [
            {
                "sha": parent,
                "url": _url(world, repository, f"git/commits/{parent}"),
                "html_url": f"{world.shapes.web}/{page}/{parent}",
            }
            for parent in commit.parents
        ],
        "verification": {
            "verified": verified,
            "reason": "valid" if verified else "unsigned",
            "signature": "-----BEGIN PGP SIGNATURE-----" if verified else None,
            "payload": "tree" if verified else None,
            "verified_at": at if verified else None,
        },
    }


def get_ref(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "contents", "read")
    name = f"refs/{asked.params['ref']}"
    sha = objects.ref(repository.git_dir, name)
    if sha is None:
        raise Refusal(404, "Not Found")
    return Answered(200, _ref(world, repository, name, sha))


def create_ref(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "contents", "write")
    body = asked.body or {}
    name, sha = body.get("ref", ""), body.get("sha", "")
    if not name.startswith("refs/") or name.count("/") < 2:
        raise _invalid("Reference name must start with 'refs/' and contain at least two slashes")
    if not objects.exists(repository.git_dir, sha, "commit"):
        raise _invalid("Object does not exist")
    if objects.ref(repository.git_dir, name) is not None:
        raise _invalid("Reference already exists")
    _moves(world, repository, name, sha)
    shape = _ref(world, repository, name, sha)
    return Answered(201, shape, {"Location": shape["url"]})


def update_ref(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "contents", "write")
    name, body = f"refs/{asked.params['ref']}", asked.body or {}
    sha, before = body.get("sha", ""), objects.ref(repository.git_dir, name)
    if before is None:
        raise _invalid("Reference does not exist")
    if not objects.exists(repository.git_dir, sha, "commit"):
        raise _invalid("Object does not exist")
    if name.removeprefix("refs/heads/") in repository.protected:
        words = "Changes must be made through a pull request."
        raise _invalid(f"Protected branch update failed for {name}. GH006: {words}")
    if not body.get("force") and not objects.contains(repository.git_dir, before, sha):
        raise _invalid("Update is not a fast forward")
    _moves(world, repository, name, sha)
    return Answered(200, _ref(world, repository, name, sha))


def delete_ref(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "contents", "write")
    name = f"refs/{asked.params['ref']}"
    before = objects.ref(repository.git_dir, name)
    if before is None:
        raise _invalid("Reference does not exist")
    objects.delete_ref(repository.git_dir, name)
    _recorded(world, repository, name, before)
    return Answered(204)


def _moves(world: World, repository: Repository, name: str, sha: str) -> None:
    before = objects.ref(repository.git_dir, name)
    objects.set_ref(repository.git_dir, name, sha)
    _recorded(world, repository, name, before)
    world.pushed(repository, name.removeprefix("refs/heads/"), world.app.user)


def _recorded(world: World, repository: Repository, name: str, before: str | None) -> None:
    if name.startswith("refs/heads/"):
        branch = name.removeprefix("refs/heads/")
        github_activity.record(world.state, repository, branch, before, world.app.user, world.now())


def _ref(world: World, repository: Repository, name: str, sha: str) -> dict[str, Any]:
    return {
        "ref": name,
        "node_id": node_id("Ref", len(name)),
        "url": _url(world, repository, f"git/{name}"),
        "object": {"type": "commit", "sha": sha, "url": _url(world, repository, f"git/commits/{sha}")},
    }


def get_contents(world: World, asked: Asked) -> Answered:
    """A file by its path; a folder is answered as a list."""
    repository = reach(world, asked, "contents", "read")
    path = asked.params["path"].strip("/")
    ref = asked.query.get("ref") or f"refs/heads/{repository.default_branch}"
    commit = objects.ref(repository.git_dir, ref) or objects.ref(repository.git_dir, f"refs/heads/{ref}")
    content = objects.file_at(repository.git_dir, commit, path) if commit else None
    if content is None:
        raise Refusal(404, "Not Found")
    sha = objects.write_blob(repository.git_dir, content)
    url = _url(world, repository, f"contents/{path}?ref={asked.query.get('ref', repository.default_branch)}")
    page = f"{world.shapes.web}/{repository.full_name}/blob/{repository.default_branch}/{path}"
    git_url = _url(world, repository, f"git/blobs/{sha}")
    return Answered(
        200,
        {
            "type": "file",
            "encoding": "base64",
            "size": len(content),
            "name": path.rsplit("/", 1)[-1],
            "path": path,
            "content": objects.encoded(content),
            "sha": sha,
            "url": url,
            "git_url": git_url,
            "html_url": page,
            "download_url": page,
            "_links": {"self": url, "git": git_url, "html": page},
        },
    )
