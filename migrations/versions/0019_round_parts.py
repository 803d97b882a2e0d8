"""One table for what the parts of a report count of each version, in place of six.

Their rows become JSON once; what segments and agreement said is in the reports already.
"""

from itertools import groupby

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_ENDS = ("point", "low", "high")
_AGREEMENT = [
    *("items", "disagreed", "annotators"),
    *(f"{of}{end}" for of in ("disagreement", "kappa", "alpha") for end in ("", "_low", "_high")),
]
_CHECKS = ("tp", "fn", "tn", "fp")
_OLD = [
    *("agreements", "challenger_counts", "label_checks"),
    *("segment_counts", "segment_estimates", "segment_evidence"),
]
_AT_ONCE = 500

# A version of which no item with a segment has a label has a row of nulls.
_SEGMENTS = """
select v.round_id, v.version, s.stratum, s.segment, s.value, s.labeled, s.positive
from (select distinct round_id, version from counts) v
left join segment_counts s on s.round_id = v.round_id and s.version = v.version
where exists (select 1 from segment_sizes z where z.round_id = v.round_id)
order by v.round_id, v.version
"""
_CHALLENGERS = """
select
    v.round_id, v.version, t.stratum, t.flagged, t.size, z.flagged as challenged, z.undecided,
    t.planned, coalesce(n.labeled, 0) as passed, coalesce(y.labeled, 0) as decided,
    coalesce(n.positive, 0) as passed_positive, coalesce(y.positive, 0) as decided_positive
from (select distinct round_id, version from counts) v
join challenger_sizes z on z.round_id = v.round_id
join strata t on t.round_id = z.round_id and t.stratum = z.stratum
left join challenger_counts n on n.round_id = v.round_id and n.version = v.version
    and n.stratum = z.stratum and not n.flagged
left join challenger_counts y on y.round_id = v.round_id and y.version = v.version
    and y.stratum = z.stratum and y.flagged
order by v.round_id, v.version, t.position
"""
_SEARCHES = """
select r.id as round_id, r.version, e.evidence
from segment_evidence e join rounds r on r.id = e.round_id
"""


def upgrade():
    op.create_table(
        "round_parts",
        *_version(),
        sa.Column("name", sa.String(length=40), primary_key=True),
        sa.Column("counts", sa.JSON(), nullable=False),
        comment="What parts of the report counted of each version, for the rounds after it.",
    )
    _move("segments", sa.text(_SEGMENTS), _segments)
    # Only the newest version is read again.
    searches = sa.text(_SEARCHES).columns(evidence=sa.JSON())
    _move("segment_search", searches, lambda rows: rows[0].evidence)
    challengers = sa.text(_CHALLENGERS).columns(flagged=sa.Boolean())
    _move("challenger", challengers, _challenger)
    figures = f"select round_id, version, {', '.join(_AGREEMENT)} from agreements"
    _move("agreement", sa.text(figures), lambda rows: _picked(rows[0], _AGREEMENT))
    checks = sa.text("select * from label_checks order by round_id, version")
    _move("checks", checks.columns(flagged=sa.Boolean()), _checks)
    for name in _OLD:
        op.drop_table(name)


def _move(name, query, counts_of):
    """Store the counts of a part by version, made of its rows, which are read in their order."""
    parts = sa.table(
        "round_parts",
        *(sa.column(column) for column in ("round_id", "version", "name")),
        sa.column("counts", sa.JSON),
    )
    connection = op.get_bind()
    rows = connection.execute(query).all()
    stored = [
        {"round_id": round_id, "version": version, "name": name, "counts": counts_of([*of])}
        for (round_id, version), of in groupby(rows, lambda row: (row.round_id, row.version))
    ]
    for first in range(0, len(stored), _AT_ONCE):
        connection.execute(parts.insert(), stored[first : first + _AT_ONCE])


def _segments(rows):
    return sorted([*row[2:]] for row in rows if row.stratum is not None)


def _challenger(rows):
    return [[*row[2:8], [*row[8:10]], [*row[10:12]]] for row in rows]


def _checks(rows):
    return {"flagged" if row.flagged else "passed": _picked(row, _CHECKS) for row in rows}


def _picked(row, names):
    return {name: getattr(row, name) for name in names}


def downgrade():
    op.drop_table("round_parts")
    op.create_table(
        "agreements",
        *_version(),
        *_columns(sa.Integer(), *_AGREEMENT[:3], nullable=False),
        *_columns(sa.Float(), *_AGREEMENT[3:]),
        comment="How far annotators agreed on the items that several of them answered.",
    )
    op.create_table(
        "challenger_counts",
        *_version(),
        *_stratum(),
        sa.Column("flagged", sa.Boolean(), primary_key=True),
        *_columns(sa.Integer(), "labeled", "positive", nullable=False),
        comment="The labels of each version by the challenger's decision; never changed.",
    )
    op.create_table(
        "label_checks",
        *_version(),
        sa.Column("flagged", sa.Boolean(), primary_key=True),
        *_columns(sa.Integer(), *_CHECKS, nullable=False),
        comment="How a column labels items whose truth people say, by predicted class.",
    )
    op.create_table(
        "segment_counts",
        *_version(),
        *_stratum(),
        *_segment(),
        *_columns(sa.Integer(), "labeled", "positive", nullable=False),
        comment="The labels of each version by segment, where there are any; never changed.",
    )
    op.create_table(
        "segment_estimates",
        *_version(),
        *_segment(),
        sa.Column("metric", sa.String(length=40), primary_key=True),
        *_columns(sa.BigInteger(), "size", "flagged", nullable=False),
        sa.Column("labeled", sa.Integer(), nullable=False),
        *_columns(sa.Float(), *_ENDS, *(f"alone_{end}" for end in _ENDS)),
        sa.Column("reason", sa.Text()),
        sa.Column("margin", sa.Float()),
        *_columns(sa.BigInteger(), "more_round", "more_segment"),
        comment="Precision and recall of each segment, and the labels that its margin still needs.",
    )
    op.create_table(
        "segment_evidence",
        sa.Column("round_id", sa.Integer(), sa.ForeignKey("rounds.id"), primary_key=True),
        sa.Column("evidence", sa.JSON(), nullable=False),
        comment="Errors of a round's segments and pairs against the rest, for the search over rounds.",
    )


def _version():
    yield sa.Column("round_id", sa.Integer(), sa.ForeignKey("rounds.id"), primary_key=True)
    yield sa.Column("version", sa.Integer(), primary_key=True)


def _stratum():
    yield sa.Column("stratum", sa.String(length=40), primary_key=True)
    yield sa.ForeignKeyConstraint(["round_id", "stratum"], ["strata.round_id", "strata.stratum"])


def _segment():
    yield sa.Column("segment", sa.String(length=200), primary_key=True)
    yield sa.Column("value", sa.String(length=100), primary_key=True)


def _columns(kind, *names, nullable=True):
    return (sa.Column(name, kind, nullable=nullable) for name in names)
