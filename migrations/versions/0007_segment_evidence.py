"""Errors of segments against the rest, a row a round."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "segment_evidence",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_segment_evidence_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_segment_evidence")),
        comment="Errors of a round's segments and pairs against the rest, for the search over rounds.",
    )


def downgrade():
    op.drop_table("segment_evidence")
