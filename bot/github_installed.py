"""Where the App is installed, and what was granted to it there: each owner accepts new permissions on his own."""

from __future__ import annotations

from datetime import datetime

from bot import github_urls as urls
from bot.github_calls import Call
from bot.github_installations import Installations, expecting
from bot.tasks import Frozen

PER_PAGE = 100
# Installations that are looked through: an App that is not public has a few.
MOST_PAGES = 10


class Installed(Frozen):
    """The App on one account."""

    id: int
    account: str
    permissions: dict[str, str]
    suspended_at: datetime | None = None


class Everywhere:
    """Asked as the App itself."""

    def __init__(self, installations: Installations) -> None:
        self._installations = installations

    async def installed(self) -> list[Installed]:
        """All of them, suspended ones too."""
        found: list[Installed] = []
        for page in range(1, MOST_PAGES + 1):
            call = Call("GET", urls.INSTALLATIONS, {"per_page": PER_PAGE, "page": page})
            listed = await self._installations.as_app(call)
            with expecting("a list of installations"):
                found += [_installed(one) for one in listed]
            if len(listed) < PER_PAGE:
                break
        return found


def _installed(one: dict[str, object]) -> Installed:
    account = one["account"]
    name = account.get("login") or account.get("slug") if isinstance(account, dict) else ""
    return Installed.model_validate(
        {
            "id": one["id"],
            "account": name or "",
            "permissions": one["permissions"],
            "suspended_at": one["suspended_at"],
        }
    )
