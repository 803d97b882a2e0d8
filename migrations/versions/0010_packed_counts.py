"""the counts of a round in one row, from which later rounds read them."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "packed_counts",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_packed_counts_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_packed_counts")),
        comment="A cache: what `counts` and `strata` have of a version, in one row; may be emptied.",
    )


def downgrade():
    op.drop_table("packed_counts")
