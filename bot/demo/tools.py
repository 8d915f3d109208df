"""Which of the tools that a request offers the scripted model uses: every CLI names its own. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from bot.demo.asked import Tool
from bot.demo.say import Call

# Claude Code; OpenCode and Pi. Their argument for the file differs.
_WRITERS = ("Write", "write")
_READERS = ("Read", "read")
_FILE_KEYS = ("file_path", "filePath", "path")
# Claude Code; OpenCode and Pi.
_SHELLS = ("Bash", "bash")


def write(tools: Iterable[Tool], path: str, content: str) -> Call:
    """A call that makes this file: by a tool for files, else by a patch, else through the shell."""
    offered = {tool.name: tool for tool in tools}
    for name in _WRITERS:
        if name in offered:
            key = next((key for key in _FILE_KEYS if key in offered[name].keys), _FILE_KEYS[0])
            return Call(name, {key: path, "content": content})
    patch = offered.get("apply_patch")
    if patch is None:
        return shell(offered.values(), f"printf %s {shlex.quote(content)} > {shlex.quote(path)}")
    text = _patch(PurePosixPath(path).name, content)
    if patch.custom:
        return Call("apply_patch", {}, text)
    return Call("apply_patch", {"patchText" if "patchText" in patch.keys else "input": text})


def read(tools: Iterable[Tool], path: str) -> Call:
    """A call that reads this file: by a tool for files, else through the shell."""
    offered = {tool.name: tool for tool in tools}
    for name in _READERS:
        if name in offered:
            key = next((key for key in _FILE_KEYS if key in offered[name].keys), _FILE_KEYS[0])
            return Call(name, {key: path})
    return shell(offered.values(), f"cat {shlex.quote(path)}")


def shell(tools: Iterable[Tool], command: str) -> Call:
    """A call that runs this command; of Claude Code's tool where none on offer is known."""
    offered = {tool.name: tool for tool in tools}
    for name in _SHELLS:
        if name in offered:
            return Call(name, {"command": command, **_described(offered[name])})
    return _codex_shell(offered, command) or Call("Bash", {"command": command, "description": "Run it"})


def _described(tool: Tool) -> Mapping[str, str]:
    """Claude Code and OpenCode want a word on it, Pi knows no such argument."""
    return {"description": "Run it"} if not tool.keys or "description" in tool.keys else {}


def _codex_shell(offered: Mapping[str, Tool], command: str) -> Call | None:
    """Codex has had several; with its newest models one cell of JavaScript calls all tools."""
    if "exec_command" in offered:
        return Call("exec_command", {"cmd": command})
    if "shell_command" in offered:
        return Call("shell_command", {"command": command})
    if "shell" in offered:
        return Call("shell", {"command": ["bash", "-c", command]})
    if "exec" in offered and offered["exec"].custom:
        return Call("exec", {}, f"text(await tools.exec_command({json.dumps({'cmd': command})}));")
    return None


def _patch(name: str, content: str) -> str:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return f"*** Begin Patch\n*** Add File: {name}\n{lines}*** End Patch"
