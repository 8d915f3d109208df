"""The local GitHub behind TLS, with a private repository and a token for it, as a container reaches it."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.demo.github import LocalGitHub, Repository
from bot.demo.github_state import Token
from tests.sandbox.egress.rig import Authority

# It starts and stops in milliseconds; a busy machine takes seconds.
HOST_SECONDS = 60


@dataclass(frozen=True)
class PrivateHost:
    """``url``: as the sandbox half's ``GitHost`` has it, whose certificate ``ca_pem`` vouches for."""

    github: LocalGitHub
    url: str
    ca_pem: str

    def token(self, *repositories: Repository, contents: str = "read") -> Token:
        """As the App's server mints one: for these repositories, and these alone."""
        first = self.github.state.installation_of(repositories[0])
        assert first is not None
        made = Token(
            f"ghs_{secrets.token_hex(20)}",
            first.id,
            frozenset(repository.id for repository in repositories),
            {"contents": contents, "metadata": "read"},
            datetime.now(UTC) + timedelta(hours=1),
        )
        self.github.state.tokens[made.value] = made
        return made

    def asked_for(self) -> set[tuple[str, int]]:
        """Paths in lower case and statuses of what reached the host."""
        return {(exchange.path.lower(), exchange.status or 0) for exchange in self.github.log}


@contextmanager
def private_host(address: str, name: str, folder: Path) -> Iterator[PrivateHost]:
    """Listening at ``address``, with a certificate for ``name``. It lives in a thread of its own: a test may block."""
    authority = Authority()
    github = LocalGitHub(folder / "github")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="git host")
    thread.start()

    def there(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(HOST_SECONDS)

    try:
        there(github.start(address))
        port = there(_with_tls(github, address, authority.server(name, folder)))
        yield PrivateHost(github, f"https://{name}:{port}", authority.pem)
    finally:
        there(github.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _with_tls(github: LocalGitHub, address: str, context: ssl.SSLContext) -> int:
    """The same server at one more port, over TLS; answers the port."""
    runner = github._runner
    assert runner is not None
    await web.TCPSite(runner, address, 0, ssl_context=context).start()
    return int(runner.addresses[-1][1])
