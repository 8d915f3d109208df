"""The ``gofer`` command: reads its arguments and hands over. A user's mistake is one line on stderr and status 2."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version

from bot.bundle import NotARepository
from bot.config import ConfigError
from bot.config_agents import AGENT_NAMES
from bot.store import StoreError

MISTAKE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    arguments = parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except (ConfigError, StoreError, NotARepository) as error:
        return mistaken(error)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def parser() -> argparse.ArgumentParser:
    """One subcommand a verb; each sets ``run``, the function that carries it out."""
    top = argparse.ArgumentParser(prog="gofer", description="Comment /agent do X, and an agent does it in a sandbox.")
    top.add_argument("--version", action="version", version=f"gofer {version('gofer')}")
    verbs = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    serve = verbs.add_parser("serve", help="take webhooks and work (settings: deploy/settings.md)")
    serve.set_defaults(run=command_serve)
    runner = verbs.add_parser("runner", help="sandboxes behind an HTTP API, without GitHub (deploy/runner.md)")
    runner.set_defaults(run=command_runner)
    patch = verbs.add_parser("patch", help="print the whole stored patch of a task")
    patch.add_argument("task", metavar="TASK", help="the task's id, as at the end of its comment")
    patch.set_defaults(run=command_patch)
    demo = verbs.add_parser("demo", help="one task end to end, with a local GitHub and a scripted model")
    demo.add_argument("--real-model", action="store_true", help="ask the real model; needs ANTHROPIC_API_KEY")
    demo.set_defaults(run=command_demo)
    run = verbs.add_parser("run", help="one task in a sandbox without GitHub; the diff on stdout")
    run.add_argument("--repo", required=True, metavar="PATH|URL", help="a repository on this disk, or an https URL")
    run.add_argument("--ref", help="branch or tag, for a URL; the default branch if not given")
    run.add_argument("--agent", choices=AGENT_NAMES, help="the agent; GOFER_AGENT if not given")
    run.add_argument("--model", help="the model; GOFER_MODEL if not given")
    run.add_argument("prompt", metavar="PROMPT", help="what is to be done; - reads it from standard input")
    run.set_defaults(run=command_run)
    doctor = verbs.add_parser("doctor", help="look whether tasks can run here, and say what to do where not")
    doctor.add_argument("--offline", action="store_true", help="ask neither a model nor any allowed destination")
    doctor.set_defaults(run=command_doctor)
    uninstall = verbs.add_parser("uninstall", help="take off the Docker host what gofer has put there, images apart")
    uninstall.add_argument("--yes", action="store_true", help="nothing that uses the instance is running: remove it")
    uninstall.set_defaults(run=command_uninstall)
    return top


def command_demo(arguments: argparse.Namespace) -> int:
    """0: the comment holds the diff."""
    from bot.config import anthropic_key
    from bot.demo.show import main as show

    return show(anthropic_key() if arguments.real_model else None)


def command_run(arguments: argparse.Namespace) -> int:
    """0 changed, 3 no change, 1 failed."""
    from bot.run import command

    piped = arguments.prompt == "-"
    prompt = sys.stdin.buffer.read().decode("utf-8", "surrogateescape") if piped else arguments.prompt
    return command(repo=arguments.repo, ref=arguments.ref, prompt=prompt, model=arguments.model, agent=arguments.agent)


def command_doctor(arguments: argparse.Namespace) -> int:
    """0: nothing has failed."""
    from bot.doctor import command

    return command(offline=arguments.offline)


def command_uninstall(arguments: argparse.Namespace) -> int:
    """0: all of it is gone."""
    from bot.uninstall import command

    return command(yes=arguments.yes)


def command_serve(_: argparse.Namespace) -> int:
    """Until SIGTERM or SIGINT."""
    from bot.serve import leave, serve

    os.umask(0o077)  # prompts and patches of private repositories are in the database
    return leave(serve())


def command_runner(_: argparse.Namespace) -> int:
    """Until SIGTERM or SIGINT."""
    from bot.serve_runner import serve_runner

    os.umask(0o077)  # prompts and patches of private repositories are in its state
    return serve_runner()


def command_patch(arguments: argparse.Namespace) -> int:
    """The patch to stdout, byte for byte. 1: there is no such task, or it has no patch."""
    from bot.show_patch import show_patch

    return asyncio.run(show_patch(arguments.task))


def mistaken(error: Exception) -> int:
    """Tell the user, without a traceback."""
    for line in str(error).splitlines():
        print(f"gofer: {line}", file=sys.stderr)
    return MISTAKE


if __name__ == "__main__":
    sys.exit(main())
