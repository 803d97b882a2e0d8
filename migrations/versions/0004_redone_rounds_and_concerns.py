"""first version of a round, when it was first looked at, concerns, reports found by an index."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column(
        "rounds",
        sa.Column("first_version", sa.Integer(), nullable=False, server_default=sa.text("1")),
    )
    op.add_column("rounds", sa.Column("first_look_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "concerns",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("noted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_concerns_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "kind", name=op.f("pk_concerns")),
        comment="What about a round needs somebody's attention, though it goes on.",
    )
    op.create_index(op.f("ix_effects_round_id_kind"), "effects", ["round_id", "kind"])


def downgrade():
    op.drop_index(op.f("ix_effects_round_id_kind"), table_name="effects")
    op.drop_table("concerns")
    op.drop_column("rounds", "first_look_at")
    op.drop_column("rounds", "first_version")
