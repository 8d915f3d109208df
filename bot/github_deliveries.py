"""The App's own list of webhook deliveries: which failed, and sending one again. It reaches back about three days."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import parse_qsl, urlsplit

from bot import github_urls as urls
from bot.github_calls import Call, Page
from bot.github_installations import Installations, expecting
from bot.github_threads import moment
from bot.github_values import DeliveryInfo

PER_PAGE = 100
# Deliveries that one look goes through: the newest of a busy App's three days.
MOST_PAGES = 50


class Deliveries:
    """Asked as the App itself."""

    def __init__(self, installations: Installations) -> None:
        self._installations = installations

    async def failed(self, since: datetime) -> list[DeliveryInfo]:
        """Those that failed since then and were not taken later under the same id, oldest first."""
        newest_first = await self._listed(since)
        taken: set[str] = set()
        failed: dict[str, DeliveryInfo] = {}
        for one in newest_first:
            if one.ok:
                taken.add(one.guid)
            elif one.guid not in taken:
                failed.setdefault(one.guid, one)
        return sorted(failed.values(), key=lambda one: one.id)

    async def again(self, delivery_id: int) -> None:
        """Have it sent again, as the button on GitHub's page does."""
        await self._installations.as_app(Call("POST", urls.redelivery(delivery_id), absent_is_usual=True))

    async def _listed(self, since: datetime) -> list[DeliveryInfo]:
        """Newest first. Of the next page's URL only the cursor is taken: where to ask stays ours to say."""
        found: list[DeliveryInfo] = []
        query: dict[str, str | int] = {"per_page": PER_PAGE}
        for _ in range(MOST_PAGES):
            page: Page = await self._installations.as_app(Call("GET", urls.DELIVERIES, query, paged=True))
            with expecting("a list of deliveries"):
                listed = [_delivery(one) for one in page.items]
                cursor = dict(parse_qsl(urlsplit(page.more or "").query)).get("cursor")
            found += [one for one in listed if one.delivered_at >= since]
            if not cursor or not listed or listed[-1].delivered_at < since:
                break
            query = {"per_page": PER_PAGE, "cursor": cursor}
        return found


def _delivery(one: dict[str, object]) -> DeliveryInfo:
    code = one["status_code"]
    return DeliveryInfo.model_validate(
        {
            "id": one["id"],
            "guid": one["guid"],
            "event": one["event"],
            "action": one["action"] or "",
            "delivered_at": moment(str(one["delivered_at"])),
            "ok": isinstance(code, int) and 200 <= code < 300 and one["status"] == "OK",
            "repository_id": one["repository_id"],
        }
    )
