"""controls: gold items and repeats on the labeling page, which no estimate counts."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade():
    op.create_table(
        "page_control_rates",
        sa.Column("round_name", sa.String(length=200), nullable=False),
        sa.Column("repeats", sa.Float(), nullable=False),
        sa.Column("gold", sa.Float(), nullable=False),
        sa.Column("feedback", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_name"],
            ["page_rounds.name"],
            name=op.f("fk_page_control_rates_round_name_page_rounds"),
        ),
        sa.PrimaryKeyConstraint("round_name", name=op.f("pk_page_control_rates")),
        comment="How many controls the labeling page mixes into a round, in shares of its tasks.",
    )
    op.create_table(
        "page_gold",
        sa.Column("round_name", sa.String(length=200), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("truth", sa.String(length=12), nullable=False),
        sa.Column("shown", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_name"], ["page_rounds.name"], name=op.f("fk_page_gold_round_name_page_rounds")
        ),
        sa.PrimaryKeyConstraint("round_name", "item", name=op.f("pk_page_gold")),
        comment="Items whose truth is known, as they were when the tasks of the round went out.",
    )
    op.create_table(
        "page_controls",
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("round_name", sa.String(length=200), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("task_key", sa.String(length=40), nullable=True),
        sa.Column("gold_item", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_name"],
            ["page_rounds.name"],
            name=op.f("fk_page_controls_round_name_page_rounds"),
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_page_controls")),
        sa.UniqueConstraint(
            "round_name",
            "annotator",
            "task_key",
            name=op.f("uq_page_controls_round_name_annotator_task_key"),
        ),
        sa.UniqueConstraint(
            "round_name",
            "annotator",
            "gold_item",
            name=op.f("uq_page_controls_round_name_annotator_gold_item"),
        ),
        comment="Repeats and gold items that the labeling page has shown, and to whom.",
    )
    op.create_table(
        "page_control_answers",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("control_key", sa.String(length=40), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(length=12), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("after", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["control_key"],
            ["page_controls.key"],
            name=op.f("fk_page_control_answers_control_key_page_controls"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_page_control_answers")),
        sa.UniqueConstraint(
            "control_key", "revision", name=op.f("uq_page_control_answers_control_key_revision")
        ),
        comment="What people said to controls; rows are only ever added, and nothing counts them.",
    )


def downgrade():
    for table in ("page_control_answers", "page_controls", "page_gold", "page_control_rates"):
        op.drop_table(table)
