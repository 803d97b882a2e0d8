"""margins that plans expect, and rounds that stopped once theirs held."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "planned_margins",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        sa.Column("half_width", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_planned_margins_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "metric", name=op.f("pk_planned_margins")),
        comment="Half-widths that the plan of a round expects of its intervals, before any answer.",
    )
    op.create_table(
        "stopped_rounds",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("planned", sa.Integer(), nullable=False),
        sa.Column("kept", sa.Integer(), nullable=False),
        sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_stopped_rounds_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_stopped_rounds")),
        comment="Rounds that ended once their margins held; strata.planned then has what was kept.",
    )


def downgrade():
    for table in ("stopped_rounds", "planned_margins"):
        op.drop_table(table)
