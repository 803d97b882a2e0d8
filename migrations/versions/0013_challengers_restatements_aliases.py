"""snapshots of sources, aliases of models, restatements, challengers."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_ENDS = ("point", "low", "high")


def upgrade():
    op.add_column("rounds", sa.Column("snapshot", sa.Text(), nullable=True))
    _aliases()
    _restatements()
    _challengers()


def _aliases():
    op.create_table(
        "alias_looks",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=True),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alias_looks")),
        comment="Which version an alias such as models:/mail@champion named, from look to look.",
    )
    op.create_index(op.f("ix_alias_looks_model"), "alias_looks", ["model"])
    op.add_column("rounds", sa.Column("registered", sa.Text(), nullable=True))


def _restatements():
    op.create_table(
        "restatements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.String(length=100), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["monitors.id"], name=op.f("fk_restatements_monitor_id_monitors")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_restatements")),
        comment="New versions of old rounds that a person asked for.",
    )
    op.create_index(op.f("ix_restatements_monitor_id"), "restatements", ["monitor_id"])
    op.create_table(
        "restated_versions",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("restatement_id", sa.Integer(), nullable=False),
        sa.Column("before", sa.Integer(), nullable=False),
        sa.Column("own", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["restatement_id"],
            ["restatements.id"],
            name=op.f("fk_restated_versions_restatement_id_restatements"),
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_restated_versions_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", name=op.f("pk_restated_versions")),
        comment=(
            "Versions that a restatement made: of its own rounds, and of those that pool one."
        ),
    )
    op.create_index(
        op.f("ix_restated_versions_restatement_id"), "restated_versions", ["restatement_id"]
    )


def _challengers():
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
    for table, column in (
        ("restated_versions", "restatement_id"),
        ("restatements", "monitor_id"),
    ):
        op.drop_index(op.f(f"ix_{table}_{column}"), table_name=table)
        op.drop_table(table)
    op.drop_column("rounds", "registered")
    op.drop_index(op.f("ix_alias_looks_model"), "alias_looks")
    op.drop_table("alias_looks")
    op.drop_column("rounds", "snapshot")
