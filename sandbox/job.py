"""What goes into a sandbox and what comes out of it: frozen values, JSON in and out.

Every class here survives ``model_validate_json(model_dump_json())`` unchanged, so that the face of this package
(``sandbox.Sandbox``) can be served by another process. Pure: no clock, no environment, no I/O.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, field_validator

# 131,071 bytes is the kernel's limit for one argument (MAX_ARG_STRLEN less the NUL). Prompts travel by file, but a
# prompt that no command line could carry would be one that nobody can reproduce by hand.
MAX_PROMPT_BYTES = 131_071

# Files that come along with a prompt: enough for a bug report's screenshots, and small beside a bundle in one request.
MAX_ATTACHMENTS = 10
MAX_ATTACHMENT_BYTES = 8 * 2**20
MAX_ATTACHMENTS_BYTES = 24 * 2**20

AgentName = Literal["claude", "codex", "opencode", "pi"]

# A DNS label: it is also a legal Docker object name, host name and file name.
NAME_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
SandboxName = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]


class Frozen(BaseModel):
    """Immutable and strict about names: an unknown key is an error, bytes travel as base64."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Source(Frozen):
    """Where the repository comes from: an https URL on a configured git host, or a bundle made by ``gofer run``."""

    url: str
    """``https://HOST/OWNER/REPO``; for a bundle, a label that is only shown."""
    ref: str | None = None
    """Branch or tag; the default branch when neither ``ref`` nor ``commit`` is given."""
    commit: str | None = None
    """Full commit id; wins over ``ref``."""
    bundle: bytes | None = None
    """A git bundle whose HEAD is the base commit. Nothing is fetched over the network then."""
    patch: bytes | None = None
    """Applied to the work tree before the agent starts: it goes on from an earlier result; the base stays the same."""
    instructions: str | None = None
    """Full commit id whose instruction files (CLAUDE.md, AGENTS.md and the like) the agent reads instead of those of
    the checkout, whose author is not trusted."""


class Budget(Frozen):
    """What a caller may lower for one task. None: as the operator has it."""

    wall_seconds: int | None = Field(default=None, gt=0)
    model_requests: int | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    egress_bytes: int | None = Field(default=None, gt=0)


class Limits(Frozen):
    """Ceilings of one task. Every one is enforced outside the agent's reach."""

    wall_seconds: int = Field(default=1800, gt=0, description="from the agent's start to our kill")
    fetch_seconds: int = Field(default=300, gt=0, description="for the whole fetch of the repository")
    memory_bytes: int = Field(default=4 * 2**30, ge=64 * 2**20, description="memory; swap is set equal, so none")
    cpus: float = Field(default=2.0, gt=0)
    pids: int = Field(default=512, gt=0)
    workspace_bytes: int = Field(default=4 * 2**30, ge=16 * 2**20, description="hard cap of the file system")
    workspace_inodes: int = Field(default=400_000, ge=1_000, description="hard cap of the file system")
    patch_bytes: int = Field(default=16 * 2**20, gt=0, description="a larger patch is refused in words")
    patch_files: int = Field(default=5_000, gt=0, description="more changed files are refused in words")
    content_bytes: int = Field(
        default=32 * 2**20, ge=0, description="what changed files hold, handed over beside the patch; more stays out"
    )
    model_requests: int = Field(default=1_000, gt=0, description="questions to the model; the next one ends the task")
    tokens: int = Field(default=50_000_000, gt=0, description="input (cached ones too) and output, as the wire says")
    cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="None: no bound of its own")
    egress_bytes: int = Field(default=4 * 2**30, gt=0, description="to and from every destination, both directions")

    def lowered(self, budget: Budget) -> Limits:
        """These limits with the caller's lower ones in their place. Raises ``ValueError`` for one that is higher."""
        given = budget.model_dump(exclude_none=True)
        for name, value in given.items():
            ceiling = getattr(self, name)
            if ceiling is not None and value > ceiling:
                raise ValueError(f"{name} may be {ceiling} at most; {value} was asked for")
        return self.model_copy(update=given)


DestinationName = Annotated[str, StringConstraints(min_length=1, max_length=500)]
# An operator's list is a page at most.
MAX_DESTINATIONS = 200


class Setup(Frozen):
    """Commands that make a repository's dependencies ready before the agent starts, each a line for ``bash -e``."""

    commands: tuple[str, ...] = ()
    lockfiles: tuple[str, ...] = ()
    """Paths of files and folders in the repository (``*``, ``**`` and ``?`` match) whose contents decide whether what
    was made before still fits. They are all that the commands see of it, so that nothing else can decide."""
    seconds: int = Field(default=600, gt=0, description="for all commands together")


class Attachment(Frozen):
    """A file that the agent may read beside the repository, as ``/inputs/attachments/NAME``. The name is ours."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,40}\.[a-z0-9]{1,8}$")]
    data: bytes = Field(max_length=MAX_ATTACHMENT_BYTES)


class Job(Frozen):
    """One task for one agent. The prompt is data: it reaches the agent by file, never by argv or shell."""

    name: SandboxName
    agent: AgentName = "claude"
    model: str | None = None
    """One of the operator's list for this agent; its default when None."""
    prompt: str = Field(min_length=1)
    source: Source | None
    """None: the task works on what the sandbox holds already (an earlier fetch, task or copy)."""
    limits: Limits = Limits()
    setup: Setup | None = None
    """Instead of the operator's own for this repository."""
    destinations: tuple[DestinationName, ...] | None = Field(default=None, max_length=MAX_DESTINATIONS)
    """Of what the operator allows, these alone, as his list writes them: presets and ``HOST[:PORT]``. None: all of it.
    What he does not allow is not allowed by being named."""
    attachments: tuple[Attachment, ...] = Field(default=(), max_length=MAX_ATTACHMENTS)
    """Their content is untrusted. ``prompt`` has to name them: nothing else tells the agent that they are there."""

    @field_validator("attachments")
    @classmethod
    def _bounded(cls, given: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
        if len({one.name for one in given}) != len(given):
            raise ValueError("two attachments have one name")
        if sum(len(one.data) for one in given) > MAX_ATTACHMENTS_BYTES:
            raise ValueError(f"the attachments are larger than {MAX_ATTACHMENTS_BYTES} bytes together")
        return given


class Secrets(Frozen):
    """Given to ``prepare`` beside the job and never stored: a retry gives them anew."""

    fetch_token: SecretStr | None = None
    """Read-only token for the one repository; None for a public one."""


class Handle(Frozen):
    """Finds a sandbox again after any restart. Derived from the task's id, so it can be stored before it exists."""

    name: SandboxName


class Phase(StrEnum):
    """Where a sandbox is in its life. ``EXITED`` covers every end: ``outcome`` tells which."""

    ABSENT = "absent"
    PREPARING = "preparing"
    READY = "ready"
    RUNNING = "running"
    EXITED = "exited"


class Progress(Frozen):
    """The agent's own words on what it does now: untrusted, for display through an inert renderer only."""

    last_tool: str = ""
    last_file: str = ""
    last_words: str = ""


class Usage(Frozen):
    """What was used. None is unknown, never zero."""

    turns: int | None = None
    input_tokens: int | None = None
    """Without cached ones."""
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    cost_is_estimate: bool = False
    """True where the figure comes from the price table and not from the agent's CLI."""
    session_id: str | None = None


class Status(Frozen):
    """A look at a sandbox. ``elapsed_seconds`` counts from the agent's start."""

    phase: Phase
    elapsed_seconds: float = 0.0
    progress: Progress = Progress()
    model_requests: int = 0
    """Questions to the model so far, as the egress counts them."""
    metered: Usage = Usage()
    """Tokens so far, as the egress reads them from the wire."""


class State(StrEnum):
    """The verdict on a task (runner.md, "Task states")."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"


class Reason(StrEnum):
    """Why, in one word for code; ``Outcome.error`` says it in words."""

    OK = "ok"
    UNCHANGED = "unchanged"
    """Succeeded with a reply, and the work tree is as it was."""
    NO_REPLY = "no_reply"
    """The agent ended without a word: succeeded where it changed something, failed where it did not."""
    REFUSED = "refused"
    """The model refused the request by the provider's own signal."""
    CANCELLED = "cancelled"
    DEADLINE = "deadline"
    LOST = "lost"
    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    EXIT = "exit"
    """Non-zero exit without an error that the agent's reader understood."""
    AGENT_ERROR = "agent_error"
    """The agent's stream reported an error, or never reached its final event."""
    NO_MODEL_ANSWER = "no_model_answer"
    """Exit 0 and a final event, but the egress saw no complete 2xx answer of the model."""
    EGRESS_LOST = "egress_lost"
    FETCH_FAILED = "fetch_failed"
    BUDGET = "budget"
    """A limit on requests, tokens, cost or bytes was reached; ``Outcome.error`` says which."""
    LOOP = "loop"
    """The same question was put to the model again and again."""


class ChangedFile(Frozen):
    """One entry of the patch. ``path`` is for display: bytes that are no UTF-8 are escaped as ``\\xNN``."""

    path: str
    status: Literal["added", "modified", "deleted"]
    old_mode: str = ""
    new_mode: str = ""
    """``100644``, ``100755`` or ``120000``; empty where the file is not."""
    binary: bool = False
    added: int = 0
    removed: int = 0
    """Lines; 0 for binary files."""
    raw_path: bytes = b""
    """The path's own bytes."""
    content: bytes | None = None
    """What the file holds now, as Git stores it (the target, for a link); None for a deleted one, and where it was too
    much to take: one of more than 10 MiB, or all together beyond ``Limits.content_bytes``."""


class Changes(Frozen):
    """What the extractor found: the patch against the recorded base commit, and what it left out.

    ``refusal`` is set (and ``patch`` is None) where the work tree could not be turned into a patch that gives the
    same tree again; it says why in one sentence.
    """

    base_commit: str
    patch: bytes | None
    refusal: str = ""
    files: tuple[ChangedFile, ...] = ()
    ignored_count: int = 0
    ignored_examples: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences a reviewer should read: nested repository taken as files, manifest and git disagree, and so on."""


class Blocked(Frozen):
    """A destination that the agent asked for and did not get."""

    host: str
    count: int


class Fetched(Frozen):
    """What came into a workspace. ``words`` are git's own, free of credentials."""

    base_commit: str
    branch: str = ""
    words: str = ""


class Snapshot(Frozen):
    """A saved workspace. ``size``: bytes that it takes on the operator's disk."""

    id: str
    size: int


class Outcome(Frozen):
    """Everything known about an ended task. Stored whole before anything is posted."""

    state: State
    reason: Reason
    error: str = ""
    """In words, for the user; empty when succeeded. May quote the agent: untrusted."""
    reply: str = ""
    """The agent's final words: untrusted."""
    exit_code: int | None = None
    usage: Usage = Usage()
    """What the agent's CLI said."""
    metered: Usage = Usage()
    """What the egress read from the wire; where the two differ, ``notes`` says so."""
    changes: Changes | None = None
    """None: unknown, because nothing could be read back; ``notes`` says why."""
    blocked: tuple[Blocked, ...] = ()
    model_requests: int = 0
    """Complete 2xx answers of the model that the egress saw."""
    duration_seconds: float = 0.0
    notes: tuple[str, ...] = ()
