"""Verdicts on an item by what a judge saw of it. Earlier ones are asked for again."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade():
    _make_anew(sa.Column("seen", sa.String(length=32), nullable=False))


def downgrade():
    _make_anew()


def _make_anew(*seen):
    op.drop_index(op.f("ix_verdicts_round_id"), table_name="verdicts")
    op.drop_table("verdicts")
    op.create_table(
        "verdicts",
        sa.Column("monitor_id", sa.Integer(), nullable=False),
        sa.Column("judge", sa.String(length=32), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        *seen,
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(length=10), nullable=False),
        sa.Column("fault", sa.String(length=100), nullable=True),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["monitors.id"], name=op.f("fk_verdicts_monitor_id_monitors")
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_verdicts_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint(
            *("monitor_id", "judge", "item_id"),
            *(column.name for column in seen),
            name=op.f("pk_verdicts"),
        ),
        comment="What a judge that is asked said of items, so that none is asked about twice.",
    )
    op.create_index(op.f("ix_verdicts_round_id"), "verdicts", ["round_id"], unique=False)
