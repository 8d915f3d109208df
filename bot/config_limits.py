"""The limits of one task, each a setting. Reads no environment."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from bot.config_base import Places
from sandbox import Limits

_limits = Limits()


class LimitSettings(Places):
    """One field for each field of ``sandbox.Limits``."""

    wall_seconds: int = Field(
        default=_limits.wall_seconds, gt=0, description="a task's agent is stopped after this; its work is shown"
    )
    fetch_seconds: int = Field(
        default=_limits.fetch_seconds, gt=0, description="fetching the repository may take this long"
    )
    memory_bytes: int = Field(default=_limits.memory_bytes, ge=64 * 2**20, description="memory of one agent")
    cpus: float = Field(default=_limits.cpus, gt=0, description="CPUs of one agent")
    pids: int = Field(default=_limits.pids, gt=0, description="processes and threads of one agent")
    workspace_bytes: int = Field(
        default=_limits.workspace_bytes, ge=16 * 2**20, description="disk of one task, a hard cap"
    )
    workspace_inodes: int = Field(
        default=_limits.workspace_inodes, ge=1000, description="files of one task, a hard cap"
    )
    patch_bytes: int = Field(default=_limits.patch_bytes, gt=0, description="a larger patch is refused, in words")
    patch_files: int = Field(default=_limits.patch_files, gt=0, description="more changed files are refused")
    content_bytes: int = Field(
        default=_limits.content_bytes,
        ge=0,
        description="bytes that changed files are handed over with, beside the patch; larger ones come in it alone",
    )
    model_requests: int = Field(
        default=_limits.model_requests, gt=0, description="questions to the model in one task; the next one ends it"
    )
    tokens: int = Field(
        default=_limits.tokens, gt=0, description="tokens of one task, input (cached ones too) and output"
    )
    cost_usd: Annotated[float | None, BeforeValidator(lambda value: value or None)] = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="what one task may cost, in US dollars, by the price table; no bound if empty",
    )
    egress_bytes: int = Field(
        default=_limits.egress_bytes, gt=0, description="bytes of one task to and from the outside, both directions"
    )

    @property
    def limits(self) -> Limits:
        """What was given; the rest is the default, or a runner's own where the sandbox is elsewhere."""
        given = {name: getattr(self, name) for name in Limits.model_fields if name in self.model_fields_set}
        return Limits(**given)
