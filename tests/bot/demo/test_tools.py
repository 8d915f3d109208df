from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bot.demo import tools
from bot.demo.asked import Tool
from bot.demo.say import Call

CLAUDE = (Tool("Bash", frozenset({"command", "description"})), Tool("Write", frozenset({"file_path", "content"})))
OPENCODE = (Tool("bash", frozenset({"command", "description"})), Tool("write", frozenset({"filePath", "content"})))
OPENCODE_GPT = (Tool("bash", frozenset({"command"})), Tool("apply_patch", frozenset({"patchText"})))
PI = (Tool("bash", frozenset({"command", "timeout"})), Tool("write", frozenset({"path", "content"})))
CODEX = (Tool("exec_command", frozenset({"cmd"})), Tool("apply_patch", custom=True))
CODE_MODE = (Tool("exec", custom=True),)
PATCH = "*** Begin Patch\n*** Add File: N.md\n+a\n+\n+b\n*** End Patch"


@pytest.mark.parametrize(
    ("offered", "call"),
    [
        (CLAUDE, Call("Write", {"file_path": "/r/N.md", "content": "a\n\nb\n"})),
        (OPENCODE, Call("write", {"filePath": "/r/N.md", "content": "a\n\nb\n"})),
        (PI, Call("write", {"path": "/r/N.md", "content": "a\n\nb\n"})),
        (OPENCODE_GPT, Call("apply_patch", {"patchText": PATCH})),
        ((Tool("apply_patch"),), Call("apply_patch", {"input": PATCH})),
        (CODEX, Call("apply_patch", {}, PATCH)),
    ],
)
def test_a_file_is_written_with_what_is_offered(offered: tuple[Tool, ...], call: Call) -> None:
    assert tools.write(offered, "/r/N.md", "a\n\nb\n") == call


@pytest.mark.parametrize(
    ("offered", "call"),
    [
        (CLAUDE, Call("Bash", {"command": "true", "description": "Run it"})),
        (OPENCODE, Call("bash", {"command": "true", "description": "Run it"})),
        (PI, Call("bash", {"command": "true"})),
        (CODEX, Call("exec_command", {"cmd": "true"})),
        ((Tool("shell_command"),), Call("shell_command", {"command": "true"})),
        ((Tool("shell"),), Call("shell", {"command": ["bash", "-c", "true"]})),
        (CODE_MODE, Call("exec", {}, 'text(await tools.exec_command({"cmd": "true"}));')),
        ((), Call("Bash", {"command": "true", "description": "Run it"})),
    ],
)
def test_a_command_is_run_with_what_is_offered(offered: tuple[Tool, ...], call: Call) -> None:
    assert tools.shell(offered, "true") == call


@pytest.mark.parametrize(
    ("offered", "call"),
    [
        ((Tool("Read", frozenset({"file_path"})),), Call("Read", {"file_path": "/r/a b"})),
        ((Tool("read", frozenset({"filePath"})),), Call("read", {"filePath": "/r/a b"})),
        ((Tool("read", frozenset({"path"})),), Call("read", {"path": "/r/a b"})),
        (CODEX, Call("exec_command", {"cmd": "cat '/r/a b'"})),
    ],
)
def test_a_file_is_read_with_what_is_offered(offered: tuple[Tool, ...], call: Call) -> None:
    assert tools.read(offered, "/r/a b") == call


def test_a_file_is_written_through_the_shell_where_there_is_no_other_way(tmp_path: Path) -> None:
    path = tmp_path / "it's.md"
    call = tools.write((Tool("bash"),), str(path), "a 'b'\n%s\n")
    subprocess.run(["/bin/bash", "-c", call.input["command"]], check=True)
    assert path.read_text() == "a 'b'\n%s\n"
