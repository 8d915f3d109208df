"""What the conversation on GitHub is bounded by. Reads no environment."""

from __future__ import annotations

from pydantic import BaseModel, Field

from bot.allowance import Allowance

_allowance = Allowance()


class ConversationSettings(BaseModel):
    """Of the server alone."""

    max_running: int = Field(default=2, gt=0, description="tasks with a running sandbox at once")
    max_running_per_repository: int = Field(
        default=1, gt=0, description="the same, of one repository; of one thread it is always one"
    )
    tasks_per_hour_of_person: int = Field(
        default=_allowance.person, gt=0, description="tasks that one person may start within an hour"
    )
    tasks_per_hour_of_repository: int = Field(
        default=_allowance.repository, gt=0, description="the same, of one repository"
    )
    tasks_per_hour: int = Field(default=_allowance.everybody, gt=0, description="the same, of all together")
    review_rounds: int = Field(
        default=3, ge=0, description="times that reviews of one pull request of ours are answered by work"
    )
    thread_images: bool = Field(
        default=True, description="hand the images of a thread to its agent; they are fetched from GitHub's hosts alone"
    )
    repository_setup: bool = Field(
        default=True, description="a repository's own file may name setup commands; they run in its sandbox"
    )

    @property
    def allowance(self) -> Allowance:
        """How many tasks there may be in an hour."""
        return Allowance(self.tasks_per_hour_of_person, self.tasks_per_hour_of_repository, self.tasks_per_hour)
