"""The tables of the labeling page: nothing in them knows of a prediction."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from monitor.storage.columns import BigId, UtcDateTime
from monitor.storage.tables import metadata

page_rounds = Table(
    "page_rounds",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("question", Text, nullable=False),
    Column("guideline", Text),
    Column("sent_at", UtcDateTime, nullable=False),
    comment="What the labeling page asks about each round, as it was when the tasks went out.",
)

page_tasks = Table(
    "page_tasks",
    metadata,
    Column("round_name", ForeignKey("page_rounds.name"), primary_key=True),
    Column("key", String(40), primary_key=True),
    Column("place", String(64), nullable=False),  # a random order that knows nothing of strata
    Column("item", String(64), nullable=False),  # the same for copies that need two people
    Column("shown", JSON(none_as_null=True)),
    Column("held_by", Text),
    Column("held_until", UtcDateTime),
    Index(None, "key"),
    comment="Tasks on the labeling page, and who has which on the screen.",
)

page_answers = Table(
    "page_answers",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("task_key", String(40), nullable=False),
    Column("annotator", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("answer", String(12)),  # null: taken back
    Column("at", UtcDateTime, nullable=False),
    UniqueConstraint("task_key", "annotator", "revision"),
    Index(None, "annotator", "at"),
    comment="What annotators said or took back on the labeling page; rows are only ever added.",
)

page_sessions = Table(
    "page_sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("annotator", Text, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("login", String(8)),  # who let them in: users, mlflow, or null for a link
    comment="Who may use the labeling page, by the hash of their cookie.",
)
