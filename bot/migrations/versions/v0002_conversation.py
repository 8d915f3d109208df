"""What a task has decided and done, what changed files hold, and the pull requests that were opened."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision: str | None = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("installation_id", "comment_id", "sender_id"):
        op.add_column("tasks", sa.Column(name, sa.BigInteger()))
    op.add_column("tasks", sa.Column("work", sa.Text()))
    op.add_column("results", sa.Column("contents", sa.LargeBinary()))
    op.create_index("ix_tasks_sender_id_created_at", "tasks", ["sender_id", "created_at"])
    op.create_index("ix_tasks_repository_id_thread_seq", "tasks", ["repository_id", "thread", "seq"])
    op.create_table(
        "pulls",
        sa.Column("repository_id", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("number", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("thread", sa.BigInteger(), nullable=False),
        sa.Column("branch", sa.Text(), nullable=False),
        sa.Column("sha", sa.Text(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False, server_default=sa.text("0")),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("repository_id", "number", name="pk_pulls"),
    )
    op.create_index("ix_pulls_repository_id_thread", "pulls", ["repository_id", "thread"])
