"""What every agent CLI must offer, and nothing about any one of them.

An agent is a program in the sandbox. Four things differ from one CLI to the next: its command line, its environment,
what a prompt must look like to reach the model as it was written, and how its output is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sandbox.job import Progress, Usage
from sandbox.settings import AgentSettings, Api

MODEL_PORT = 9001
"""Where the model is offered inside the sandbox, on 127.0.0.1 (images/base/entry). Anthropic's API is at
``/v1/messages`` there, OpenAI's at ``/v1/responses`` and ``/v1/chat/completions``, whatever the gateway's own paths."""
PROXY_PORT = 9080
"""Where the general proxy is."""
GIVEN = "/inputs/instructions"
"""Where the copies are under their own names, read-only, so that what one of them imports is another of them."""


@dataclass(frozen=True)
class Run:
    """What the operator decides about one run of an agent. Nothing in it comes from a user."""

    model: str
    api: Api = "anthropic-messages"
    """One that both the agent and its gateway speak."""
    oauth: bool = False
    """The gateway's credential is an OAuth token (a Claude subscription's)."""
    settings: AgentSettings = field(default_factory=AgentSettings)
    instructions: bool = False
    """The repository's own instruction files are not to be read: copies are given (``Agent.instructions``)."""


class Reader(Protocol):
    """Reads one run's standard output. Pure: bytes in, values out; never raises, whatever the bytes are.

    The output is the agent's own and may be forged by anything in its container, so it can lower a verdict and never
    raise it: an ``error`` once seen stays. Memory is bounded whatever the length of the stream or of its lines.
    """

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes, cut anywhere. Everything below is up to date afterwards; not after ``finish``."""
        ...

    def finish(self) -> None:
        """No more bytes will come: a last line without its newline counts. Safe to call twice."""
        ...

    @property
    def final(self) -> bool:
        """Whether the agent's final event was seen, well-formed, and no work after it."""
        ...

    @property
    def error(self) -> str:
        """What went wrong, in words for the user (they may quote the agent); empty where nothing was reported."""
        ...

    @property
    def refused(self) -> bool:
        """Whether the model refused by the provider's own signal (a refusal in plain words is a reply)."""
        ...

    @property
    def reply(self) -> str:
        """The agent's final words, bounded; may be empty after a success."""
        ...

    @property
    def usage(self) -> Usage:
        """What the final event said was used; all None before it."""
        ...

    @property
    def progress(self) -> Progress:
        """The latest tool, file and words, each bounded."""
        ...

    @property
    def bad_lines(self) -> int:
        """Lines that were skipped: too long, no JSON, or not shaped as their type demands."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that belong in the outcome whatever the verdict: no reply, retries, unreadable lines."""
        ...


class Agent(Protocol):
    """One agent CLI. Stateless: the same instance serves every task."""

    @property
    def name(self) -> str:
        """As in ``Job.agent``."""
        ...

    @property
    def image(self) -> str:
        """The image holding the CLI, without the prefix: ``claude`` for ``PREFIX/claude``."""
        ...

    @property
    def apis(self) -> tuple[Api, ...]:
        """What the CLI can speak with a model, the one to prefer first."""
        ...

    @property
    def default_model(self) -> str:
        """Where the operator names none."""
        ...

    def command(self, run: Run) -> list[str]:
        """The agent's argv: constants and the operator's model name; no text of a user ever.

        Raises ``ValueError`` for a model name that could be anything but one.
        """
        ...

    def environment(self, run: Run) -> dict[str, str]:
        """The container's environment beside PATH, HOME and LANG. It holds placeholders where a key would be:
        everything in the sandbox can read it."""
        ...

    def home(self, run: Run) -> Mapping[str, bytes]:
        """Files that the entry puts into HOME before the CLI starts, by relative path; no secret is in them."""
        ...

    def instructions(self, given: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """As ``home``, where ``Run.instructions`` is set: what makes the CLI read these copies, and none where there
        are none. By their paths in the repository; the same are below ``GIVEN``."""
        ...

    def prompt(self, text: str) -> bytes:
        """The bytes that the CLI must find on its standard input so that the model reads ``text``."""
        ...

    def reader(self) -> Reader:
        """A fresh reader for one run."""
        ...
