"""Second waves of first rounds: a round now asks for all of its items at once.

An open round whose second wave was to come keeps the items that it has asked for.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade():
    connection = op.get_bind()
    rounds = sa.table("rounds", *map(sa.column, ("id", "second_wave_at")))
    waiting = sa.select(rounds.c.id).where(rounds.c.second_wave_at.is_not(None))
    strata = sa.table("strata", *map(sa.column, ("round_id", "planned", "first_wave")))
    connection.execute(
        strata.update()
        .where(strata.c.round_id.in_(waiting))
        .values(planned=sa.func.coalesce(strata.c.first_wave, 0))
    )
    # Of all items; those that are out were not planned for a margin.
    margins = sa.table("planned_margins", sa.column("round_id"))
    connection.execute(margins.delete().where(margins.c.round_id.in_(waiting)))
    op.drop_table("reserve")
    op.drop_column("strata", "first_wave")
    op.drop_column("rounds", "second_wave_at")


def downgrade():
    op.add_column("rounds", sa.Column("second_wave_at", sa.DateTime(timezone=True)))
    op.add_column("strata", sa.Column("first_wave", sa.Integer()))
    op.create_table(
        "reserve",
        sa.Column("round_id", sa.Integer(), sa.ForeignKey("rounds.id"), primary_key=True),
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("order", sa.Integer(), nullable=False),
        sa.Column("score", sa.Float()),
        sa.Column("predicted", sa.Boolean(), nullable=False),
        sa.Column("segments", sa.JSON(none_as_null=True)),
        sa.Column("challenged", sa.Boolean()),
        sa.ForeignKeyConstraint(["round_id", "stratum"], ["strata.round_id", "strata.stratum"]),
        comment="Items of which wave 2 takes the first of each stratum; deleted then.",
    )
