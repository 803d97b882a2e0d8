"""the setting gold is called audit, in the settings that rounds were opened with."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

AT_ONCE = 500  # settings are short

ROUNDS = sa.table("rounds", sa.column("id", sa.Integer), sa.column("settings", sa.JSON))


def upgrade():
    _rename("gold", "audit")


def downgrade():
    _rename("audit", "gold")


def _rename(old, new):
    connection = op.get_bind()
    last = 0
    while True:
        query = sa.select(ROUNDS.c.id, ROUNDS.c.settings).where(ROUNDS.c.id > last)
        rows = connection.execute(query.order_by(ROUNDS.c.id).limit(AT_ONCE)).all()
        if not rows:
            return
        for row_id, settings in rows:
            if old in settings:
                renamed = {new if key == old else key: value for key, value in settings.items()}
                connection.execute(
                    ROUNDS.update().where(ROUNDS.c.id == row_id).values(settings=renamed)
                )
        last = rows[-1][0]
