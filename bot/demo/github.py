"""A local GitHub: stateful, over real HTTP, with real git. For ``gofer demo`` and for the tests.

It knows one App, and answers as GitHub does: signatures, token scopes, statuses, bodies, headers, clones, webhooks. A
test says what people do (``comment``, ``add_issue``), scripts what fails (``fail``), and awaits what the bot does
(``await_comment``). Everything runs in the caller's event loop.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import ssl
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr

from bot.demo.github_access import World
from bot.demo.github_auth import new_key
from bot.demo.github_events import Events
from bot.demo.github_failures import Failure
from bot.demo.github_git import File
from bot.demo.github_hooks import Hook
from bot.demo.github_log import Delivery, Exchange
from bot.demo.github_people import People
from bot.demo.github_pull_shapes import PullShapes
from bot.demo.github_server import Server
from bot.demo.github_shapes import Shapes
from bot.demo.github_state import App, Comment, Installation, Issue, Repository, User
from bot.demo.github_work_state import Pull, ReviewComment, Sent
from sandbox import spawn

__all__ = ["Comment", "Delivery", "Exchange", "Failure", "File", "Installation", "Issue", "LocalGitHub", "Repository"]

T = TypeVar("T")

MAX_API_BODY_BYTES = 2**20
# Connections that are still in use when the server stops get this long.
STOP_SECONDS = 1.0


def utc_now() -> datetime:
    return datetime.now(UTC)


class LocalGitHub(People):
    """What people do there, and the server before it. ``log`` and ``deliveries`` are in order and never shortened.

    ``api_prefix`` makes it look like GitHub Enterprise Server (``/api/v3``). ``key`` is the App's pair (``new_key``)
    for a server that is started again; a new one unless given.
    """

    def __init__(
        self,
        root: Path | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        api_prefix: str = "",
        key: tuple[rsa.RSAPublicKey, SecretStr] | None = None,
    ) -> None:
        super().__init__(Path(tempfile.mkdtemp(prefix="gofer-github-")) if root is None else root, clock)
        self._own_root = root is None
        self._api_prefix = api_prefix
        self._public_key, self.private_key = key or new_key()
        self.webhook_secret = SecretStr(secrets.token_hex(32))
        bot = self.state.user("gofer-local[bot]", "Bot")
        self.app = App(
            self.state.next_id(), "gofer-local", "Iv23liLocalGitHub001", self.state.user("gofer-owner"), bot, clock()
        )
        self.log: list[Exchange] = []
        self.deliveries: list[Delivery] = []
        self.failures: list[Failure] = []
        self._changed = asyncio.Event()
        self._stopping = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()
        self._hook: Hook | None = None
        self._runner: web.AppRunner | None = None
        self._world: World | None = None
        self._server: Server | None = None
        self.url = ""
        """Base of the API, as the bot's configuration takes it."""
        self.git_url = ""
        """Base of the clone URLs, as containers reach it."""

    # Life.

    async def start(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        public_host: str = "",
        also: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Listen on ``host`` (and on the addresses ``also``, same port; a Docker bridge's gateway, say).

        ``public_host`` is the name in clone URLs; ``host`` if empty. With ``tls``, every URL is https.
        """
        application = web.Application(client_max_size=MAX_API_BODY_BYTES)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=STOP_SECONDS
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port, ssl_context=tls).start()
        bound: int = self._runner.addresses[0][1]
        for address in also:
            await web.TCPSite(self._runner, address, bound, ssl_context=tls).start()
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://{host}:{bound}{self._api_prefix}"
        self.git_url = f"{scheme}://{public_host or host}:{bound}"
        shapes = Shapes(self.url, self.git_url)
        pulls = PullShapes(shapes)
        self._events = Events(shapes, pulls, self.app)
        self._world = World(
            self.state,
            self.app,
            shapes,
            self.url,
            self._clock,
            self._commented,
            pulls,
            pushed=self._pushed,
            opened=self._opened,
            pull_changed=self._pull_changed,
            reviewed=self._reviewed,
            labelled=self._labelled,
            again=self._again,
            uploads=self.uploads,
        )
        self._server = Server(
            self._world,
            public_key=self._public_key,
            api_prefix=self._api_prefix,
            failures=self.failures,
            log=self.log,
            notify=self._notify,
            stopping=self._stopping,
        )

    async def stop(self) -> None:
        """Stop listening and sending, and remove the repositories if the folder is ours. May be called twice."""
        self._stopping.set()
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self.disconnect_webhook()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        if self._own_root:
            shutil.rmtree(self._root, ignore_errors=True)

    async def connect_webhook(self, url: str) -> None:
        """Send webhooks to ``url`` from now on, signed with ``webhook_secret``."""
        await self.disconnect_webhook()
        self._hook = Hook(url, self.webhook_secret, hook_id=self.state.next_id(), app_id=self.app.id)

    async def disconnect_webhook(self) -> None:
        """None is made from now on, and none is listed, as where an App's webhook is switched off."""
        if self._hook is not None:
            await self._hook.close()
        self._hook = None

    def clone_url(self, owner: str, repo: str) -> str:
        """What one clones: without credentials."""
        return f"{self.git_url}/{owner}/{repo}.git"

    # What people do.

    async def comment(self, repository: Repository, issue: Issue, user: str, body: str) -> Comment:
        """Somebody comments. Returns when the webhook has been answered (see ``deliveries``)."""
        now = self._clock()
        comment = Comment(self.state.next_id(), body, self.state.user(user), now, now, history=[body])
        issue.comments.append(comment)
        await self._deliver_comment("created", repository, issue, comment)
        return comment

    async def edit(self, repository: Repository, issue: Issue, comment: Comment, body: str) -> None:
        """Its author changes a comment."""
        comment.history.append(body)
        comment.body = body
        comment.updated_at = comment.edited_at = self._clock()
        await self._deliver_comment("edited", repository, issue, comment)

    async def delete(self, repository: Repository, issue: Issue, comment: Comment) -> None:
        """Somebody deletes a comment."""
        issue.comments.remove(comment)
        await self._deliver_comment("deleted", repository, issue, comment)

    def fail(self, failure: Failure) -> Failure:
        """Script a failure. The first that applies to a call is the one."""
        self.failures.append(failure)
        return failure

    # Webhooks.

    async def deliver(self, event: str, payload: dict[str, Any], *, delivery_id: str = "") -> Delivery | None:
        """Send a signed webhook; None where no URL is set."""
        if self._hook is None:
            return None
        return self._delivered(await self._hook.send(event, payload, delivery_id), payload)

    async def redeliver(self, delivery: Delivery) -> Delivery | None:
        """Send the same bytes under the same id again, as the button at GitHub does."""
        if self._hook is None:
            return None
        again = await self._hook.resend(delivery.event, delivery.action, delivery.body, delivery.id)
        return self._delivered(again, json.loads(delivery.body), redelivery=True)

    def comment_payload(self, action: str, repository: Repository, issue: Issue, comment: Comment) -> dict[str, Any]:
        """The ``issue_comment`` webhook for this comment."""
        world = self._started()
        return self._for(repository, world.shapes.comment_event(action, repository, issue, comment, self.app))

    def _for(self, repository: Repository, payload: dict[str, Any]) -> dict[str, Any]:
        if (installation := self.state.installation_of(repository)) is not None:
            payload["installation"] = {"id": installation.id, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMQ=="}
        return payload

    async def _tell(self, event: str, repository: Repository, payload: dict[str, Any]) -> Delivery | None:
        self._notify()
        if self.state.installation_of(repository) is None or event not in self.app.events:
            return None
        return await self.deliver(event, self._for(repository, payload))

    async def _tell_installation(self, event: str, installation: Installation, payload: dict[str, Any]) -> None:
        self._notify()
        await self.deliver(event, payload)

    async def _deliver_comment(
        self, action: str, repository: Repository, issue: Issue, comment: Comment
    ) -> Delivery | None:
        payload = self.comment_payload(action, repository, issue, comment)
        return await self._tell("issue_comment", repository, payload)

    # What the App does comes back to it as a webhook, as from GitHub: sent beside the answer.

    def _beside(self, telling: Coroutine[Any, Any, object]) -> None:
        if self._hook is None or self._stopping.is_set():
            telling.close()
            return

        async def tell() -> None:
            await telling

        task = spawn(tell(), name="github-webhook")
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def _commented(self, action: str, repository: Repository, issue: Issue, comment: Comment) -> None:
        self._beside(self._deliver_comment(action, repository, issue, comment))

    def _pushed(self, repository: Repository, branch: str, user: User) -> None:
        for issue in repository.issues.values():
            pull = issue.pull
            if pull and not issue.closed and (pull.head_repository, pull.head_ref) == (repository, branch):
                self._beside(self.moved(repository, issue, user))

    def _opened(self, repository: Repository, user: User, title: str, body: str, pull: Pull) -> Issue:
        issue = self.opened(repository, user, title, body, pull)
        self._pull_changed(repository, issue, "opened", user)
        return issue

    def _pull_changed(self, repository: Repository, issue: Issue, action: str, user: User) -> None:
        self._beside(self._pull_event(action, repository, issue, user))

    def _reviewed(self, repository: Repository, issue: Issue, comment: ReviewComment) -> None:
        self._beside(self._comment_event("created", repository, issue, comment))

    def _labelled(self, repository: Repository, issue: Issue, action: str, name: str, user: User) -> None:
        event, payload = self._events.labelled(action, repository, issue, name, user)
        self._beside(self._tell(event, repository, payload))

    def _again(self, sent: Sent) -> None:
        async def resend() -> None:
            if self._hook is not None:
                delivery = await self._hook.resend(sent.event, sent.action, sent.body, sent.guid)
                self._delivered(delivery, json.loads(sent.body), redelivery=True)

        self._beside(resend())

    def _delivered(self, delivery: Delivery, payload: dict[str, Any], *, redelivery: bool = False) -> Delivery:
        self.deliveries.append(delivery)
        self.state.sent.append(
            Sent(
                self.state.next_id(), delivery.id, delivery.event, delivery.action, delivery.body, self._clock(),
                delivery.status, (payload.get("installation") or {}).get("id"),
                (payload.get("repository") or {}).get("id"), redelivery,
            )
        )  # fmt: skip
        self._notify()
        return delivery

    # What a test waits for.

    def bot_comments(self, issue: Issue) -> list[Comment]:
        """Those that the App has made."""
        return [comment for comment in issue.comments if comment.by_app]

    async def await_comment(self, predicate: Callable[[Comment], bool], seconds: float = 10.0) -> Comment:
        """The first comment that is as wished, now or within ``seconds``; else an AssertionError with the history."""

        def found() -> Comment | None:
            issues = (issue for repository in self.state.repositories.values() for issue in repository.issues.values())
            return next((comment for issue in issues for comment in issue.comments if predicate(comment)), None)

        return await self.until(found, seconds)

    async def until(self, fact: Callable[[], T | None], seconds: float = 10.0) -> T:
        """Wait until ``fact`` is true of this server (it is asked after each request and each verb)."""
        try:
            async with asyncio.timeout(seconds):
                while not (value := fact()):
                    self._changed.clear()
                    await self._changed.wait()
                return value
        except TimeoutError:
            raise AssertionError(f"not seen within {seconds} s; what happened:\n{self.history()}") from None

    def history(self) -> str:
        """All requests, webhooks and comments, to read after a failure."""
        lines = [str(exchange) for exchange in self.log] + [str(delivery) for delivery in self.deliveries]
        for repository in self.state.repositories.values():
            for issue in repository.issues.values():
                for comment in issue.comments:
                    texts = " | then | ".join(comment.history)
                    lines.append(f"{repository.full_name}#{issue.number} {comment.user.login}: {texts}")
        return "\n".join(lines)

    def _notify(self) -> None:
        self._changed.set()

    def _started(self) -> World:
        if self._world is None:
            raise RuntimeError("the local GitHub has not been started")
        return self._world

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if self._server is None:  # between listening and being ready
            return web.Response(status=503)
        return await self._server.handle(request)
