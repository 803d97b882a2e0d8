"""Counts of strata that a column labels whole."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "censuses",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=64), nullable=False),
        sa.Column("cells", sa.JSON(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_censuses_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "part", name=op.f("pk_censuses")),
        comment="The labels of all items of some strata as they are now; versions keep theirs.",
    )


def downgrade():
    op.drop_table("censuses")
