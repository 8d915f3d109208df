"""What a caller may choose, and the operator's bounds on it: agent, model, limits. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from sandbox import default_model
from sandbox.api.asked import Refused
from sandbox.job import Budget, Job, Limits
from sandbox.settings import Settings

BUDGET = tuple(Budget.model_fields)
TASK_PARAMETERS = ("agent", "model", *BUDGET)


def task_job(name: str, prompt: str, query: Mapping[str, str], settings: Settings) -> Job:
    """The next task in a sandbox. Raises ``Refused`` (400) for an agent or model that is not offered, and for a bound
    that is none or higher than the operator's."""
    try:
        budget = Budget.model_validate({key: query[key] for key in BUDGET if key in query})
        limits = settings.limits.lowered(budget)
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        number = "a number" if key == "cost_usd" else "a whole number"
        raise Refused(400, f"{key} must be {number} greater than 0") from None
    except ValueError as error:
        raise Refused(400, str(error)) from None
    agent, model = offered(query.get("agent") or settings.default_agent, query.get("model") or None, settings)
    return Job.model_validate(
        {"name": name, "agent": agent, "model": model, "prompt": prompt, "source": None, "limits": limits}
    )


def offered(agent: str, model: str | None, settings: Settings) -> tuple[str, str | None]:
    """Both, where the operator offers them. Raises ``Refused`` (400) that says what is offered."""
    known = settings.for_agent(agent)
    if known is None:
        names = ", ".join(settings.agents) if settings.agents else "claude"
        raise Refused(400, f"the agent {agent[:64]!r} is not offered here; offered: {names}")
    models = (known.model or default_model(agent), *known.models)
    if model is not None and model not in models:
        names = ", ".join(dict.fromkeys(models))
        raise Refused(400, f"the model {model[:64]!r} is not offered for {agent}; offered: {names}")
    return agent, model


def bounded(job: Job, settings: Settings) -> Job:
    """A job of the bot's under this runner's bounds: what it leaves out is as the operator has it, what it asks for
    counts as far as it is lower. Raises ``Refused`` (400) for an agent or model that is not offered."""
    agent, model = offered(
        job.agent if "agent" in job.model_fields_set else settings.default_agent, job.model, settings
    )
    return job.model_copy(update={"agent": agent, "model": model, "limits": _lower(job.limits, settings.limits)})


def _lower(asked: Limits, ceilings: Limits) -> Limits:
    lower = {}
    for name in asked.model_fields_set:
        value, ceiling = getattr(asked, name), getattr(ceilings, name)
        if value is not None and (ceiling is None or value < ceiling):
            lower[name] = value
    return ceilings.model_copy(update=lower)
