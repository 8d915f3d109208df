"""``gofer uninstall``: takes off the Docker host what an instance has put there; images and state files stay."""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from bot.config import ConfigError, for_run
from sandbox import Unreachable, uninstall

DONE: Final = 0
FAILED: Final = 1


def command(*, yes: bool) -> int:
    """Every sandbox of ``GOFER_INSTANCE``, with the work in it, then the instance's network and volumes; may be run
    again. Nothing may be running that uses the instance: who gives ``yes`` says so. Raises ``ConfigError``.
    """
    config = for_run()
    if config.is_remote:
        raise ConfigError("gofer uninstall works on the machine on which sandboxes run: start it there")
    what = f"every sandbox of the instance {config.instance!r}, with the work in it, its network and its volumes"
    if not yes:
        raise ConfigError(f"this removes {what}; stop gofer serve and gofer runner, then give --yes")
    try:
        asyncio.run(uninstall(config.sandbox_settings()))
    except (Unreachable, RuntimeError) as error:
        print(f"gofer: not all is removed: {error}; may be run again", file=sys.stderr)
        return FAILED
    print(f"Removed: {what}. Images and the state directory are left.")
    return DONE
