"""people who sign in, controls on the labeling page, margins that hold."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade():
    _people()
    _controls()
    _margins()


def _people():
    op.add_column("page_sessions", sa.Column("login", sa.String(length=8), nullable=True))
    op.create_table(
        "page_users",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=8), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_page_users")),
        comment="Who may use the pages by a token of their own, and what for.",
    )
    op.create_table(
        "page_attempts",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_page_attempts")),
        comment=(
            "Sign-ins that failed, by the hash of a name or of an address; forgotten after a day."
        ),
    )


def _controls():
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


def _margins():
    op.create_table(
        "planned_margins",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        sa.Column("half_width", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_planned_margins_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "metric", name=op.f("pk_planned_margins")),
        comment="Half-widths that the plan of a round expects of its intervals, before any answer.",
    )
    op.create_table(
        "stopped_rounds",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("planned", sa.Integer(), nullable=False),
        sa.Column("kept", sa.Integer(), nullable=False),
        sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_stopped_rounds_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_stopped_rounds")),
        comment="Rounds that ended once their margins held; strata.planned then has what was kept.",
    )


def downgrade():
    for table in (
        "stopped_rounds",
        "planned_margins",
        "page_control_answers",
        "page_controls",
        "page_gold",
        "page_control_rates",
        "page_attempts",
        "page_users",
    ):
        op.drop_table(table)
    op.drop_column("page_sessions", "login")
