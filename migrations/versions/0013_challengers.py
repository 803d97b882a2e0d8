"""what a challenger decided, and how it compares."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_ENDS = ("point", "low", "high")


def upgrade():
    for table in ("items", "reserve"):
        op.add_column(table, sa.Column("challenged", sa.Boolean(), nullable=True))
    op.create_table(
        "challenger_sizes",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("flagged", sa.BigInteger(), nullable=False),
        sa.Column("undecided", sa.BigInteger(), nullable=False),
        *_keys("challenger_sizes", "round_id", "stratum"),
        _stratum("challenger_sizes"),
        comment="Items of each stratum that the challenger flags, and on which it made no decision.",
    )
    op.create_table(
        "challenger_counts",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("labeled", sa.Integer(), nullable=False),
        sa.Column("positive", sa.Integer(), nullable=False),
        *_keys("challenger_counts", "round_id", "version", "stratum", "flagged"),
        _stratum("challenger_counts"),
        comment="The labels of each version by the challenger's decision; never changed.",
    )
    op.create_table(
        "comparisons",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        *(
            sa.Column(f"{of}_{end}", sa.Float(), nullable=True)
            for of in ("champion", "challenger", "difference")
            for end in _ENDS
        ),
        sa.Column("higher", sa.Float(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        *_keys("comparisons", "round_id", "version", "rounds", "metric"),
        comment="The classifier and its challenger on the same labels, of one round or of several.",
    )


def _keys(table, *names):
    return (
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f(f"fk_{table}_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint(*names, name=op.f(f"pk_{table}")),
    )


def _stratum(table):
    return sa.ForeignKeyConstraint(
        ["round_id", "stratum"],
        ["strata.round_id", "strata.stratum"],
        name=op.f(f"fk_{table}_round_id_stratum_strata"),
    )


def downgrade():
    for table in ("comparisons", "challenger_counts", "challenger_sizes"):
        op.drop_table(table)
    for table in ("reserve", "items"):
        op.drop_column(table, "challenged")
