"""What has moved a branch of the local GitHub, kept and listed as GitHub lists a repository's activity."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.demo import github_git_objects as objects
from bot.demo.github_access import MAX_PER_PAGE, Answered, Asked, World, number, reach
from bot.demo.github_shapes import Json, Shapes, node_id, stamp
from bot.demo.github_state import Repository, State, User
from bot.demo.github_work_state import Activity

NOTHING = "0" * 40
"""Where a branch was not."""
PER_PAGE = 30
_DAYS = {"day": 1, "week": 7, "month": 30, "quarter": 90, "year": 365}


def record(
    state: State, repository: Repository, branch: str, before: str | None, by: User, at: datetime, *, kind: str = ""
) -> None:
    """The branch was at ``before`` (None: nowhere) and is where it is now. ``kind`` is told by that unless given."""
    after = objects.ref(repository.git_dir, f"refs/heads/{branch}")
    if before == after:
        return
    made = Activity(
        state.next_id(), before or NOTHING, after or NOTHING, f"refs/heads/{branch}", at,
        kind or kind_of(repository, before, after), by,
    )  # fmt: skip
    repository.activities.append(made)


def kind_of(repository: Repository, before: str | None, after: str | None) -> str:
    """In GitHub's words."""
    if before is None or after is None:
        return "branch_creation" if before is None else "branch_deletion"
    return "push" if objects.contains(repository.git_dir, before, after) else "force_push"


def list_activities(world: World, asked: Asked) -> Answered:
    """Newest first unless asked otherwise. ``after`` is ours: the place in the list that the page begins at."""
    repository = reach(world, asked, "contents", "read")
    found = [one for one in repository.activities if _wanted(one, asked, world.now())]
    if asked.query.get("direction", "desc") == "desc":
        found.reverse()
    per_page = min(number(asked.query.get("per_page", str(PER_PAGE))), MAX_PER_PAGE)
    start = number(asked.query.get("after", "0"))
    headers = {}
    if len(found) > start + per_page:
        query = {**asked.query, "after": str(start + per_page)}
        url = "&".join(f"{name}={value}" for name, value in query.items())
        headers["Link"] = f'<{world.api}{asked.path}?{url}>; rel="next"'
    page = found[start : start + per_page]
    return Answered(200, [shape(one, world.shapes) for one in page], headers)


def _wanted(one: Activity, asked: Asked, now: datetime) -> bool:
    query = asked.query
    period, ref = query.get("time_period", ""), query.get("ref", "")
    return (
        (not ref or one.ref == f"refs/heads/{ref.removeprefix('refs/heads/')}")
        and query.get("actor", one.actor.login) == one.actor.login
        and query.get("activity_type", one.kind) == one.kind
        and (not period or now - one.at <= timedelta(days=_DAYS[period]))
    )


def shape(one: Activity, shapes: Shapes) -> Json:
    return {
        "id": one.id,
        "node_id": node_id("Push", one.id),
        "before": one.before,
        "after": one.after,
        "ref": one.ref,
        "timestamp": stamp(one.at),
        "activity_type": one.kind,
        "actor": shapes.user(one.actor),
    }
