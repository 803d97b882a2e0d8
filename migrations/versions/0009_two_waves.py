"""a first round may hand out its items in two waves; the second takes them from a reserve."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade():
    op.add_column("rounds", sa.Column("second_wave_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("strata", sa.Column("first_wave", sa.Integer(), nullable=True))
    op.create_table(
        "reserve",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("order", sa.Integer(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("predicted", sa.Boolean(), nullable=False),
        sa.Column("segments", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_reserve_round_id_rounds")
        ),
        sa.ForeignKeyConstraint(
            ["round_id", "stratum"],
            ["strata.round_id", "strata.stratum"],
            name=op.f("fk_reserve_round_id_stratum_strata"),
        ),
        sa.PrimaryKeyConstraint("round_id", "id", name=op.f("pk_reserve")),
        comment="Items of which wave 2 takes the first of each stratum; deleted then.",
    )


def downgrade():
    op.drop_table("reserve")
    op.drop_column("strata", "first_wave")
    op.drop_column("rounds", "second_wave_at")
