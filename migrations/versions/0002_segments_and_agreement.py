"""segments, agreement of annotators, and dead effects among the waiting ones."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

WAITING_EFFECTS = """
with queues as (
    select
        min(id) as head, count(*) as waiting, count(distinct round_id) as rounds,
        min(created_at) as since
    from effects
    where status {waiting}
    group by monitor_id, sink
)
select
    m.name as monitor, e.sink, q.waiting, q.rounds, q.since, e.next_try, e.tries, e.last_error
from queues q
join effects e on e.id = q.head
join monitors m on m.id = e.monitor_id
"""


def remake_waiting_effects(waiting):
    op.execute("drop view waiting_effects")
    op.execute(f"create view waiting_effects as {WAITING_EFFECTS.format(waiting=waiting)}")


def upgrade():
    op.add_column("items", sa.Column("segments", sa.JSON(none_as_null=True), nullable=True))
    op.create_table(
        "segment_sizes",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("segment", sa.String(length=200), nullable=False),
        sa.Column("value", sa.String(length=100), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "stratum"],
            ["strata.round_id", "strata.stratum"],
            name=op.f("fk_segment_sizes_round_id_stratum_strata"),
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_segment_sizes_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint(
            "round_id", "stratum", "segment", "value", name=op.f("pk_segment_sizes")
        ),
        comment="Items of each stratum by the values of the segment columns.",
    )
    op.create_table(
        "segment_counts",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("segment", sa.String(length=200), nullable=False),
        sa.Column("value", sa.String(length=100), nullable=False),
        sa.Column("labeled", sa.Integer(), nullable=False),
        sa.Column("positive", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "stratum"],
            ["strata.round_id", "strata.stratum"],
            name=op.f("fk_segment_counts_round_id_stratum_strata"),
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_segment_counts_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint(
            "round_id", "version", "stratum", "segment", "value", name=op.f("pk_segment_counts")
        ),
        comment="The labels of each version by segment, where there are any; never changed.",
    )
    op.create_table(
        "segment_estimates",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("segment", sa.String(length=200), nullable=False),
        sa.Column("value", sa.String(length=100), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("flagged", sa.BigInteger(), nullable=False),
        sa.Column("labeled", sa.Integer(), nullable=False),
        sa.Column("point", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("margin", sa.Float(), nullable=True),
        sa.Column("more_round", sa.BigInteger(), nullable=True),
        sa.Column("more_segment", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_segment_estimates_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint(
            "round_id",
            "version",
            "segment",
            "value",
            "metric",
            name=op.f("pk_segment_estimates"),
        ),
        comment="Precision and recall of each segment, and the labels that its margin still needs.",
    )
    op.create_table(
        "agreements",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("disagreed", sa.Integer(), nullable=False),
        sa.Column("annotators", sa.Integer(), nullable=False),
        sa.Column("disagreement", sa.Float(), nullable=True),
        sa.Column("disagreement_low", sa.Float(), nullable=True),
        sa.Column("disagreement_high", sa.Float(), nullable=True),
        sa.Column("kappa", sa.Float(), nullable=True),
        sa.Column("kappa_low", sa.Float(), nullable=True),
        sa.Column("kappa_high", sa.Float(), nullable=True),
        sa.Column("alpha", sa.Float(), nullable=True),
        sa.Column("alpha_low", sa.Float(), nullable=True),
        sa.Column("alpha_high", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_agreements_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", name=op.f("pk_agreements")),
        comment="How far annotators agreed on the items that several of them answered.",
    )

    remake_waiting_effects("in ('waiting', 'dead')")


def downgrade():
    remake_waiting_effects("= 'waiting'")
    op.drop_table("agreements")
    op.drop_table("segment_estimates")
    op.drop_table("segment_counts")
    op.drop_table("segment_sizes")
    op.drop_column("items", "segments")
