"""Judges that were asked: their verdicts, what they cost, and the settings that named them.

Rounds that such a judge cut go on without it, with a concern: sizes by its verdict were estimated,
and count as exact from now on.
"""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_OPEN = "the round was opened with a judge that was asked, so it is drawn without a judge"
_DRAWN = (
    "the round was drawn by a judge that was asked; the sizes of its strata by verdict are "
    "estimates, and intervals take them as counted"
)


def upgrade():
    op.drop_table("judgings")
    op.drop_index(op.f("ix_verdicts_round_id"), table_name="verdicts")
    op.drop_table("verdicts")
    rounds = sa.table(
        "rounds",
        sa.column("id", sa.Integer),
        sa.column("state", sa.String),
        sa.column("settings", sa.JSON),
    )
    connection = op.get_bind()
    columns = (rounds.c.id, rounds.c.state, rounds.c.settings)
    for id_, state, settings in connection.execute(sa.select(*columns)).all():
        judge = settings.get("judge")
        if judge is None:
            continue
        is_column = judge.get("kind", "column") == "column"
        if not is_column and state in {"open", "labeling", "closed"}:
            _add_concern(connection, id_, _OPEN if state == "open" else _DRAWN)
        remaining = {name: value for name, value in judge.items() if name != "kind"}
        changed = {**settings, "judge": remaining if is_column else None}
        connection.execute(rounds.update().where(rounds.c.id == id_).values(settings=changed))
    op.drop_column("strata", "judged")


def _add_concern(connection, round_id, sentence):
    concerns = sa.table(
        "concerns",
        *(sa.column(name) for name in ("round_id", "kind", "sentence")),
        sa.column("noted_at", sa.DateTime(timezone=True)),
    )
    same = (concerns.c.round_id == round_id) & (concerns.c.kind == "judge")
    connection.execute(concerns.delete().where(same))
    row = {"round_id": round_id, "kind": "judge", "sentence": sentence}
    connection.execute(concerns.insert().values(noted_at=datetime.now(UTC), **row))


def downgrade():
    op.add_column("strata", sa.Column("judged", sa.Integer(), nullable=True))
    op.create_table(
        "verdicts",
        sa.Column("monitor_id", sa.Integer(), sa.ForeignKey("monitors.id"), primary_key=True),
        sa.Column("judge", sa.String(length=32), primary_key=True),
        sa.Column("item_id", sa.Text(), primary_key=True),
        sa.Column("seen", sa.String(length=32), primary_key=True),
        sa.Column("round_id", sa.Integer(), sa.ForeignKey("rounds.id"), nullable=False),
        sa.Column("verdict", sa.String(length=10), nullable=False),
        sa.Column("fault", sa.String(length=100)),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        comment="What a judge that is asked said of items, so that none is asked about twice.",
    )
    op.create_index(op.f("ix_verdicts_round_id"), "verdicts", ["round_id"], unique=False)
    op.create_table(
        "judgings",
        sa.Column("round_id", sa.Integer(), sa.ForeignKey("rounds.id"), primary_key=True),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("items", sa.Integer()),
        sa.Column("why", sa.Text()),
        comment="What asking its judge has cost a round.",
    )
