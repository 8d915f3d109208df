"""Every name, label and volume that a sandbox has on the engine. Pure.

Names come from our ids only: never from repository, branch or user names.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sandbox.engine import LABEL_INSTANCE, LABEL_ROLE, LABEL_SANDBOX, Volume

MIB = 2**20
AGENT_UID = 65532
EGRESS_UID = 65533
LOCK_GID = 65540
"""Of those who may take a mirror's lock: the fetch helper, and no agent, though both have the same uid."""
TASK_VOLUMES = ("inputs", "setup", "deps", "sock-agent", "sock-fetch", "sock-setup")
"""Made for one task, and removed before the next."""
VOLUME_ROLES = ("ws", "clean", *TASK_VOLUMES)
HASH_DIGITS = 20
SOCKET_VOLUME_BYTES = MIB  # three socket files; a tmpfs needs some size, this is the smallest round one


@dataclass(frozen=True)
class Names:
    """Finds everything of one sandbox by name."""

    instance: str
    sandbox: str

    def of(self, role: str) -> str:
        return f"gofer-{self.instance}-{self.sandbox}-{role}"

    @property
    def network(self) -> str:
        return network(self.instance)

    def labels(self, role: str) -> dict[str, str]:
        return labels(self.instance, self.sandbox, role)


def network(instance: str) -> str:
    return f"gofer-{instance}"


def labels(instance: str, sandbox: str, role: str) -> dict[str, str]:
    """``sandbox`` is empty for what belongs to the instance itself: it then has no such label."""
    whose = {LABEL_SANDBOX: sandbox} if sandbox else {}
    return {LABEL_INSTANCE: instance, **whose, LABEL_ROLE: role}


def images_volume(instance: str, folder: str = "") -> Volume:
    """Holds the loop image files of every sandbox of the instance; only the store helper mounts it. ``folder``: the
    Docker host's folder that it is; empty: a folder of the engine's own."""
    options = {"type": "none", "o": "bind", "device": folder} if folder else {}
    return Volume(f"gofer-{instance}-images", labels(instance, "", "images"), options)


def socket_volume(names: Names, role: str) -> Volume:
    """``sock-agent``, ``sock-fetch`` or ``sock-setup``: a small tmpfs that only the egress may write to."""
    how = f"size={SOCKET_VOLUME_BYTES},uid={EGRESS_UID},gid={EGRESS_UID},mode=0755,nosuid,nodev,noexec"
    return Volume(names.of(role), names.labels(role), {"type": "tmpfs", "device": "tmpfs", "o": how})


def loop_volume(names: Names, role: str, device: str) -> Volume:
    """``ws`` or ``clean``: the ext4 file system on a loop device, capped in bytes and inodes by its size."""
    return Volume(names.of(role), names.labels(role), {"type": "ext4", "device": device, "o": "nosuid,nodev"})


def inputs_volume(names: Names) -> Volume:
    return Volume(names.of("inputs"), names.labels("inputs"))


def setup_volume(names: Names) -> Volume:
    """The commands of a setup phase and the files that decide about them."""
    return Volume(names.of("setup"), names.labels("setup"))


def mirror_volume(instance: str, base_url: str, repository: str) -> Volume:
    """The bare mirror of one repository, for every task on it; writable in the fetch helper alone.

    ``repository``: OWNER/REPO on the git host at ``base_url``; hosts take no notice of its case.
    """
    digest = _digest(f"{base_url}\n{repository.lower()}")
    return Volume(f"gofer-{instance}-mirror-{digest}", labels(instance, "", "mirror"))


def deps_volume(instance: str, key: str, device: str) -> Volume:
    """Dependencies that a setup phase left, whole: an ext4 file system that is never written to again."""
    how = {"type": "ext4", "device": device, "o": "ro,nosuid,nodev"}
    return Volume(f"gofer-{instance}-deps-{key}", labels(instance, "", "deps"), how)


def draft_volume(names: Names, device: str) -> Volume:
    """As ``deps_volume``, while a setup phase fills it: this sandbox's alone."""
    how = {"type": "ext4", "device": device, "o": "nosuid,nodev"}
    return Volume(names.of("deps"), names.labels("deps"), how)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]
