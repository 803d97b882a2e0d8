"""The tables of controls: what the labeling page asks besides the tasks of a round.

A control is an item whose answer is known (gold), or a task that the same person answered before
(a repeat). No label, count or evidence is made of these tables.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from monitor.storage.columns import BigId, UtcDateTime
from monitor.storage.page_tables import Said
from monitor.storage.tables import metadata

page_control_rates = Table(
    "page_control_rates",
    metadata,
    Column("round_name", ForeignKey("page_rounds.name"), primary_key=True),
    Column("repeats", Float, nullable=False),
    Column("gold", Float, nullable=False),
    Column("feedback", Boolean, nullable=False),
    comment="How many controls the labeling page mixes into a round, in shares of its tasks.",
)

page_gold = Table(
    "page_gold",
    metadata,
    Column("round_name", ForeignKey("page_rounds.name"), primary_key=True),
    Column("item", String(64), primary_key=True),
    Column("truth", String(12), nullable=False),
    Column("shown", JSON(none_as_null=True)),
    comment="Items whose truth is known, as they were when the tasks of the round went out.",
)

page_controls = Table(
    "page_controls",
    metadata,
    Column("key", String(40), primary_key=True),
    Column("round_name", ForeignKey("page_rounds.name"), nullable=False),
    Column("annotator", Text, nullable=False),
    Column("task_key", String(40)),  # the task that is asked again, or
    Column("gold_item", String(64)),  # the gold item
    UniqueConstraint("round_name", "annotator", "task_key"),
    UniqueConstraint("round_name", "annotator", "gold_item"),
    comment="Repeats and gold items that the labeling page has shown, and to whom.",
)

page_control_answers = Table(
    "page_control_answers",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("control_key", ForeignKey("page_controls.key"), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("answer", Said),  # null: taken back
    Column("at", UtcDateTime, nullable=False),
    Column("after", BigInteger, nullable=False),  # the person's last row of page_answers, or 0
    UniqueConstraint("control_key", "revision"),
    comment="What people said to controls; rows are only ever added, and nothing counts them.",
)
