"""Is the container that the engine made the one that was planned? Pure.

Engines accept options silently and ignore them (an old one ignores a network option, one without AppArmor its
profile), so what was asked for proves nothing: what `inspect` answers is compared, and anything that was not planned
must be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.engine import Plan

# Set by every engine for an unprivileged container; a missing one would show kernel memory or keys.
MASKED = frozenset({"/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"})
READ_ONLY = frozenset({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"})

# Answered by engines for every container, whatever was asked; these values mean "nothing".
HARMLESS: Mapping[str, tuple[Any, ...]] = {"ConsoleSize": ([0, 0],), "Isolation": ("default",)}


def differences(plan: Plan, seen: Mapping[str, Any]) -> list[str]:
    """What in the engine's `inspect` answer is not as planned, one phrase each; empty: all as planned."""
    config, host = seen.get("Config") or {}, seen.get("HostConfig") or {}
    planned_host = plan.settings["HostConfig"]
    return [
        *_image(plan, seen),
        *_same(
            "Config", {k: v for k, v in plan.settings.items() if k not in {"HostConfig", "Image", "Labels"}}, config
        ),
        *_labels(plan.settings["Labels"], config.get("Labels") or {}),
        *_same("HostConfig", planned_host, host),
        *_unplanned(planned_host, host),
        *_paths(host),
        *_mounts(planned_host, seen.get("Mounts") or []),
    ]


def _image(plan: Plan, seen: Mapping[str, Any]) -> Iterator[str]:
    if seen.get("Image") != plan.settings["Image"]:
        yield f"Image: {seen.get('Image')}"


def _same(part: str, planned: Mapping[str, Any], seen: Mapping[str, Any]) -> Iterator[str]:
    for key, value in planned.items():
        if _normal(key, seen.get(key)) != _normal(key, value):
            yield f"{part}.{key}: {_short(seen.get(key))} instead of {_short(value)}"


def _labels(planned: Mapping[str, str], seen: Mapping[str, str]) -> Iterator[str]:
    # an image's own labels are added to the container's
    for key, value in planned.items():
        if seen.get(key) != value:
            yield f"label {key}: {seen.get(key)!r}"


def _unplanned(planned: Mapping[str, Any], seen: Mapping[str, Any]) -> Iterator[str]:
    for key, value in seen.items():
        if key in planned or key in {"MaskedPaths", "ReadonlyPaths"} or value in HARMLESS.get(key, ()):
            continue
        if _normal(key, value):
            yield f"HostConfig.{key}: {_short(value)}, which was not planned"


def _paths(host: Mapping[str, Any]) -> Iterator[str]:
    for key, needed in (("MaskedPaths", MASKED), ("ReadonlyPaths", READ_ONLY)):
        if missing := needed - set(host.get(key) or ()):
            yield f"HostConfig.{key} lacks {', '.join(sorted(missing))}"


def _mounts(host: Mapping[str, Any], seen: list[Mapping[str, Any]]) -> Iterator[str]:
    """Volumes that an image declares appear here and nowhere else."""
    planned = {(m["Type"], m["Source"], m["Target"], not m["ReadOnly"]) for m in host["Mounts"]}
    for mount in seen:
        source = mount.get("Name") if mount.get("Type") == "volume" else mount.get("Source")
        if (mount.get("Type"), source, mount.get("Destination"), mount.get("RW")) not in planned:
            yield f"mount {mount.get('Destination')} of {source} was not planned so"


def _normal(key: str, value: Any) -> Any:
    """Engines say nothing as null, [], {}, "", 0 or false, and capabilities with or without CAP_."""
    if key in {"CapAdd", "CapDrop"}:
        return sorted(str(name).removeprefix("CAP_") for name in value or ())
    if isinstance(value, Mapping):
        return {k: kept for k, v in value.items() if (kept := _normal("", v))} or None
    if isinstance(value, list | tuple):
        return [_normal("", item) for item in value] or None
    return value or None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}…"  # a seccomp profile is seven thousand characters
