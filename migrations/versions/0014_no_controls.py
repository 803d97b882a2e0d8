"""Gold items and repeats of the labeling page, which no estimate used."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_SETTINGS = ("repeats", "gold", "gold_share", "gold_feedback")


def upgrade():
    for table in ("page_control_answers", "page_controls", "page_gold", "page_control_rates"):
        op.drop_table(table)
    rounds = sa.table("rounds", sa.column("id", sa.BigInteger), sa.column("settings", sa.JSON))
    connection = op.get_bind()
    for id_, settings in connection.execute(sa.select(rounds.c.id, rounds.c.settings)).all():
        labeling = settings.get("labeling") or {}
        remaining = {name: value for name, value in labeling.items() if name not in _SETTINGS}
        if remaining != labeling:
            changed = {**settings, "labeling": remaining}
            connection.execute(rounds.update().where(rounds.c.id == id_).values(settings=changed))


def downgrade():
    op.create_table(
        "page_control_rates",
        _round(),
        sa.Column("repeats", sa.Float(), nullable=False),
        sa.Column("gold", sa.Float(), nullable=False),
        sa.Column("feedback", sa.Boolean(), nullable=False),
        comment="How many controls the labeling page mixes into a round, in shares of its tasks.",
    )
    op.create_table(
        "page_gold",
        _round(),
        sa.Column("item", sa.String(length=64), primary_key=True),
        sa.Column("truth", sa.String(length=12), nullable=False),
        sa.Column("shown", sa.JSON(none_as_null=True)),
        comment="Items whose truth is known, as they were when the tasks of the round went out.",
    )
    op.create_table(
        "page_controls",
        sa.Column("key", sa.String(length=40), primary_key=True),
        _round(primary_key=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("task_key", sa.String(length=40)),
        sa.Column("gold_item", sa.String(length=64)),
        sa.UniqueConstraint("round_name", "annotator", "task_key"),
        sa.UniqueConstraint("round_name", "annotator", "gold_item"),
        comment="Repeats and gold items that the labeling page has shown, and to whom.",
    )
    op.create_table(
        "page_control_answers",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
        ),
        sa.Column(
            "control_key", sa.String(length=40), sa.ForeignKey("page_controls.key"), nullable=False
        ),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(length=12)),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("after", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("control_key", "revision"),
        comment="What people said to controls; rows are only ever added, and nothing counts them.",
    )


def _round(*, primary_key=True):
    return sa.Column(
        "round_name",
        sa.String(length=200),
        sa.ForeignKey("page_rounds.name"),
        primary_key=primary_key,
        nullable=False,
    )
