"""What a Docker engine answers, as ``sandbox.engine`` says it. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sandbox.engine import LABEL_ROLE, LABEL_SANDBOX, Image, Item, Look, Refused


def look_from(state: Mapping[str, Any]) -> Look:
    """An `inspect` answer's ``State`` as a ``Look``."""
    started_at = moment(state["StartedAt"])
    running = bool(state["Running"])
    ended = started_at is not None and not running
    return Look(
        running=running,
        started=started_at is not None,
        exit_code=int(state["ExitCode"]) if ended else None,
        oom=bool(state.get("OOMKilled")),
        started_at=started_at,
        finished_at=moment(state["FinishedAt"]) if ended else None,
        paused=running and bool(state.get("Paused")),
    )


def image_from(answer: Mapping[str, Any]) -> Image:
    """An `inspect` answer about an image. Engines leave out, or give as null, what there is none of."""
    config = answer.get("Config") or {}
    check = (config.get("Healthcheck") or {}).get("Test") or ["NONE"]
    return Image(
        id=str(answer["Id"]),
        layers=tuple(map(str, answer["RootFS"]["Layers"])),
        environment=tuple(sorted(map(str, config.get("Env") or ()))),
        volumes=tuple(sorted(map(str, config.get("Volumes") or ()))),
        healthcheck=check[0] != "NONE",
        labels=tuple(sorted((str(name), str(value)) for name, value in (config.get("Labels") or {}).items())),
    )


def moment(text: str) -> float | None:
    """An engine's RFC 3339 time, with up to nine decimals, as seconds since 1970; None for its zero (year 1)."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)", text)
    if match is None:
        raise Refused(f"the engine's time {text!r} cannot be read")
    whole, decimals, zone = match.groups()
    when = datetime.fromisoformat(whole + ("+00:00" if zone == "Z" else zone)).astimezone(UTC)
    return None if when.year <= 1 else when.timestamp() + float(decimals or 0)


def gateway_of(network: Mapping[str, Any]) -> str:
    """The engine's machine on a bridge, from its `inspect` answer. An engine that was given no address of its own for
    the bridge takes the first of the subnet and does not say so."""
    config = network["IPAM"]["Config"][0]
    return str(config.get("Gateway") or ipaddress.ip_network(config["Subnet"])[1])


def item_from(name: str, labels: Mapping[str, str] | None) -> Item:
    """A labelled object of a list; labels that are missing are empty words."""
    labels = labels or {}
    return Item(name, labels.get(LABEL_SANDBOX, ""), labels.get(LABEL_ROLE, ""))
