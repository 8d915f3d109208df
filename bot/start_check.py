"""The App and its installations at the start, held against what is needed: warnings, a feature off, or no start."""

from __future__ import annotations

import logging

from bot.github import AppInfo, GitHub, GitHubRefused, GitHubUnavailable
from bot.granted import compare, too_broad, warnings

_log = logging.getLogger(__name__)


async def look(github: GitHub, app: AppInfo, *, broader_is_fine: bool) -> str:
    """Why the server must not start; empty where it may. What is lacking is in the log."""
    gaps = compare(app.permissions, app.events)
    if gaps.broader and not broader_is_fine:
        return too_broad(gaps)
    for line in warnings(gaps):
        _log.warning("%s", line)
    github.checks.on = gaps.checks
    await _installations(github, app)
    return ""


async def _installations(github: GitHub, app: AppInfo) -> None:
    """An owner who has not accepted what the App asks for since goes on with what he had accepted."""
    try:
        installed = await github.everywhere.installed()
    except (GitHubRefused, GitHubUnavailable) as error:
        _log.info("where the app is installed could not be asked: %s", error)
        return
    if not installed:
        _log.warning("the app is installed nowhere yet")
    own = set(warnings(compare(app.permissions), ""))
    for one in installed:
        if one.suspended_at is not None:
            _log.warning("the installation on %s is suspended: nothing is done there", one.account)
            continue
        for line in warnings(compare(one.permissions), ""):
            if line not in own:  # said once already, for the App itself
                _log.warning("the installation on %s%s", one.account, line)
