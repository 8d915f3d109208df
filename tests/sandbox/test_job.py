"""What crosses the face of the sandbox: every value is the same after JSON."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from sandbox.job import (
    MAX_ATTACHMENT_BYTES,
    MAX_ATTACHMENTS,
    MAX_ATTACHMENTS_BYTES,
    Attachment,
    Blocked,
    ChangedFile,
    Changes,
    Handle,
    Job,
    Limits,
    Outcome,
    Phase,
    Progress,
    Reason,
    Source,
    State,
    Status,
    Usage,
)

BYTES = bytes(range(256))
FILE = ChangedFile(path="a\\xff", status="modified", old_mode="100644", new_mode="100755", binary=True)
CHANGES = Changes(base_commit="0" * 40, patch=BYTES, files=(FILE,), ignored_count=1, notes=("n",))
VALUES: list[BaseModel] = [
    Job(
        name="t-1",
        model="m",
        prompt="é\x00\ud7ff\r\n",
        source=Source(url="bundle", bundle=BYTES),
        limits=Limits(pids=64),
        attachments=(Attachment(name="image-1.png", data=BYTES),),
    ),
    Handle(name="t-1"),
    Status(phase=Phase.RUNNING, elapsed_seconds=0.1, progress=Progress(last_tool="Bash")),
    CHANGES,
    Changes(base_commit="0" * 40, patch=None, refusal="why"),
    Outcome(
        state=State.FAILED,
        reason=Reason.EXIT,
        exit_code=1,
        usage=Usage(turns=0, cost_usd=0.1),
        changes=CHANGES,
        blocked=(Blocked(host="h", count=2),),
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_is_the_same_after_json(value: BaseModel) -> None:
    assert type(value).model_validate_json(value.model_dump_json()) == value


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a_b", "a.b", "../a", "a" * 64, "a\n", "é"])
def test_a_name_that_is_no_dns_label_is_no_sandbox(name: str) -> None:
    """It becomes the name of containers, volumes and files."""
    with pytest.raises(ValidationError):
        Handle(name=name)


@pytest.mark.parametrize("more", [{"prompt": ""}, {"agent": "other"}, {"fetch_token": "t"}, {"limits": {"pid": 1}}])
def test_a_job_with_an_unknown_or_an_empty_part_is_none(more: dict[str, Any]) -> None:
    good = {"name": "t-1", "prompt": "x", "source": {"url": "https://github.test/o/r"}}
    assert Job.model_validate(good).prompt == "x"
    with pytest.raises(ValidationError):
        Job.model_validate({**good, **more})


@pytest.mark.parametrize("name", ["", "a", ".png", "../a.png", "a/b.png", "A.png", "a.png\n", "a b.png", "a.b.png"])
def test_p11_an_attachment_has_a_name_of_ours(name: str) -> None:
    with pytest.raises(ValidationError):
        Attachment(name=name, data=b"x")


def test_attachments_are_bounded_in_number_and_size_and_have_a_name_each() -> None:
    def job(*given: Attachment) -> Job:
        return Job(name="t", prompt="x", source=None, attachments=given)

    large = b"x" * MAX_ATTACHMENT_BYTES
    assert job(*(Attachment(name=f"a-{i}.png", data=b"") for i in range(MAX_ATTACHMENTS))).attachments
    fitting = MAX_ATTACHMENTS_BYTES // MAX_ATTACHMENT_BYTES
    assert job(*(Attachment(name=f"a-{i}.png", data=large) for i in range(fitting))).attachments
    with pytest.raises(ValidationError):
        Attachment(name="a.png", data=large + b"x")
    with pytest.raises(ValidationError):
        job(*(Attachment(name=f"a-{i}.png", data=b"") for i in range(MAX_ATTACHMENTS + 1)))
    with pytest.raises(ValidationError, match="together"):
        job(*(Attachment(name=f"a-{i}.png", data=large) for i in range(fitting + 1)))
    with pytest.raises(ValidationError, match="one name"):
        job(Attachment(name="a.png", data=b"1"), Attachment(name="a.png", data=b"2"))
