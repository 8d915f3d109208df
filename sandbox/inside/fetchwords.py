"""From git's own words to a sentence for the user (pure). The words themselves are kept beside it."""

from __future__ import annotations

_SENTENCES: tuple[tuple[str, str], ...] = (
    ("No space left on device", "the repository does not fit into the workspace"),
    ("Remote branch", "the repository has no branch or tag of the name {ref}"),
    ("couldn't find remote ref", "the repository has no branch or tag of the name {ref}"),
    ("not our ref", "the git host does not serve the commit {commit}"),
    ("unadvertised object", "the git host does not serve the commit {commit}"),
    ("remote error: upload-pack: not our ref", "the git host does not serve the commit {commit}"),
    ("terminal prompts disabled", "the git host asks for a password: the token cannot read this repository"),
    ("Authentication failed", "the git host asks for a password: the token cannot read this repository"),
    ("returned error: 403", "the git host refused the fetch"),
    ("returned error: 404", "the git host knows no such repository, or the token cannot read it"),
    ("not found", "the git host knows no such repository, or the token cannot read it"),
    ("returned error: 5", "the git host answered with an error; it may pass"),
    ("update url base from redirection", "the repository has moved"),
    ("unable to update url base", "the repository has moved"),
    ("Could not resolve host", "the git host cannot be reached"),
    ("Failed to connect", "the git host cannot be reached"),
    ("early EOF", "the connection to the git host broke"),
    ("RPC failed", "the connection to the git host broke"),
    ("unexpected disconnect", "the connection to the git host broke"),
)


def sentence(words: str, ref: str | None, commit: str | None) -> str:
    """The reason in one sentence; without a known one, git's last line."""
    for sign, text in _SENTENCES:
        if sign in words:
            return text.format(ref=ref, commit=commit)
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return f"git could not fetch the repository: {lines[-1] if lines else 'no reason given'}"
