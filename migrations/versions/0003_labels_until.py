"""until when a closed round takes late labels, so that rounds that are done need not be read."""

from datetime import timedelta

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ROUNDS = sa.table(
    "rounds",
    sa.column("id", sa.Integer),
    sa.column("settings", sa.JSON),
    sa.column("closed_at", sa.DateTime(timezone=True)),
    sa.column("labels_until", sa.DateTime(timezone=True)),
)


def upgrade():
    op.add_column("rounds", sa.Column("labels_until", sa.DateTime(timezone=True), nullable=True))
    connection = op.get_bind()
    closed = sa.select(ROUNDS.c.id, ROUNDS.c.settings, ROUNDS.c.closed_at).where(
        ROUNDS.c.closed_at.is_not(None)
    )
    for row in connection.execute(closed).all():
        seconds = row.settings["late_labels"].removesuffix("s")  # settings are frozen as "7776000s"
        until = row.closed_at + timedelta(seconds=int(seconds))
        connection.execute(
            sa.update(ROUNDS).where(ROUNDS.c.id == row.id).values(labels_until=until)
        )


def downgrade():
    op.drop_column("rounds", "labels_until")
