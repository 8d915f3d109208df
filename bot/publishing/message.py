"""The words of a commit and of a pull request: templates with our own numbers; the agent's text only inert. Pure."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from bot import inert
from bot.inert import Untrusted
from bot.protected import run_by_ci
from bot.result_comment import marker
from bot.tasks import Actor, Request
from sandbox import Outcome

# GitHub's own bound for a title is 256; a title is read in lists.
MAX_TITLE_CHARS = 100
# Units for the agent's summary in a pull request's description.
SUMMARY_ROOM = 12_000
# Files named as run by CI; the rest is counted.
MAX_NAMES = 15
NAME_ROOM = 160

_SAFE = re.compile(r"[^\w ,.'()+-]", re.UNICODE)


def title(request: Request, thread_title: str) -> str:
    """Of the thread, in an alphabet that workflows and shells may interpolate, and no agent's text."""
    plain = " ".join(_SAFE.sub(" ", thread_title).split())
    made = f"{plain[:MAX_TITLE_CHARS].rstrip()} (#{request.thread})" if plain else f"Work on #{request.thread}"
    return made.lstrip("-.'+, ")


def commit_message(request: Request, thread_title: str, task_id: str, github_url: str) -> str:
    """First line, what it is for, and who asked: with the address that GitHub knows him by, whatever he hides."""
    lines = [title(request, thread_title), "", f"Task {task_id}, asked for on #{request.thread}."]
    return "\n".join([*lines, "", f"Co-authored-by: {co_author(request.sender, github_url)}"])


def co_author(who: Actor, github_url: str) -> str:
    host = urlsplit(github_url).hostname or "github.com"
    return f"{who.login} <{who.id}+{who.login}@users.noreply.{host}>"


def body(request: Request, outcome: Outcome, task_id: str, *, base: str, note: str = "") -> str:
    """The description: where it comes from, the agent's summary, what a reviewer should know, the marker."""
    parts = [_origin(request, base), *([note] if note else [])]
    if outcome.reply.strip():
        block = inert.quote(Untrusted(outcome.reply), SUMMARY_ROOM)
        parts += ["The agent's own words" + (", cut:" if block.cut else ":"), block.text]
    files = outcome.changes.files if outcome.changes else ()
    if run := run_by_ci(files):
        named = ", ".join(inert.inline(Untrusted(path), NAME_ROOM) for path in run[:MAX_NAMES])
        more = f" and {len(run) - MAX_NAMES:,} more" if len(run) > MAX_NAMES else ""
        parts.append(f"⚠️ CI will execute changed files: {named}{more}. Look at them before you let it run.")
    parts.append(f"An agent in a sandbox made this; a person has to review it. Task `{task_id}`.")
    return "\n\n".join([*parts, marker(task_id, "pull")])


def _origin(request: Request, base: str) -> str:
    """The closing word once, and only where merging really settles an issue of this repository."""
    asked = f"Asked for by {_profile(request.sender)} on #{request.thread}."
    closes = not request.is_pull_request and base == request.repository.default_branch
    return f"Closes #{request.thread}\n\n{asked}" if closes else asked


def _profile(who: Actor) -> str:
    """His name without calling him: he knows already."""
    return f"`{who.login}`"
