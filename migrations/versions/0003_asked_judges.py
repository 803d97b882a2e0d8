"""What judges that are asked said of items, and what they cost."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("strata", sa.Column("judged", sa.Integer(), nullable=True))
    op.create_table(
        "verdicts",
        sa.Column("monitor_id", sa.Integer(), nullable=False),
        sa.Column("judge", sa.String(length=32), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
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
        sa.PrimaryKeyConstraint("monitor_id", "judge", "item_id", name=op.f("pk_verdicts")),
        comment="What a judge that is asked said of items, so that none is asked about twice.",
    )
    op.create_index(op.f("ix_verdicts_round_id"), "verdicts", ["round_id"], unique=False)
    op.create_table(
        "judgings",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=True),
        sa.Column("why", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_judgings_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_judgings")),
        comment="What asking its judge has cost a round.",
    )


def downgrade():
    op.drop_table("judgings")
    op.drop_index(op.f("ix_verdicts_round_id"), table_name="verdicts")
    op.drop_table("verdicts")
    op.drop_column("strata", "judged")
