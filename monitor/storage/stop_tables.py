"""Tables about the margins of a round: those its plan expects, and a stop once they held."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Integer, String, Table

from monitor.storage.columns import UtcDateTime
from monitor.storage.tables import metadata

planned_margins = Table(
    "planned_margins",
    metadata,
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("metric", String(40), primary_key=True),
    Column("half_width", Float, nullable=False),
    comment="Half-widths that the plan of a round expects of its intervals, before any answer.",
)

stopped_rounds = Table(
    "stopped_rounds",
    metadata,
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("planned", Integer, nullable=False),
    Column("kept", Integer, nullable=False),
    Column("stopped_at", UtcDateTime, nullable=False),
    comment="Rounds that ended once their margins held; strata.planned then has what was kept.",
)
