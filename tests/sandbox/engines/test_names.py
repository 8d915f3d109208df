"""Names and labels: found again by them, and nobody else's."""

from __future__ import annotations

from sandbox.engine import LABEL_INSTANCE, LABEL_ROLE, LABEL_SANDBOX
from sandbox.engines.names import Names, images_volume, inputs_volume, labels, loop_volume, network, socket_volume

NAMES = Names("prod", "t-1")


def test_a_name_holds_instance_sandbox_and_role() -> None:
    assert NAMES.of("agent") == "gofer-prod-t-1-agent"
    assert NAMES.network == network("prod") == "gofer-prod"


def test_what_belongs_to_the_instance_has_no_label_of_a_sandbox() -> None:
    """Or it would go when that sandbox is removed."""
    assert labels("prod", "", "images") == {LABEL_INSTANCE: "prod", LABEL_ROLE: "images"}
    assert LABEL_SANDBOX not in images_volume("prod").labels


def test_every_volume_of_a_sandbox_is_labelled_as_its_own() -> None:
    volumes = [socket_volume(NAMES, "sock-agent"), loop_volume(NAMES, "ws", "/dev/loop7"), inputs_volume(NAMES)]
    assert [volume.name for volume in volumes] == [NAMES.of(role) for role in ("sock-agent", "ws", "inputs")]
    assert all(volume.labels[LABEL_SANDBOX] == "t-1" for volume in volumes)


def test_only_the_egress_may_write_where_the_sockets_are_and_no_volume_has_devices() -> None:
    options = socket_volume(NAMES, "sock-agent").options["o"].split(",")
    assert {"uid=65533", "gid=65533", "mode=0755", "nosuid", "nodev", "noexec"} <= set(options)
    assert {"nosuid", "nodev"} <= set(loop_volume(NAMES, "ws", "/dev/loop7").options["o"].split(","))
