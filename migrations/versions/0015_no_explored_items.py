"""Items of a segment that rounds asked about beside their sample: no estimate rested on them."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade():
    connection = op.get_bind()
    _remove_explored(connection)
    op.drop_column("items", "explored")
    rounds = sa.table("rounds", sa.column("id", sa.BigInteger), sa.column("settings", sa.JSON))
    for id_, settings in connection.execute(sa.select(rounds.c.id, rounds.c.settings)).all():
        changed = {name: value for name, value in settings.items() if name != "explored"}
        sample = changed.get("sample") or {}
        if "segments" in sample:
            remaining = {name: value for name, value in sample.items() if name != "segments"}
            changed["sample"] = remaining
        if changed != settings:
            connection.execute(rounds.update().where(rounds.c.id == id_).values(settings=changed))


def _remove_explored(connection):
    """Delete these items with their tasks and answers; the figures of closed rounds stay."""
    items = sa.table(
        "items", *map(sa.column, ("round_id", "id")), sa.column("explored", sa.Boolean)
    )
    explored = sa.select(items.c.round_id, items.c.id).where(items.c.explored.is_(True))
    for round_id, item in connection.execute(explored).all():
        tasks = sa.table("tasks", *map(sa.column, ("key", "round_id", "item_id")))
        of_item = (tasks.c.round_id == round_id, tasks.c.item_id == item)
        keys = connection.scalars(sa.select(tasks.c.key).where(*of_item)).all()
        page_tasks = sa.table("page_tasks", sa.column("key"))
        connection.execute(page_tasks.delete().where(page_tasks.c.key.in_(keys)))
        for name in ("label_events", "tasks", "payloads"):
            table = sa.table(name, sa.column("round_id"), sa.column("item_id"))
            connection.execute(
                table.delete().where(table.c.round_id == round_id, table.c.item_id == item)
            )
        connection.execute(items.delete().where(items.c.round_id == round_id, items.c.id == item))


def downgrade():
    column = sa.Column("explored", sa.Boolean(), server_default=sa.false(), nullable=False)
    op.add_column("items", column)
