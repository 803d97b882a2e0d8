"""First tables."""

import uuid
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade():
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
    op.create_index(op.f("ix_alias_looks_model"), "alias_looks", ["model"], unique=False)
    op.create_table(
        "monitors",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_monitors")),
        sa.UniqueConstraint("name", name=op.f("uq_monitors_name")),
    )
    op.create_table(
        "page_answers",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("task_key", sa.String(length=40), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(length=12), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_page_answers")),
        sa.UniqueConstraint(
            "task_key",
            "annotator",
            "revision",
            name=op.f("uq_page_answers_task_key_annotator_revision"),
        ),
        comment="What annotators said or took back on the labeling page; rows are only ever added.",
    )
    op.create_index(
        op.f("ix_page_answers_annotator_at"), "page_answers", ["annotator", "at"], unique=False
    )
    op.create_table(
        "page_attempts",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_page_attempts")),
        comment="Sign-ins that failed, by the hash of a name or of an address; forgotten after a day.",
    )
    op.create_table(
        "page_rounds",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("guideline", sa.Text(), nullable=True),
        sa.Column("choices", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_page_rounds")),
        comment="What the labeling page asks about each round, as it was when the tasks went out.",
    )
    op.create_table(
        "page_sessions",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("login", sa.String(length=8), nullable=True),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_page_sessions")),
        comment="Who may use the labeling page, by the hash of their cookie.",
    )
    op.create_table(
        "page_users",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=8), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_page_users")),
        comment="Who may use the pages by a token of their own, and what for.",
    )
    store = op.create_table(
        "store",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_store")),
        comment="One row: which store this is, so that MLflow can be shared by several.",
    )
    op.create_table(
        "histories",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("model_version", sa.Text(), nullable=True),
        sa.Column("threshold", sa.Float(), nullable=True),
        sa.Column("band_edges", sa.JSON(), nullable=False),
        sa.Column("reference", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["monitors.id"], name=op.f("fk_histories_monitor_id_monitors")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_histories")),
        sa.UniqueConstraint("monitor_id", "key", name=op.f("uq_histories_monitor_id_key")),
        comment="Rounds that may inform each other: one model version, threshold and set of bands.",
    )
    op.create_index(op.f("ix_histories_monitor_id"), "histories", ["monitor_id"], unique=False)
    op.create_table(
        "labeler_cursors",
        sa.Column("monitor_id", sa.Integer(), nullable=False),
        sa.Column("labeler", sa.String(length=40), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["monitors.id"], name=op.f("fk_labeler_cursors_monitor_id_monitors")
        ),
        sa.PrimaryKeyConstraint("monitor_id", "labeler", name=op.f("pk_labeler_cursors")),
    )
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
            "gold_item",
            name=op.f("uq_page_controls_round_name_annotator_gold_item"),
        ),
        sa.UniqueConstraint(
            "round_name",
            "annotator",
            "task_key",
            name=op.f("uq_page_controls_round_name_annotator_task_key"),
        ),
        comment="Repeats and gold items that the labeling page has shown, and to whom.",
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
        "page_tasks",
        sa.Column("round_name", sa.String(length=200), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("place", sa.String(length=64), nullable=False),
        sa.Column("item", sa.String(length=64), nullable=False),
        sa.Column("shown", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("held_by", sa.Text(), nullable=True),
        sa.Column("held_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_name"], ["page_rounds.name"], name=op.f("fk_page_tasks_round_name_page_rounds")
        ),
        sa.PrimaryKeyConstraint("round_name", "key", name=op.f("pk_page_tasks")),
        comment="Tasks on the labeling page, and who has which on the screen.",
    )
    op.create_index(op.f("ix_page_tasks_key"), "page_tasks", ["key"], unique=False)
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
    op.create_index(
        op.f("ix_restatements_monitor_id"), "restatements", ["monitor_id"], unique=False
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
    op.create_table(
        "page_shares",
        sa.Column("round_name", sa.String(length=200), nullable=False),
        sa.Column("task_key", sa.String(length=40), nullable=False),
        sa.Column("page_round", sa.String(length=200), nullable=False),
        sa.Column("page_key", sa.String(length=40), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("let_go", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["page_round", "page_key"],
            ["page_tasks.round_name", "page_tasks.key"],
            name=op.f("fk_page_shares_page_round_page_key_page_tasks"),
        ),
        sa.PrimaryKeyConstraint("round_name", "task_key", name=op.f("pk_page_shares")),
        comment="Tasks of monitors of a block that one task on the page answers; let_go once a round needs what it shows no more.",
    )
    op.create_index(
        op.f("ix_page_shares_page_round_page_key"),
        "page_shares",
        ["page_round", "page_key"],
        unique=False,
    )
    op.create_index(op.f("ix_page_shares_task_key"), "page_shares", ["task_key"], unique=False)
    op.create_table(
        "rounds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor_id", sa.Integer(), nullable=False),
        sa.Column("history_id", sa.Integer(), nullable=True),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("slot", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("seed", sa.String(length=64), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("labels_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("first_version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("first_look_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("second_wave_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("snapshot", sa.Text(), nullable=True),
        sa.Column("registered", sa.Text(), nullable=True),
        sa.Column("label_revision", sa.Integer(), nullable=False),
        sa.Column("estimated_revision", sa.Integer(), nullable=True),
        sa.Column("claimed_by", sa.String(length=200), nullable=True),
        sa.Column("claimed_until", sa.BigInteger(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["history_id"], ["histories.id"], name=op.f("fk_rounds_history_id_histories")
        ),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["monitors.id"], name=op.f("fk_rounds_monitor_id_monitors")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rounds")),
        sa.UniqueConstraint("monitor_id", "slot", name=op.f("uq_rounds_monitor_id_slot")),
    )
    op.create_index(
        op.f("ix_rounds_history_id_slot"), "rounds", ["history_id", "slot"], unique=False
    )
    op.create_index(
        op.f("ix_rounds_monitor_id_number"), "rounds", ["monitor_id", "number"], unique=False
    )
    op.create_index(op.f("ix_rounds_slot"), "rounds", ["slot"], unique=False)
    op.create_index(op.f("ix_rounds_state"), "rounds", ["state"], unique=False)
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
    op.create_table(
        "alerts",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("monitor_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        sa.Column("side", sa.String(length=10), nullable=False),
        sa.Column("limit", sa.Float(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("fired_round_id", sa.Integer(), nullable=False),
        sa.Column("fired_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_round_id", sa.Integer(), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_why", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["ended_round_id"], ["rounds.id"], name=op.f("fk_alerts_ended_round_id_rounds")
        ),
        sa.ForeignKeyConstraint(
            ["fired_round_id"], ["rounds.id"], name=op.f("fk_alerts_fired_round_id_rounds")
        ),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["monitors.id"], name=op.f("fk_alerts_monitor_id_monitors")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        sa.UniqueConstraint(
            "monitor_id",
            "metric",
            "side",
            "fired_round_id",
            name=op.f("uq_alerts_monitor_id_metric_side_fired_round_id"),
        ),
    )
    op.create_index(op.f("ix_alerts_monitor_id"), "alerts", ["monitor_id"], unique=False)
    op.create_index(op.f("ix_alerts_state"), "alerts", ["state"], unique=False)
    op.create_table(
        "comparisons",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        sa.Column("champion_point", sa.Float(), nullable=True),
        sa.Column("champion_low", sa.Float(), nullable=True),
        sa.Column("champion_high", sa.Float(), nullable=True),
        sa.Column("challenger_point", sa.Float(), nullable=True),
        sa.Column("challenger_low", sa.Float(), nullable=True),
        sa.Column("challenger_high", sa.Float(), nullable=True),
        sa.Column("difference_point", sa.Float(), nullable=True),
        sa.Column("difference_low", sa.Float(), nullable=True),
        sa.Column("difference_high", sa.Float(), nullable=True),
        sa.Column("higher", sa.Float(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_comparisons_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint(
            "round_id", "version", "rounds", "metric", name=op.f("pk_comparisons")
        ),
        comment="The classifier and its challenger on the same labels, of one round or of several.",
    )
    op.create_table(
        "concerns",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("noted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_concerns_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "kind", name=op.f("pk_concerns")),
        comment="What about a round needs somebody's attention, though it goes on.",
    )
    op.create_table(
        "estimates",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        sa.Column("estimand", sa.String(length=10), nullable=False),
        sa.Column("basis", sa.String(length=10), nullable=False),
        sa.Column("point", sa.Float(), nullable=True),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("level", sa.Float(), nullable=False),
        sa.Column("method", sa.String(length=60), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("bound_low", sa.Float(), nullable=True),
        sa.Column("bound_high", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_estimates_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint(
            "round_id", "version", "metric", "estimand", "basis", name=op.f("pk_estimates")
        ),
    )
    op.create_table(
        "evidence",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        sa.Column("side", sa.String(length=10), nullable=False),
        sa.Column("limit", sa.Float(), nullable=False),
        sa.Column("chain", sa.Integer(), nullable=False),
        sa.Column("order", sa.Integer(), nullable=False),
        sa.Column("log_e", sa.JSON(), nullable=False),
        sa.Column("log_m", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("log_evidence", sa.Float(), nullable=True),
        sa.Column("log_threshold", sa.Float(), nullable=False),
        sa.Column("fires", sa.Boolean(), nullable=False),
        sa.Column("log_recovery", sa.Float(), nullable=True),
        sa.Column("recovery_rounds", sa.Integer(), nullable=True),
        sa.Column("log_r", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_evidence_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", "metric", "side", name=op.f("pk_evidence")),
        comment="Evidence against each limit; version 1 is frozen at closing and alone may fire.",
    )
    op.create_table(
        "packed_counts",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_packed_counts_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_packed_counts")),
        comment="A cache: what `counts` and `strata` have of a version, in one row; may be emptied.",
    )
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
        "posteriors",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("predicted", sa.String(length=10), nullable=False),
        sa.Column("weight", sa.JSON(), nullable=False),
        sa.Column("alpha", sa.JSON(), nullable=False),
        sa.Column("beta", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_posteriors_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", "predicted", name=op.f("pk_posteriors")),
        comment="The pooled posterior of each predicted class, as output; never read back.",
    )
    op.create_table(
        "reports",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_reports_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", name=op.f("pk_reports")),
        comment="What each version of a round says, as MLflow is told and pages show it.",
    )
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
        comment="Versions that a restatement made: of its own rounds, and of those that pool one.",
    )
    op.create_index(
        op.f("ix_restated_versions_restatement_id"),
        "restated_versions",
        ["restatement_id"],
        unique=False,
    )
    op.create_table(
        "round_events",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("before", sa.String(length=20), nullable=True),
        sa.Column("after", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_round_events_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_round_events")),
    )
    op.create_index(op.f("ix_round_events_round_id"), "round_events", ["round_id"], unique=False)
    op.create_table(
        "round_issues",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("bad", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_round_issues_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "reason", name=op.f("pk_round_issues")),
        comment="Rows left out of the strata, and other things worth telling, per reason.",
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
        sa.Column("alone_point", sa.Float(), nullable=True),
        sa.Column("alone_low", sa.Float(), nullable=True),
        sa.Column("alone_high", sa.Float(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("margin", sa.Float(), nullable=True),
        sa.Column("more_round", sa.BigInteger(), nullable=True),
        sa.Column("more_segment", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_segment_estimates_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint(
            "round_id", "version", "segment", "value", "metric", name=op.f("pk_segment_estimates")
        ),
        comment="Precision and recall of each segment, and the labels that its margin still needs.",
    )
    op.create_table(
        "strata",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("low", sa.Float(), nullable=True),
        sa.Column("high", sa.Float(), nullable=True),
        sa.Column("unscored", sa.Boolean(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("planned", sa.Integer(), nullable=False),
        sa.Column("first_wave", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_strata_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "stratum", name=op.f("pk_strata")),
    )
    op.create_table(
        "challenger_counts",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("labeled", sa.Integer(), nullable=False),
        sa.Column("positive", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "stratum"],
            ["strata.round_id", "strata.stratum"],
            name=op.f("fk_challenger_counts_round_id_stratum_strata"),
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_challenger_counts_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint(
            "round_id", "version", "stratum", "flagged", name=op.f("pk_challenger_counts")
        ),
        comment="The labels of each version by the challenger's decision; never changed.",
    )
    op.create_table(
        "challenger_sizes",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("flagged", sa.BigInteger(), nullable=False),
        sa.Column("undecided", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "stratum"],
            ["strata.round_id", "strata.stratum"],
            name=op.f("fk_challenger_sizes_round_id_stratum_strata"),
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_challenger_sizes_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "stratum", name=op.f("pk_challenger_sizes")),
        comment="Items of each stratum that the challenger flags, and on which it made no decision.",
    )
    op.create_table(
        "counts",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("labeled", sa.Integer(), nullable=False),
        sa.Column("positive", sa.Integer(), nullable=False),
        sa.Column("declined", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "stratum"],
            ["strata.round_id", "strata.stratum"],
            name=op.f("fk_counts_round_id_stratum_strata"),
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_counts_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", "stratum", name=op.f("pk_counts")),
        comment="The stored confusion matrix of each version of a round; never changed.",
    )
    op.create_table(
        "effects",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("monitor_id", sa.Integer(), nullable=False),
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("sink", sa.String(length=120), nullable=False),
        sa.Column("report_version", sa.Integer(), nullable=True),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("next_try", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("receipt", sa.Text(), nullable=True),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_by", sa.String(length=200), nullable=True),
        sa.Column("claimed_until", sa.BigInteger(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["monitor_id"], ["monitors.id"], name=op.f("fk_effects_monitor_id_monitors")
        ),
        sa.ForeignKeyConstraint(
            ["round_id", "report_version"],
            ["reports.round_id", "reports.version"],
            name=op.f("fk_effects_round_id_report_version_reports"),
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_effects_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_effects")),
        sa.UniqueConstraint("key", name=op.f("uq_effects_key")),
        comment="Work to be done outside, written with the estimate and kept until done.",
    )
    op.create_index(op.f("ix_effects_round_id_kind"), "effects", ["round_id", "kind"], unique=False)
    op.create_index(
        op.f("ix_effects_status_monitor_id_sink"),
        "effects",
        ["status", "monitor_id", "sink"],
        unique=False,
    )
    op.create_table(
        "items",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("order", sa.Integer(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("predicted", sa.Boolean(), nullable=False),
        sa.Column("segments", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("challenged", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id", "stratum"],
            ["strata.round_id", "strata.stratum"],
            name=op.f("fk_items_round_id_stratum_strata"),
        ),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.id"], name=op.f("fk_items_round_id_rounds")),
        sa.PrimaryKeyConstraint("round_id", "id", name=op.f("pk_items")),
    )
    op.create_index(op.f("ix_items_id_round_id"), "items", ["id", "round_id"], unique=False)
    op.create_table(
        "reserve",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("order", sa.Integer(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("predicted", sa.Boolean(), nullable=False),
        sa.Column("segments", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("challenged", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id", "stratum"],
            ["strata.round_id", "strata.stratum"],
            name=op.f("fk_reserve_round_id_stratum_strata"),
        ),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_reserve_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "id", name=op.f("pk_reserve")),
        comment="Items of which wave 2 takes the first of each stratum; deleted then.",
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
        "label_events",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("labeler", sa.String(length=40), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("annotator", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("answer", sa.String(length=12), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "item_id"],
            ["items.round_id", "items.id"],
            name=op.f("fk_label_events_round_id_item_id_items"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label_events")),
        sa.UniqueConstraint(
            "labeler",
            "external_id",
            "revision",
            name=op.f("uq_label_events_labeler_external_id_revision"),
        ),
        comment="What annotators said or took back; rows are only ever added.",
    )
    op.create_index(
        op.f("ix_label_events_round_id_item_id"),
        "label_events",
        ["round_id", "item_id"],
        unique=False,
    )
    op.create_table(
        "payloads",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("shown", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "item_id"],
            ["items.round_id", "items.id"],
            name=op.f("fk_payloads_round_id_item_id_items"),
        ),
        sa.PrimaryKeyConstraint("round_id", "item_id", name=op.f("pk_payloads")),
        comment="What labelers see; apart from items, so that retention is one delete.",
    )
    op.create_table(
        "tasks",
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("external_ref", sa.Text(), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id", "item_id"],
            ["items.round_id", "items.id"],
            name=op.f("fk_tasks_round_id_item_id_items"),
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_tasks")),
        sa.UniqueConstraint(
            "round_id", "item_id", "slot", name=op.f("uq_tasks_round_id_item_id_slot")
        ),
        comment="One request to one annotator slot; the key is opaque to the labeler.",
    )
    op.bulk_insert(store, [{"id": str(uuid.uuid4()), "created_at": datetime.now(UTC)}])


def downgrade():
    op.drop_table("tasks")
    op.drop_table("payloads")
    op.drop_index(op.f("ix_label_events_round_id_item_id"), table_name="label_events")
    op.drop_table("label_events")
    op.drop_table("segment_sizes")
    op.drop_table("segment_counts")
    op.drop_table("reserve")
    op.drop_index(op.f("ix_items_id_round_id"), table_name="items")
    op.drop_table("items")
    op.drop_index(op.f("ix_effects_status_monitor_id_sink"), table_name="effects")
    op.drop_index(op.f("ix_effects_round_id_kind"), table_name="effects")
    op.drop_table("effects")
    op.drop_table("counts")
    op.drop_table("challenger_sizes")
    op.drop_table("challenger_counts")
    op.drop_table("strata")
    op.drop_table("segment_estimates")
    op.drop_table("round_issues")
    op.drop_index(op.f("ix_round_events_round_id"), table_name="round_events")
    op.drop_table("round_events")
    op.drop_index(op.f("ix_restated_versions_restatement_id"), table_name="restated_versions")
    op.drop_table("restated_versions")
    op.drop_table("reports")
    op.drop_table("posteriors")
    op.drop_table("planned_margins")
    op.drop_table("packed_counts")
    op.drop_table("evidence")
    op.drop_table("estimates")
    op.drop_table("concerns")
    op.drop_table("comparisons")
    op.drop_index(op.f("ix_alerts_state"), table_name="alerts")
    op.drop_index(op.f("ix_alerts_monitor_id"), table_name="alerts")
    op.drop_table("alerts")
    op.drop_table("agreements")
    op.drop_index(op.f("ix_rounds_state"), table_name="rounds")
    op.drop_index(op.f("ix_rounds_slot"), table_name="rounds")
    op.drop_index(op.f("ix_rounds_monitor_id_number"), table_name="rounds")
    op.drop_index(op.f("ix_rounds_history_id_slot"), table_name="rounds")
    op.drop_table("rounds")
    op.drop_index(op.f("ix_page_shares_task_key"), table_name="page_shares")
    op.drop_index(op.f("ix_page_shares_page_round_page_key"), table_name="page_shares")
    op.drop_table("page_shares")
    op.drop_table("page_control_answers")
    op.drop_index(op.f("ix_restatements_monitor_id"), table_name="restatements")
    op.drop_table("restatements")
    op.drop_index(op.f("ix_page_tasks_key"), table_name="page_tasks")
    op.drop_table("page_tasks")
    op.drop_table("page_gold")
    op.drop_table("page_controls")
    op.drop_table("page_control_rates")
    op.drop_table("labeler_cursors")
    op.drop_index(op.f("ix_histories_monitor_id"), table_name="histories")
    op.drop_table("histories")
    op.drop_table("store")
    op.drop_table("page_users")
    op.drop_table("page_sessions")
    op.drop_table("page_rounds")
    op.drop_table("page_attempts")
    op.drop_index(op.f("ix_page_answers_annotator_at"), table_name="page_answers")
    op.drop_table("page_answers")
    op.drop_table("monitors")
    op.drop_index(op.f("ix_alias_looks_model"), table_name="alias_looks")
    op.drop_table("alias_looks")
