"""``python3 -I -m sandbox.inside.store COMMAND ...``: volumes with a hard cap, as ext4 images on loop devices.

    make NAME WS_BYTES WS_INODES CLEAN_BYTES CLEAN_INODES ID    -> {"ws": "/dev/loopN", "clean": "/dev/loopM"}
    attach NAME                                                 -> the same, after a restart of the host
    empty NAME                                                  -> {}; fine when gone. Its snapshots stay
    remove NAME                                                 -> {}; its snapshots too
    list                                                        -> {"names": [...]}
    snapshot NAME SNAPSHOT                                      -> {"size": bytes on disk, "digests": {"ws": ...}}
    restore ORIGIN SNAPSHOT NAME WS_DIGEST CLEAN_DIGEST ID      -> the devices of NAME, as after make
    drop NAME SNAPSHOT                                          -> {}; every snapshot of NAME but this one is gone
    deps ...                                                    see sandbox.inside.depstore

Runs in a container with SYS_ADMIN, the loop devices and nothing else. One JSON object on standard output; exit status
1 and ``{"error": words}`` on failure, when what was half made has been removed. Every command may be repeated, and run
beside others for other names.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sandbox.inside import depstore, loop, snapshots, sparse
from sandbox.inside.bounds import MIB, Failed
from sandbox.inside.e2fs import set_fields, tool

IMAGES, DEV = Path("/images"), Path("/dev")
# What must stay free on the host's disk beside every byte promised to the images: the engine and the bot live there.
FLOOR_BYTES = 1024 * MIB
AGENT_UID = 65532
# The operator's own folder may be open to all users of the machine; what is in an image is the repository's readers'.
UMASK = 0o077
# The one folder of the agent's uid in each volume's root.
ROLES = {"ws": "repo", "clean": "data"}
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_ID = re.compile(r"[0-9a-f]{16,64}")
DEPS = "deps"  # a folder of its own: no sandbox's image is in it
# No reserved blocks (the agent is not root), a small journal, and no zeroes written to what is sparse anyway.
MKFS = ("-q", "-F", "-b", "4096", "-m", "0", "-J", "size=4")
MKFS_EXTENDED = "lazy_itable_init=0,lazy_journal_init=1,assume_storage_prezeroed=1,nodiscard"
# Eight hex digits tell the volumes of instances apart in the 63 bytes of a tag: "xxxxxxxx/clean/NAME".
STORE_ID_FILE = ".store"


@dataclass(frozen=True)
class Size:
    """Hard caps of one image."""

    bytes: int
    inodes: int


@dataclass(frozen=True)
class Store:
    """A folder of images and the loop devices over them."""

    images: Path
    dev: Path

    def make(self, name: str, sizes: dict[str, Size], identity: str) -> dict[str, str]:
        """Both images of a sandbox, formatted, filled with the id, attached. An older pair is removed first."""
        _check_id(identity)
        self.empty(name)
        self._check_room(sum(size.bytes for size in sizes.values()))
        try:
            for role, size in sizes.items():
                format_image(self.image(name, role), size, identity, role)
            return {role: self._attach(name, role) for role in ROLES}
        except BaseException:
            self.empty(name)
            raise

    def attach(self, name: str) -> dict[str, str]:
        """The devices of a pair that exists; a live one is kept."""
        devices = {device.file: device.path for device in loop.attached(self.dev)}
        found = {}
        for role in ROLES:
            image = self.image(name, role)
            if not image.is_file():
                raise Failed(f"there is no image for the {role} volume of {name}")
            found[role] = devices.get(_file(image)) or self._attach(name, role)
        return found

    def snapshot(self, name: str, snapshot: str) -> dict[str, object]:
        """Save both images; nothing is mounted. Where it fails nothing is left of it."""
        images = {role: self.image(name, role) for role in ROLES}
        self._check_room(sum(sparse.taken(image) for image in images.values() if image.is_file()))
        return snapshots.save(images, snapshot)

    def restore(self, origin: str, snapshot: str, name: str, digests: dict[str, str], identity: str) -> dict[str, str]:
        """Both images of ``name`` from a snapshot, with another id, attached. Whole, or nothing is left of them."""
        _check_id(identity)
        saved = {role: snapshots.path(self.image(origin, role), snapshot) for role in ROLES}
        images = {role: self.image(name, role) for role in ROLES}
        self.empty(name)
        self._check_room(sum(file.stat().st_size for file in saved.values() if file.is_file()))
        try:
            snapshots.restore(saved, images, digests, identity)
            return {role: self._attach(name, role) for role in ROLES}
        except BaseException:
            self.empty(name)
            raise

    def drop(self, name: str, but: str = "") -> None:
        """Unlink every snapshot and every draft of this name, ``but`` those of one id."""
        self.image(name, "ws")  # a name that is none of ours has no files
        for file in snapshots.left(self.images, name, but):
            file.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """As ``empty``, and no snapshot is left."""
        self.empty(name)
        self.drop(name)

    def empty(self, name: str) -> None:
        """Detach, then unlink: killed in between, the file is still there to be found by ``list``."""
        images = [self.image(name, role) for role in ROLES]
        files = {_file(image) for image in images if image.exists()}
        tags = {self._tag(name, role) for role in ROLES}
        for device in loop.attached(self.dev):
            if device.file in files or device.tag in tags:
                loop.detach(device.path)
        for image in images:
            image.unlink(missing_ok=True)

    def list(self) -> list[str]:
        """Names of which an image or an attached device is left. Names from tags are cut at 49 characters."""
        files = (path.name for path in self.images.iterdir() if path.name.endswith((".img", ".snap", ".draft")))
        names = {file.partition(".")[0] for file in files} - {""}
        prefix = self._store_id() + "/"
        for device in loop.attached(self.dev):
            if device.tag.startswith(prefix):
                short = device.tag.split("/", 2)[2]
                if not any(name.startswith(short) for name in names):
                    names.add(short)
        return sorted(names)

    def image(self, name: str, role: str) -> Path:
        """Where an image is. Raises ``Failed`` for a name that is none of ours."""
        if not _NAME.fullmatch(name):
            raise Failed("the name is not of letters, digits and hyphens")
        return self.images / f"{name}.{role}.img"

    def deps(self) -> depstore.DepStore:
        return depstore.DepStore(self.images / DEPS, self.dev, self._store_id())

    def plain(self, image: Path, size: int, inodes: int) -> None:
        """An image whose file system is the agent's uid's to fill. An older one of this name is gone first."""
        self._check_room(size)
        image.unlink(missing_ok=True)
        with image.open("xb") as out:
            out.truncate(size)
        owner = f"root_owner={AGENT_UID}:{AGENT_UID}"
        tool(["mkfs.ext4", *MKFS, "-E", f"{MKFS_EXTENDED},{owner}", "-N", str(inodes), str(image)])

    def _attach(self, name: str, role: str) -> str:
        return loop.attach(self.dev, self.image(name, role), self._tag(name, role))

    def _tag(self, name: str, role: str) -> str:
        return f"{self._store_id()}/{role}/{name}"[: loop.MAX_TAG_BYTES]

    def _store_id(self) -> str:
        """Made once for the folder; two that make it at the same time agree on one."""
        path = self.images / STORE_ID_FILE
        if not path.exists():
            draft = self.images / f"{STORE_ID_FILE}.{os.getpid()}.{os.urandom(4).hex()}"
            draft.write_text(os.urandom(4).hex())
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        return path.read_text()

    def _check_room(self, wanted: int) -> None:
        """Refuse where the disk could not keep every promise at once: a full one would harm all sandboxes together."""
        disk = os.statvfs(self.images)
        free = disk.f_bavail * disk.f_frsize
        drafts = self.images.glob(f"{DEPS}/*.draft")  # whole ones are never written to again
        promised = sum(_unwritten(path) for path in (*self.images.glob("*.img"), *drafts))
        if wanted + promised + FLOOR_BYTES > free:
            raise Failed(
                f"not enough disk space for a workspace: {wanted // MIB:,} MiB wanted, {promised // MIB:,} MiB promised"
                f" to others, {FLOOR_BYTES // MIB:,} MiB kept free, {free // MIB:,} MiB free"
            )


def _check_id(identity: str) -> None:
    if not _ID.fullmatch(identity):
        raise Failed("the id is not of 16 to 64 hexadecimal digits")


def _file(image: Path) -> tuple[int, int]:
    look = image.stat()
    return (look.st_dev, look.st_ino)


def _unwritten(image: Path) -> int:
    """Bytes that the image may still take. 0 where it has just gone."""
    try:
        return max(0, image.stat().st_size - sparse.taken(image))
    except FileNotFoundError:
        return 0


def format_image(image: Path, size: Size, identity: str, role: str) -> None:
    """A sparse ext4 image whose root is root's and holds ``id`` beside one folder of the agent's uid."""
    with image.open("xb") as out:
        out.truncate(size.bytes)
    folder = ROLES[role]
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        root.chmod(0o755)
        (root / folder).mkdir()
        (root / folder).chmod(0o755)
        (root / "id").write_text(identity)
        (root / "id").chmod(0o444)
        if role == "ws":  # where Node looks for the repository's dependencies, one folder above it
            (root / "node_modules").symlink_to("/deps/node_modules")
        options = f"{MKFS_EXTENDED},root_owner=0:0"
        tool(["mkfs.ext4", *MKFS, "-E", options, "-N", str(size.inodes), "-d", place, str(image)])
    set_fields(image, folder, uid=AGENT_UID, gid=AGENT_UID)


def run(store: Store, argv: list[str]) -> dict[str, object]:
    """One command. Raises ``Failed``."""
    match argv:
        case ["make", name, ws_bytes, ws_inodes, clean_bytes, clean_inodes, identity]:
            sizes = {
                "ws": Size(int(ws_bytes), int(ws_inodes)),
                "clean": Size(int(clean_bytes), int(clean_inodes)),
            }
            return dict(store.make(name, sizes, identity))
        case ["attach", name]:
            return dict(store.attach(name))
        case ["empty", name]:
            store.empty(name)
            return {}
        case ["remove", name]:
            store.remove(name)
            return {}
        case ["list"]:
            return {"names": store.list()}
        case ["snapshot", name, snapshot]:
            return store.snapshot(name, snapshot)
        case ["restore", origin, snapshot, name, ws, clean, identity]:
            return dict(store.restore(origin, snapshot, name, {"ws": ws, "clean": clean}, identity))
        case ["drop", name, snapshot]:
            store.drop(name, snapshot)
            return {}
        case ["deps", *rest]:
            return depstore.run(store.deps(), rest, store.plain)
    raise Failed(f"usage: {' '.join((__doc__ or '').split())}")


def main(argv: list[str]) -> int:
    """The command line: always one JSON object."""
    os.umask(UMASK)
    try:
        answer = run(Store(IMAGES, DEV), argv)
    except Exception as error:
        words = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
        sys.stdout.write(json.dumps({"error": words}) + "\n")
        return 1
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
