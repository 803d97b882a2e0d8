"""What the draw counted of segments and challengers, as version 0 of these parts."""

from itertools import groupby

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_SEGMENTS = """
select round_id, stratum, segment, value, size from segment_sizes
order by round_id, stratum, segment, value
"""
_CHALLENGERS = """
select z.round_id, z.stratum, z.flagged, z.undecided
from challenger_sizes z join strata s on s.round_id = z.round_id and s.stratum = z.stratum
order by z.round_id, s.position
"""
_AT_ONCE = 500


def upgrade():
    for name, query in (("segments", _SEGMENTS), ("challenger", _CHALLENGERS)):
        _move(name, query)
    op.drop_table("segment_sizes")
    op.drop_table("challenger_sizes")


def _move(name, query):
    parts = sa.table(
        "round_parts",
        *(sa.column(column) for column in ("round_id", "version", "name")),
        sa.column("counts", sa.JSON),
    )
    connection = op.get_bind()
    rows = connection.execute(sa.text(query)).all()
    stored = [
        {"round_id": round_id, "version": 0, "name": name, "counts": [[*row[1:]] for row in of]}
        for round_id, of in groupby(rows, lambda row: row.round_id)
    ]
    for first in range(0, len(stored), _AT_ONCE):
        connection.execute(parts.insert(), stored[first : first + _AT_ONCE])


def downgrade():
    op.execute("delete from round_parts where version = 0")
    op.create_table(
        "challenger_sizes",
        *_stratum(),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("flagged", "undecided")),
        comment="Items of each stratum that the challenger flags, and on which it made no decision.",
    )
    op.create_table(
        "segment_sizes",
        *_stratum(),
        sa.Column("segment", sa.String(length=200), primary_key=True),
        sa.Column("value", sa.String(length=100), primary_key=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        comment="Items of each stratum by the values of the segment columns.",
    )


def _stratum():
    yield sa.Column("round_id", sa.Integer(), sa.ForeignKey("rounds.id"), primary_key=True)
    yield sa.Column("stratum", sa.String(length=40), primary_key=True)
    yield sa.ForeignKeyConstraint(["round_id", "stratum"], ["strata.round_id", "strata.stratum"])
