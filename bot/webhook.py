"""The webhook: verify, parse, store, answer. Nothing else happens inside the request.

GitHub waits ten seconds and does not come back by itself, so the answer depends on the database alone, never on
GitHub's API or on an engine. Headers are judged first, then the body's length, then its signature over the raw bytes,
and only a signed body is parsed. A payload can make this answer 2xx or 4xx; 5xx says that the store is down (GitHub
then shows the delivery as failed, and it can be sent again) or that too much is being sent at once.

Replays: the delivery id and the content key are unique in the database for good, so the age of a delivery does not
matter, and one that is sent again days later, after an outage, is still welcome.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from aiohttp import web
from pydantic import SecretStr, ValidationError

from bot import strict_json
from bot.body import BodyReader, BodyRefused
from bot.commands import DEFAULT_WORD
from bot.permissions import Served
from bot.signature import Signer
from bot.tasks import Change, Request
from bot.triggers import TRIGGERS, Context, Ignored

_log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.Response]]

SERVER_OPTIONS: Final[dict[str, Any]] = {"auto_decompress": False, "lingering_time": 1.0, "keepalive_timeout": 10.0}
"""For the ``aiohttp.web.AppRunner`` that serves this; aiohttp's own values trust the other side too far.

It unpacks a body while it arrives, also one that is refused unread: 97 KiB of gzip stopped the loop for 0.6 s. It reads
on for 10 s after an error was answered. And it lets a connection without a whole request head stay for an hour.
"""

ONCE: Final = frozenset(
    {
        "content-encoding",
        "content-type",
        "x-github-delivery",
        "x-github-event",
        "x-github-hook-installation-target-id",
        "x-github-hook-installation-target-type",
        "x-hub-signature-256",
    }
)
"""Headers that count here. Sent twice, two readers could each take another one of them."""

_EVENT = re.compile(r"[a-z_]{1,64}", re.ASCII)
_DELIVERY = re.compile(r"[0-9A-Za-z-]{1,64}", re.ASCII)


def make_webhook(
    secret: SecretStr,
    store_add: Callable[[Request], Awaitable[bool]],
    wake: Callable[[], None],
    served: Served,
    app_id: str,
    *,
    store_apply: Callable[[Change], Awaitable[int]] | None = None,
    word: str = DEFAULT_WORD,
    reader: BodyReader | None = None,
) -> Handler:
    """The handler for POST, to be served with ``SERVER_OPTIONS``. Raises ``ValueError`` for a secret that is too short.

    ``store_add`` is durable when it returns, and False for what is known already; ``store_apply`` is durable too and
    says how many tasks were meant (None: such events are dropped). ``wake`` only shortens a wait.
    """
    return _Webhook(Signer(secret), store_add, store_apply, wake, served, app_id, word, reader or BodyReader()).receive


class _Webhook:
    def __init__(
        self,
        signer: Signer,
        store_add: Callable[[Request], Awaitable[bool]],
        store_apply: Callable[[Change], Awaitable[int]] | None,
        wake: Callable[[], None],
        served: Served,
        app_id: str,
        word: str,
        reader: BodyReader,
    ) -> None:
        self._signer = signer
        self._store_add = store_add
        self._store_apply = store_apply
        self._wake = wake
        self._served = served
        self._app_id = app_id
        self._word = word
        self._reader = reader

    async def receive(self, request: web.Request) -> web.Response:
        """Answer one delivery."""
        if name := repeated(name for name, _ in request.headers.items()):
            return _refuse(400, f"{name} is there twice")
        if refusal := judge_headers(request.headers):
            return _refuse(*refusal)
        try:
            body = await self._reader.read(request)
        except BodyRefused as refused:
            return _refuse(refused.status, str(refused))
        if not self._signer.signed(body, request.headers.get("X-Hub-Signature-256")):
            return _refuse(401, "the signature is missing or wrong")
        if reason := misdirected(request.headers, self._app_id):
            return _answer("ignored", reason)
        try:
            found = self._parse(body, request.headers)
        except strict_json.BadJson as bad:
            return _refuse(400, f"the body cannot be read: {bad}")
        if isinstance(found, Ignored):
            return _answer("ignored", found.reason)
        return await (self._change(found) if isinstance(found, Change) else self._store(found))

    def _parse(self, body: bytearray, headers: Mapping[str, str]) -> Request | Change | Ignored:
        """The event is claimed by an unsigned header: what the signed body is decides."""
        trigger = TRIGGERS.get(headers["X-GitHub-Event"])
        if trigger is None:
            return Ignored("nothing is done on this event")
        payload = strict_json.loads(body)
        try:
            found = trigger(payload, Context(headers["X-GitHub-Delivery"], self._word, self._app_id))
        except ValidationError as error:
            _log.info(
                "a signed body is not what its event says: %s", error.errors(include_input=False, include_url=False)
            )
            return Ignored("the body is not one of this event")
        if isinstance(found, Request) and not self._served.serves(found.repository.owner, found.repository.name):
            return Ignored("this repository is not served")
        return found

    async def _change(self, change: Change) -> web.Response:
        """It can only end tasks, and those of the installation that it was signed for."""
        if self._store_apply is None:
            return _answer("ignored", "nothing is done on this event")
        try:
            ended = await self._store_apply(change)
        except Exception:
            _log.exception("delivery %s could not be applied", change.delivery_id)
            return _refuse(503, "the store is down")
        if not ended:
            return _answer("ignored", "no task is about it")
        self._wake()
        return _answer("applied")

    async def _store(self, request: Request) -> web.Response:
        try:
            added = await self._store_add(request)
        except Exception:
            _log.exception("delivery %s could not be stored", request.delivery_id)
            return _refuse(503, "the store is down")
        if not added:
            return _answer("duplicate", "this delivery or this comment is known")
        self._wake()
        return _answer("queued")


def repeated(names: Iterable[str]) -> str | None:
    """The first of ``ONCE`` that is among the names more than once."""
    counted = Counter(map(str.lower, names))
    return next((name for name in sorted(ONCE) if counted[name] > 1), None)


def judge_headers(headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Status and words where the headers alone are enough to refuse; nothing of the body has been read then."""
    if "Content-Encoding" in headers:
        return 415, "send the body without Content-Encoding"
    kind = headers.get("Content-Type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        return 415, "set the webhook's content type to application/json"
    if not _EVENT.fullmatch(headers.get("X-GitHub-Event", "")):
        return 400, "X-GitHub-Event is missing or malformed"
    if not _DELIVERY.fullmatch(headers.get("X-GitHub-Delivery", "")):
        return 400, "X-GitHub-Delivery is missing or malformed"
    return None


def misdirected(headers: Mapping[str, str], app_id: str) -> str | None:
    """Why a signed delivery is not for this app: the same secret may be set on a repository's or another app's hook."""
    kind = headers.get("X-GitHub-Hook-Installation-Target-Type")
    if kind is not None and kind != "integration":
        return "not sent by the app's own webhook"
    target = headers.get("X-GitHub-Hook-Installation-Target-ID")
    # An app may be configured by its client id, which this header never holds.
    if target is not None and app_id.isdecimal() and target != app_id:
        return "sent for another app"
    return None


def _answer(result: str, reason: str = "") -> web.Response:
    return web.json_response({"result": result} | ({"reason": reason} if reason else {}), status=202)


def _refuse(status: int, words: str) -> web.Response:
    """An error closes the connection: what is left of the body is not read."""
    response = web.json_response({"error": words}, status=status)
    response.force_close()
    return response
