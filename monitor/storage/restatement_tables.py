"""Tables of restatements: who asked for one and why, and the versions that it made."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Integer, String, Table, Text

from monitor.storage.columns import UtcDateTime
from monitor.storage.tables import metadata

restatements = Table(
    "restatements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("monitor_id", ForeignKey("monitors.id"), nullable=False, index=True),
    Column("at", UtcDateTime, nullable=False),
    Column("by", String(100), nullable=False),
    Column("reason", Text, nullable=False),
    comment="New versions of old rounds that a person asked for.",
)

restated_versions = Table(
    "restated_versions",
    metadata,
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("restatement_id", ForeignKey("restatements.id"), nullable=False, index=True),
    Column("before", Integer, nullable=False),
    Column("own", Boolean, nullable=False),
    comment="Versions that a restatement made: of its own rounds, and of those that pool one.",
)
