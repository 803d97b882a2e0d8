"""first tables and views."""

import uuid
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


VIEWS = {
    "confusion_matrices": """
with cells as (
    select
        c.round_id, c.version, s.flagged, s.size, s.planned, c.labeled, c.positive, c.declined,
        case when c.labeled > 0 then cast(s.size as double precision) * c.positive / c.labeled
             when s.size = 0 then 0 end as scaled_positive,
        case when c.labeled = 0 and s.size > 0 then 1 else 0 end as blank
    from counts c
    join strata s on s.round_id = c.round_id and s.stratum = c.stratum
),
sums as (
    select
        round_id, version,
        sum(case when flagged then positive else 0 end) as tp,
        sum(case when flagged then labeled - positive else 0 end) as fp,
        sum(case when flagged then 0 else positive end) as fn,
        sum(case when flagged then 0 else labeled - positive end) as tn,
        cast(sum(case when flagged then size else 0 end) as bigint) as flagged_size,
        cast(sum(case when flagged then 0 else size end) as bigint) as passed_size,
        sum(case when flagged then scaled_positive else 0 end) as scaled_tp,
        sum(case when flagged then 0 else scaled_positive end) as scaled_fn,
        sum(case when flagged then blank else 0 end) as flagged_blank,
        sum(case when flagged then 0 else blank end) as passed_blank,
        sum(declined) as declined,
        sum(planned - labeled - declined) as unanswered
    from cells
    group by round_id, version
)
select
    m.name as monitor, r.number as round, r.slot, x.version, x.version = r.version as latest,
    x.tp, x.fp, x.fn, x.tn, x.flagged_size, x.passed_size,
    case when flagged_blank = 0 then scaled_tp end as window_tp,
    case when flagged_blank = 0 then flagged_size - scaled_tp end as window_fp,
    case when passed_blank = 0 then scaled_fn end as window_fn,
    case when passed_blank = 0 then passed_size - scaled_fn end as window_tn,
    x.declined, x.unanswered, h.model_version, h.threshold
from sums x
join rounds r on r.id = x.round_id
join monitors m on m.id = r.monitor_id
join histories h on h.id = r.history_id
""",
    "latest_estimates": """
select
    m.name as monitor, r.number as round, r.slot, e.version, e.metric, e.estimand, e.basis,
    e.point, e.low, e.high, e.level, e.method, e.reason
from estimates e
join rounds r on r.id = e.round_id and r.version = e.version
join monitors m on m.id = r.monitor_id
""",
    "open_alerts": """
select
    m.name as monitor, a.metric, a.side, a."limit", a.fired_at, r.number as fired_in_round
from alerts a
join monitors m on m.id = a.monitor_id
join rounds r on r.id = a.fired_round_id
where a.state = 'firing'
""",
    "waiting_effects": """
with queues as (
    select
        min(id) as head, count(*) as waiting, count(distinct round_id) as rounds,
        min(created_at) as since
    from effects
    where status = 'waiting'
    group by monitor_id, sink
)
select
    m.name as monitor, e.sink, q.waiting, q.rounds, q.since, e.next_try, e.tries, e.last_error
from queues q
join effects e on e.id = q.head
join monitors m on m.id = e.monitor_id
""",
}


def upgrade():
    op.create_table(
        "monitors",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_monitors")),
        sa.UniqueConstraint("name", name=op.f("uq_monitors_name")),
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
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
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
    op.create_index(op.f("ix_rounds_history_id"), "rounds", ["history_id"], unique=False)
    op.create_index(op.f("ix_rounds_state"), "rounds", ["state"], unique=False)
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
        sa.Column("payload", sa.JSON(), nullable=False),
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
            ["round_id"], ["rounds.id"], name=op.f("fk_effects_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_effects")),
        sa.UniqueConstraint("key", name=op.f("uq_effects_key")),
        comment="Work to be done outside, written with the estimate and kept until done.",
    )
    op.create_index(
        op.f("ix_effects_status_monitor_id_sink"),
        "effects",
        ["status", "monitor_id", "sink"],
        unique=False,
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
        sa.Column("recovered", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_evidence_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "version", "metric", "side", name=op.f("pk_evidence")),
        comment="Evidence against each limit; version 1 is frozen at closing and alone may fire.",
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
        comment="The carried posterior of each predicted class, as output; never read back.",
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
        sa.ForeignKeyConstraint(
            ["round_id"], ["rounds.id"], name=op.f("fk_strata_round_id_rounds")
        ),
        sa.PrimaryKeyConstraint("round_id", "stratum", name=op.f("pk_strata")),
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
        "items",
        sa.Column("round_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("stratum", sa.String(length=40), nullable=False),
        sa.Column("order", sa.Integer(), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("predicted", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "stratum"],
            ["strata.round_id", "strata.stratum"],
            name=op.f("fk_items_round_id_stratum_strata"),
        ),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.id"], name=op.f("fk_items_round_id_rounds")),
        sa.PrimaryKeyConstraint("round_id", "id", name=op.f("pk_items")),
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

    for name, query in VIEWS.items():
        op.execute(f"create view {name} as {query}")

    op.bulk_insert(store, [{"id": str(uuid.uuid4()), "created_at": datetime.now(UTC)}])


def downgrade():
    for name in VIEWS:
        op.execute(f"drop view {name}")
    op.drop_table("tasks")
    op.drop_table("payloads")
    op.drop_index(op.f("ix_label_events_round_id_item_id"), table_name="label_events")
    op.drop_table("label_events")
    op.drop_table("items")
    op.drop_table("counts")
    op.drop_table("strata")
    op.drop_table("round_issues")
    op.drop_index(op.f("ix_round_events_round_id"), table_name="round_events")
    op.drop_table("round_events")
    op.drop_table("posteriors")
    op.drop_table("evidence")
    op.drop_table("estimates")
    op.drop_index(op.f("ix_effects_status_monitor_id_sink"), table_name="effects")
    op.drop_table("effects")
    op.drop_index(op.f("ix_alerts_monitor_id"), table_name="alerts")
    op.drop_table("alerts")
    op.drop_index(op.f("ix_rounds_state"), table_name="rounds")
    op.drop_index(op.f("ix_rounds_history_id"), table_name="rounds")
    op.drop_table("rounds")
    op.drop_table("labeler_cursors")
    op.drop_index(op.f("ix_histories_monitor_id"), table_name="histories")
    op.drop_table("histories")
    op.drop_table("store")
    op.drop_table("monitors")
