"""Tasks and their results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision: str | None = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tasks",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("content_key", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("thread", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("ending", sa.Text()),
        sa.Column("handle", sa.Text()),
        sa.Column("status_comment_id", sa.BigInteger()),
        sa.Column("result_comment_id", sa.BigInteger()),
        sa.Column("shown_position", sa.Integer()),
        sa.Column("worker", sa.Text()),
        sa.Column("lease_until", sa.Double(), nullable=False, server_default=sa.text("0")),
        sa.Column("fence", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("retries", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("admitted_at", sa.Double()),
        sa.Column("started_at", sa.Double()),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("finished_at", sa.Double()),
        sa.PrimaryKeyConstraint("seq", name="pk_tasks"),
        sa.UniqueConstraint("task_id", name="uq_tasks_task_id"),
        sa.UniqueConstraint("delivery_id", name="uq_tasks_delivery_id"),
        sa.UniqueConstraint("content_key", name="uq_tasks_content_key"),
        sqlite_autoincrement=True,
    )
    unfinished = sa.text("state <> 'done'")
    op.create_index("ix_tasks_open", "tasks", ["seq"], sqlite_where=unfinished, postgresql_where=unfinished)
    op.create_index(
        "ix_tasks_open_thread",
        "tasks",
        ["repository_id", "thread"],
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )
    op.create_table(
        "results",
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("patch", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("task_id", name="pk_results"),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name="fk_results_task_id"),
    )
