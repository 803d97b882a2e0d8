"""What a round showed while its labels still came."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "provisionals",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("flagged", sa.BigInteger(), nullable=False),
        sa.Column("passed", sa.BigInteger(), nullable=False),
        sa.Column("estimate", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_provisionals_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "at", name=op.f("pk_provisionals")),
        comment="Positive labels as they came, and what a round showed before they were all there.",
    )


def downgrade():
    op.drop_table("provisionals")
