"""Labels, check runs and the App's deliveries in the local GitHub's API."""

from __future__ import annotations

from bot.demo.github_access import Answered, Asked, World, as_app, number, paged, reach, reach_issue
from bot.demo.github_auth import Refusal
from bot.demo.github_shapes import stamp
from bot.demo.github_state import Issue, Repository
from bot.demo.github_work_state import CheckRun, Labelling


def list_labels(world: World, asked: Asked) -> Answered:
    repository, issue = reach_issue(world, asked, "read")
    return paged(world, asked, world.pulls.labels(repository, issue))


def add_labels(world: World, asked: Asked) -> Answered:
    repository, issue = reach_issue(world, asked, "write")
    for name in (asked.body or {}).get("labels", []):
        if name not in issue.labels:
            issue.labels.append(name)
            _note(world, issue, name, on=True)
            world.labelled(repository, issue, "labeled", name, world.app.user)
    return Answered(200, world.pulls.labels(repository, issue))


def remove_label(world: World, asked: Asked) -> Answered:
    """Case does not count. What is not there is 404."""
    repository, issue = reach_issue(world, asked, "write")
    found = next((name for name in issue.labels if name.lower() == asked.params["name"].lower()), None)
    if found is None:
        raise Refusal(404, "Label does not exist")
    issue.labels.remove(found)
    _note(world, issue, found, on=False)
    world.labelled(repository, issue, "unlabeled", found, world.app.user)
    return Answered(200, world.pulls.labels(repository, issue))


def _note(world: World, issue: Issue, name: str, *, on: bool) -> None:
    issue.labellings.append(Labelling(world.state.next_id(), name, world.app.user, world.now(), on))


def list_issues(world: World, asked: Asked) -> Answered:
    """Pull requests too."""
    repository = reach(world, asked, "issues", "read")
    state, since = asked.query.get("state", "open"), asked.query.get("since", "")
    found = [
        issue
        for issue in repository.issues.values()
        if not issue.deleted and not issue.moved_to and state in ("all", "closed" if issue.closed else "open")
        if stamp(issue.updated_at) >= since
    ]
    changed = asked.query.get("sort") == "updated"
    found.sort(key=lambda issue: (issue.updated_at if changed else issue.created_at, issue.number))
    if asked.query.get("direction", "desc") == "desc":
        found.reverse()
    return paged(world, asked, [world.pulls.listed(repository, issue) for issue in found])


def list_events(world: World, asked: Asked) -> Answered:
    """Oldest first; this GitHub keeps those of labels alone."""
    repository, issue = reach_issue(world, asked, "read")
    return paged(world, asked, [world.pulls.labelling(repository, issue, one) for one in issue.labellings])


def create_check(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "checks", "write")
    body = asked.body or {}
    if not body.get("name") or not body.get("head_sha"):
        raise Refusal(422, "Invalid request.")
    check = CheckRun(world.state.next_id(), body["head_sha"], dict(body), world.now())
    repository.checks.append(check)
    return Answered(201, world.pulls.check(repository, check, world.app))


def update_check(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "checks", "write")
    check = _check(repository, number(asked.params["check_run_id"]))
    check.fields |= asked.body or {}
    return Answered(200, world.pulls.check(repository, check, world.app))


def list_checks(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "checks", "read")
    name = asked.query.get("check_name", "")
    found = [
        world.pulls.check(repository, check, world.app)
        for check in repository.checks
        if check.head_sha == asked.params["ref"] and name in ("", check.fields.get("name"))
    ]
    answer = paged(world, asked, found)
    return Answered(200, {"total_count": len(found), "check_runs": answer.content}, answer.headers)


def list_suites(world: World, asked: Asked) -> Answered:
    repository = reach(world, asked, "checks", "read")
    found = [world.pulls.suite(repository, one) for one in repository.suites if one.head_sha == asked.params["ref"]]
    answer = paged(world, asked, found)
    return Answered(200, {"total_count": len(found), "check_suites": answer.content}, answer.headers)


def _check(repository: Repository, wanted: int) -> CheckRun:
    for check in repository.checks:
        if check.id == wanted:
            return check
    raise Refusal(404, "Not Found")


def list_deliveries(world: World, asked: Asked) -> Answered:
    """Newest first. ``cursor`` is ours: the id of the next one to show."""
    as_app(asked)
    per_page = number(asked.query.get("per_page", "30"))
    wanted, cursor = asked.query.get("status", ""), asked.query.get("cursor", "")
    found = sorted(world.state.sent, key=lambda sent: -sent.id)
    if wanted:
        found = [sent for sent in found if (sent.status is not None and sent.status < 400) == (wanted == "success")]
    if cursor:
        found = [sent for sent in found if sent.id <= number(cursor.removeprefix("v1_"))]
    page, rest = found[:per_page], found[per_page:]
    headers = {}
    if rest:
        kept = f"&status={wanted}" if wanted else ""
        url = f"{world.api}{asked.path}?per_page={per_page}{kept}&cursor=v1_{rest[0].id}"
        headers["Link"] = f'<{url}>; rel="next"'
    return Answered(200, [world.pulls.sent(sent) for sent in page], headers)


def redeliver(world: World, asked: Asked) -> Answered:
    as_app(asked)
    wanted = number(asked.params["delivery_id"])
    sent = next((sent for sent in world.state.sent if sent.id == wanted), None)
    if sent is None:
        raise Refusal(404, "Not Found")
    world.again(sent)
    return Answered(202, {})
