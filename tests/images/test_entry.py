"""images/base/entry in the container that an agent gets: the way out, HOME, the prompt, exit status and the end."""

from __future__ import annotations

import pytest

from sandbox.job import Limits
from tests.agent_container import WORDS, Entry, agent_container
from tests.engine import Images

pytestmark = pytest.mark.engine

README = {"README.md": b"# Here\n"}
SHOW_MEMORY = "cat ~/.claude/CLAUDE.md 2>/dev/null || echo none"


async def test_the_agent_finds_prompt_repository_home_and_both_ways_out(
    engine_host: str, images: Images, instance: str
) -> None:
    script = """
        set -e
        pwd; cat; echo; cat README.md; touch new ~/new /tmp/new; id -u
        git config --global safe.directory
        curl -s -o /dev/null -w '%{http_code}\\n' $ANTHROPIC_BASE_URL/v1/nothing
        curl -s http://example.com/
        grep -c . /proc/net/dev
    """
    async with agent_container(engine_host, images, instance, README, prompt="/help me") as box:
        ended = await box.shell(script)
    assert ended.code == 0, ended.stderr
    assert ended.stderr == b""
    lines = ended.stdout.split(b"\n")
    assert lines[:7] == [b"/ws/repo", b"", b"/help me", b"# Here", b"65532", b"*", b"404"]
    assert lines[7].startswith(WORDS)
    assert lines[7].removeprefix(WORDS) == b"3"  # two lines of headings, and lo


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("exit 0", 0, b""),
        ("exit 3", 3, b""),
        ("exit 255", 254, b""),
        ("kill -KILL $$", 252, b"gofer: the agent was killed inside the sandbox (signal 9)\n"),
        ("kill -TERM $$", 252, b"gofer: the agent was killed inside the sandbox (signal 15)\n"),
        ("echo oh >&2; exit 1", 1, b"oh\n"),
    ],
)
async def test_exit_status_keeps_what_the_engine_writes_for_itself_apart(
    engine_host: str, images: Images, instance: str, script: str, code: int, said: bytes
) -> None:
    async with agent_container(engine_host, images, instance, README) as box:
        ended = await box.shell(script)
    assert (ended.code, ended.stderr) == (code, said)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("model.sock", b"gofer: the model socket of the way out is missing\n"),
        ("general.sock", b"gofer: the general socket of the way out is missing\n"),
    ],
)
async def test_no_agent_runs_before_its_way_out_is_in_place(
    engine_host: str, images: Images, instance: str, missing: str, said: bytes
) -> None:
    async with agent_container(engine_host, images, instance, README) as box:
        (box.folder / missing).unlink()
        ended = await box.shell("echo it ran")
    assert (ended.code, ended.stdout, ended.stderr) == (253, b"", said)


async def test_b91_children_that_trap_sigterm_and_hold_stdout_end_with_the_agent(
    engine_host: str, images: Images, instance: str
) -> None:
    script = """
        trap '' TERM HUP INT
        (trap '' TERM HUP INT; exec sleep 9999) &
        setsid bash -c "trap '' TERM; sleep 9999" &
        nohup sleep 9999 >/dev/null 2>&1 &
        echo done
    """
    async with agent_container(engine_host, images, instance, README) as box:
        ended = await box.shell(script)
    assert (ended.code, ended.stdout) == (0, b"done\n")
    assert ended.seconds < 30


async def test_b97_an_agent_that_the_kernel_killed_for_memory_is_marked_by_the_engine(
    engine_host: str, images: Images, instance: str
) -> None:
    async with agent_container(engine_host, images, instance, README) as box:
        ended = await box.run(
            ["/usr/bin/python3", "-c", "b = bytearray(2**30); print(len(b))"], Limits(memory_bytes=2**26)
        )
    assert ended.look.oom
    assert ended.code == 252
    assert ended.stdout == b""


@pytest.mark.parametrize(
    ("tree", "imported"),
    [
        ({}, b"none\n"),
        ({"CLAUDE.md": b"x"}, b"@/ws/repo/CLAUDE.md\n"),
        ({".claude/CLAUDE.md": b"x"}, b"@/ws/repo/.claude/CLAUDE.md\n"),
        ({"CLAUDE.md": b"x", ".claude/CLAUDE.md": b"x"}, b"@/ws/repo/CLAUDE.md\n@/ws/repo/.claude/CLAUDE.md\n"),
        ({"AGENTS.md": b"x"}, b"@/ws/repo/AGENTS.md\n"),
        ({"AGENTS.md": b"x", "CLAUDE.md": b"x"}, b"@/ws/repo/CLAUDE.md\n"),
        ({"AGENTS.md": b"x", "CLAUDE.md": Entry(link="AGENTS.md")}, b"@/ws/repo/CLAUDE.md\n"),
        ({"CLAUDE.md": Entry(link="/etc/passwd")}, b"none\n"),
        ({"CLAUDE.md": Entry(link="/inputs/prompt")}, b"none\n"),
        ({"CLAUDE.md": Entry(link="nowhere"), "AGENTS.md": b"x"}, b"@/ws/repo/AGENTS.md\n"),
        ({"CLAUDE.md/file": b"a folder of that name"}, b"none\n"),
        ({".claude": Entry(link="/proc/self")}, b"none\n"),
        ({"AGENTS.md": Entry(link="CLAUDE.md"), "CLAUDE.md": Entry(link="AGENTS.md")}, b"none\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
async def test_which_instructions_of_the_repository_are_imported(
    engine_host: str, images: Images, instance: str, tree: dict[str, bytes | Entry], imported: bytes
) -> None:
    async with agent_container(engine_host, images, instance, {**README, **tree}) as box:
        ended = await box.shell(SHOW_MEMORY)
    assert ended.stdout == imported
    assert ended.code == 0


async def test_the_agents_own_files_are_in_home_before_it_runs_and_are_its_to_change(
    engine_host: str, images: Images, instance: str
) -> None:
    files = {".tool/deep/settings.json": b"{}", ".gitconfig": b"[user]\n\tname = x\n"}
    async with agent_container(engine_host, images, instance, README, home=files) as box:
        ended = await box.shell(
            "cd; find .tool .gitconfig -type f -printf '%p %u %m\\n' | sort; cat .tool/deep/settings.json .gitconfig;"
            "echo x >>.tool/deep/settings.json && touch .tool/new"
        )
    assert ended.stdout.splitlines() == [
        b".gitconfig agent 644", b".tool/deep/settings.json agent 644", b"{}[user]", b"\tname = x",
    ]  # fmt: skip
    assert (ended.code, ended.stderr) == (0, b"")


async def test_the_repositorys_instructions_are_imported_for_claude_alone(
    engine_host: str, images: Images, instance: str
) -> None:
    async with agent_container(engine_host, images, instance, {"CLAUDE.md": b"x"}, agent="pi") as box:
        ended = await box.shell("echo $GOFER_AGENT; ls -A ~")
    assert ended.stdout.split() == [b"pi", b".gitconfig", b".pi"]


async def test_programs_trust_debians_authorities_and_the_tasks_own(
    engine_host: str, images: Images, instance: str
) -> None:
    script = "cmp $SSL_CERT_FILE <(cat /etc/ssl/certs/ca-certificates.crt /sock/ca.pem) && echo ${NODE_EXTRA_CA_CERTS-}"
    async with agent_container(engine_host, images, instance, README) as box:
        (box.folder / "ca.pem").write_bytes(b"the certificate of this task\n")
        ended = await box.shell(script)
    assert (ended.code, ended.stdout, ended.stderr) == (0, b"/sock/ca.pem\n", b"")


async def test_a_task_without_an_authority_of_its_own_trusts_debians_alone(
    engine_host: str, images: Images, instance: str
) -> None:
    script = "cmp $SSL_CERT_FILE /etc/ssl/certs/ca-certificates.crt && echo ${NODE_EXTRA_CA_CERTS-none}; node -p 1"
    async with agent_container(engine_host, images, instance, README) as box:
        ended = await box.shell(script)
    assert (ended.code, ended.stdout, ended.stderr) == (0, b"none\n1\n", b"")


async def test_no_agent_runs_where_a_certificate_that_is_there_cannot_be_read(
    engine_host: str, images: Images, instance: str
) -> None:
    async with agent_container(engine_host, images, instance, README) as box:
        (box.folder / "ca.pem").mkdir()
        ended = await box.shell("echo it ran")
    assert (ended.code, ended.stdout) == (253, b"")
    assert ended.stderr.endswith(b"gofer: the certificate of the way out cannot be read\n")
