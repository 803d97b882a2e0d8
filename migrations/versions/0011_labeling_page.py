"""a labeling page, with tables of its own: it knows no score, no class and no stratum."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "page_rounds",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("guideline", sa.Text(), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_page_rounds")),
        comment="What the labeling page asks about each round, as it was when the tasks went out.",
    )
    op.create_table(
        "page_tasks",
        sa.Column("round_name", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("place", sa.String(length=64), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("shown", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("held_by", sa.Text(), nullable=True),
        sa.Column("held_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_name"], ["page_rounds.name"], name=op.f("fk_page_tasks_round_name_page_rounds")
        ),
        sa.PrimaryKeyConstraint("round_name", "key", name=op.f("pk_page_tasks")),
        comment="Tasks on the labeling page, and who has which on the screen.",
    )
    op.create_index(op.f("ix_page_tasks_key"), "page_tasks", ["key"])
    op.create_table(
        "page_answers",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("task_key", sa.String(length=40), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(length=12), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_page_answers")),
        sa.UniqueConstraint(
            "task_key",
            "annotator",
            "revision",
            name=op.f("uq_page_answers_task_key_annotator_revision"),
        ),
        comment="What annotators said or took back on the labeling page; rows are only ever added.",
    )
    op.create_index(op.f("ix_page_answers_annotator_at"), "page_answers", ["annotator", "at"])
    op.create_table(
        "page_sessions",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_page_sessions")),
        comment="Who may use the labeling page, by the hash of their cookie.",
    )


def downgrade():
    for table in ("page_sessions", "page_answers", "page_tasks", "page_rounds"):
        op.drop_table(table)
