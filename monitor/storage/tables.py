"""The tables. `migrations/` creates the same ones, and a test compares them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Constraint,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

_NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
"""Names of constraints: a migration can only drop a constraint that has a name."""

# SQLite autoincrements only columns of type INTEGER.
BigId = BigInteger().with_variant(Integer, "sqlite")


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC times in Python; SQLite stores them without the zone, PostgreSQL with it."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """Refuse times without a zone."""
        if value is None:
            return None
        if value.tzinfo is None:
            message = f"a time without a zone cannot be stored: {value.isoformat()}"
            raise ValueError(message)
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return times as aware UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData(naming_convention=_NAMING)


def define_table(
    name: str, *parts: Column[Any] | Constraint | Index, comment: str | None = None
) -> Table:
    """Define a table of the store from columns and constraints."""
    return Table(name, metadata, *parts, comment=comment)


def required(kind: Any, *names: str) -> Iterator[Column[Any]]:
    """Return columns of one type that cannot be null."""
    return (Column(name, kind, nullable=False) for name in names)


def optional(kind: Any, *names: str) -> Iterator[Column[Any]]:
    """Return columns of one type that can be null."""
    return (Column(name, kind) for name in names)


def _version() -> tuple[Column[Any], Column[Any]]:
    round_id: Column[Any] = Column("round_id", ForeignKey("rounds.id"), primary_key=True)
    return round_id, Column("version", Integer, primary_key=True)


def _stratum(*more: Column[Any]) -> Iterator[Column[Any] | Constraint]:
    """Yield the key columns of a table by stratum of a round, and further ones."""
    yield Column("stratum", String(40), primary_key=True)
    yield from more
    yield ForeignKeyConstraint(["round_id", "stratum"], ["strata.round_id", "strata.stratum"])


store = define_table(
    "store",
    Column("id", String(36), primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    comment="One row: which store this is, so that MLflow can be shared by several.",
)

monitors = define_table(
    "monitors",
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
)

histories = define_table(
    "histories",
    Column("id", Integer, primary_key=True),
    Column("monitor_id", ForeignKey("monitors.id"), nullable=False, index=True),
    Column("key", String(64), nullable=False),
    Column("model_version", Text),
    Column("threshold", Float),
    Column("band_edges", JSON, nullable=False),
    Column("reference", JSON(none_as_null=True)),
    Column("opened_at", UtcDateTime, nullable=False),
    Column("revision", Integer, nullable=False, default=0),
    UniqueConstraint("monitor_id", "key"),
    comment="Rounds that may inform each other: one model version, threshold and set of bands.",
)

rounds = define_table(
    "rounds",
    Column("id", Integer, primary_key=True),
    Column("monitor_id", ForeignKey("monitors.id"), nullable=False),
    Column("history_id", ForeignKey("histories.id")),
    Column("number", Integer, nullable=False),
    *required(UtcDateTime, "slot", "window_start", "window_end"),
    Column("state", String(20), nullable=False),
    Column("reason", Text),
    Column("settings", JSON, nullable=False),
    Column("seed", String(64), nullable=False),
    Column("rows", BigInteger),
    Column("opened_at", UtcDateTime, nullable=False),
    *optional(UtcDateTime, "deadline", "closed_at", "labels_until"),
    Column("partial", Boolean, nullable=False, default=False),
    Column("version", Integer, nullable=False, default=0),
    Column("first_version", Integer, nullable=False, server_default=text("1")),
    *optional(UtcDateTime, "first_look_at"),
    Column("snapshot", Text),  # of the source, where its states can be read again
    Column("registered", Text),  # the version that the model's alias named for the window
    Column("label_revision", Integer, nullable=False, default=0),
    Column("estimated_revision", Integer),
    Column("evidence_revision", Integer),  # of the labels whose evidence was read while it is open
    *optional(UtcDateTime, "evidence_due_at"),  # when answers too new for that reading count
    Column("claimed_by", String(200)),
    Column("claimed_until", BigInteger),  # ms by the database's clock: those of workers differ
    Column("attempt", Integer, nullable=False, default=0),
    UniqueConstraint("monitor_id", "slot"),
    Index(None, "state"),
    Index(None, "slot"),  # the newest of all monitors
    Index(None, "monitor_id", "number"),
    Index(None, "history_id", "slot"),
)

strata = define_table(
    "strata",
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("stratum", String(40), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("flagged", Boolean, nullable=False),
    *optional(Float, "low", "high"),
    Column("unscored", Boolean, nullable=False, default=False),
    Column("verdict", String(10)),  # of the judge; null without one
    Column("size", BigInteger, nullable=False),
    Column("planned", Integer, nullable=False),
    # What the size was estimated from, or minus the equal items of an amount; null if counted.
    Column("rows", BigInteger),
)

items = define_table(
    "items",
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("id", Text, primary_key=True),
    *required(String(40), "stratum"),
    *required(Integer, "order"),
    *optional(Float, "score"),
    *required(Boolean, "predicted"),
    *optional(JSON(none_as_null=True), "segments"),
    # Whether the challenger flags it; nobody who labels sees that.
    *optional(Boolean, "challenged"),
    ForeignKeyConstraint(["round_id", "stratum"], ["strata.round_id", "strata.stratum"]),
    Index(None, "id", "round_id"),  # finds the rounds that asked about an item before
)

payloads = define_table(
    "payloads",
    Column("round_id", Integer, primary_key=True),
    Column("item_id", Text, primary_key=True),
    Column("shown", JSON, nullable=False),
    ForeignKeyConstraint(["round_id", "item_id"], ["items.round_id", "items.id"]),
    comment="What labelers see; apart from items, so that retention is one delete.",
)

tasks = define_table(
    "tasks",
    Column("key", String(40), primary_key=True),
    Column("round_id", Integer, nullable=False),
    Column("item_id", Text, nullable=False),
    Column("slot", Integer, nullable=False, default=1),
    Column("part", Integer, nullable=False, server_default="0"),
    Column("external_ref", Text),
    Column("sent_at", UtcDateTime),
    ForeignKeyConstraint(["round_id", "item_id"], ["items.round_id", "items.id"]),
    UniqueConstraint("round_id", "item_id", "slot"),
    comment="One request to one annotator slot; the key is opaque to the labeler.",
)

label_events = define_table(
    "label_events",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("round_id", Integer, nullable=False),
    Column("item_id", Text, nullable=False),
    Column("labeler", String(40), nullable=False),
    # With the labeler these two name a statement: what is collected twice is stored once.
    Column("external_id", Text, nullable=False),
    Column("revision", String(32), nullable=False),
    Column("annotator", Text, nullable=False),
    Column("kind", String(10), nullable=False),
    Column("answer", String(12)),
    *required(UtcDateTime, "at", "received_at"),
    ForeignKeyConstraint(["round_id", "item_id"], ["items.round_id", "items.id"]),
    UniqueConstraint("labeler", "external_id", "revision"),
    Index(None, "round_id", "item_id"),
    comment="What annotators said or took back; rows are only ever added.",
)

censuses = define_table(
    "censuses",
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("state", String(64), nullable=False),  # of the truth that was counted
    Column("cells", JSON, nullable=False),  # [stratum, segment, value, {answer: items}]
    Column("read_at", UtcDateTime, nullable=False),
    comment="The labels of all items of some strata as they are now; versions keep theirs.",
)

provisionals = define_table(
    "provisionals",
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("at", UtcDateTime, primary_key=True),
    Column("flagged", BigInteger, nullable=False),  # positive labels by then, of each class
    Column("passed", BigInteger, nullable=False),
    Column("estimate", JSON(none_as_null=True)),  # null once the round has closed
    comment="Positive labels as they came, and what a round showed before they were all there.",
)

labeler_cursors = define_table(
    "labeler_cursors",
    Column("monitor_id", ForeignKey("monitors.id"), primary_key=True),
    Column("labeler", String(40), primary_key=True),
    Column("cursor", Text, nullable=False),
)

counts = define_table(
    "counts",
    *_version(),
    *_stratum(),
    *required(Integer, "labeled", "positive", "declined"),
    comment="The stored confusion matrix of each version of a round; never changed.",
)

packed_counts = define_table(
    "packed_counts",
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("counts", LargeBinary, nullable=False),
    comment="A cache: what `counts` and `strata` have of a version, in one row; may be emptied.",
)

estimates = define_table(
    "estimates",
    *_version(),
    Column("metric", String(40), primary_key=True),
    Column("estimand", String(10), primary_key=True),
    Column("basis", String(10), primary_key=True),
    *optional(Float, "point", "low", "high"),
    Column("level", Float, nullable=False),
    Column("method", String(60), nullable=False),
    Column("reason", Text),
    *optional(Float, "bound_low", "bound_high"),
)

round_parts = define_table(
    "round_parts",
    *_version(),
    Column("name", String(40), primary_key=True),
    Column("counts", JSON, nullable=False),
    comment="What parts of the report counted of each version, for the rounds after it.",
)

evidence = define_table(
    "evidence",
    *_version(),
    Column("metric", String(40), primary_key=True),
    Column("side", String(10), primary_key=True),
    Column("limit", Float, nullable=False),
    *required(Integer, "chain", "order"),
    Column("log_e", JSON, nullable=False),
    *optional(JSON(none_as_null=True), "log_path", "log_m"),
    Column("log_evidence", Float),
    Column("log_threshold", Float, nullable=False),
    Column("fires", Boolean, nullable=False),
    Column("log_recovery", Float),
    Column("recovery_rounds", Integer),
    Column("log_r", Float),
    comment="Evidence against each limit; version 1 is frozen at closing and alone may fire.",
)

alerts = define_table(
    "alerts",
    Column("id", String(36), primary_key=True),
    Column("monitor_id", ForeignKey("monitors.id"), nullable=False, index=True),
    Column("metric", String(40), nullable=False),
    Column("side", String(10), nullable=False),
    Column("limit", Float, nullable=False),
    Column("state", String(10), nullable=False),
    Column("fired_round_id", ForeignKey("rounds.id"), nullable=False),
    Column("fired_at", UtcDateTime, nullable=False),
    Column("ended_round_id", ForeignKey("rounds.id")),
    Column("ended_at", UtcDateTime),
    Column("ended_why", Text),
    UniqueConstraint("monitor_id", "metric", "side", "fired_round_id"),
    Index(None, "state"),
)

alert_notes = define_table(
    "alert_notes",
    Column("id", Integer, primary_key=True),
    Column("alert_id", ForeignKey("alerts.id"), nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Column("by", String(100), nullable=False),
    Column("text", String(400), nullable=False),
    UniqueConstraint("alert_id", "text"),
    comment="What people did about alerts, in their words; nothing else copies these texts.",
)

reports = define_table(
    "reports",
    *_version(),
    Column("payload", JSON, nullable=False),
    comment="What each version of a round says, as MLflow is told and pages show it.",
)

effects = define_table(
    "effects",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("key", Text, nullable=False, unique=True),
    Column("monitor_id", ForeignKey("monitors.id"), nullable=False),
    Column("round_id", ForeignKey("rounds.id"), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("sink", String(120), nullable=False),
    Column("report_version", Integer),
    Column("payload", JSON(none_as_null=True)),
    Column("status", String(10), nullable=False),
    *required(UtcDateTime, "created_at", "next_try"),
    Column("tries", Integer, nullable=False, default=0),
    *optional(Text, "last_error", "receipt"),
    Column("done_at", UtcDateTime),
    Column("claimed_by", String(200)),
    Column("claimed_until", BigInteger),
    Column("attempt", Integer, nullable=False, default=0),
    ForeignKeyConstraint(["round_id", "report_version"], ["reports.round_id", "reports.version"]),
    Index(None, "status", "monitor_id", "sink"),  # finds the heads of queues at every pass
    Index(None, "round_id", "kind"),
    comment="Work to be done outside, written with the estimate and kept until done.",
)

round_events = define_table(
    "round_events",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("round_id", ForeignKey("rounds.id"), nullable=False, index=True),
    Column("at", UtcDateTime, nullable=False),
    Column("before", String(20)),
    Column("after", String(20), nullable=False),
    Column("reason", Text, nullable=False),
)

round_issues = define_table(
    "round_issues",
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("reason", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("bad", Boolean, nullable=False),
    comment="Rows left out of the strata, and other things worth telling, per reason.",
)

concerns = define_table(
    "concerns",
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("kind", String(40), primary_key=True),
    Column("sentence", Text, nullable=False),
    Column("noted_at", UtcDateTime, nullable=False),
    comment="What about a round needs somebody's attention, though it goes on.",
)

planned_margins = define_table(
    "planned_margins",
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("metric", String(40), primary_key=True),
    Column("half_width", Float, nullable=False),
    comment="Half-widths that the plan of a round expects of its intervals, before any answer.",
)

restatements = define_table(
    "restatements",
    Column("id", Integer, primary_key=True),
    Column("monitor_id", ForeignKey("monitors.id"), nullable=False, index=True),
    Column("at", UtcDateTime, nullable=False),
    Column("by", String(100), nullable=False),
    Column("reason", Text, nullable=False),
    comment="New versions of old rounds that a person asked for.",
)

restated_versions = define_table(
    "restated_versions",
    *_version(),
    Column("restatement_id", ForeignKey("restatements.id"), nullable=False, index=True),
    Column("before", Integer, nullable=False),
    Column("own", Boolean, nullable=False),
    comment="Versions that a restatement made: of its own rounds, and of those that pool one.",
)
