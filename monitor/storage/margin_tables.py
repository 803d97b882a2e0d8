"""Table of the margins that a round's plan expects."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, String, Table

from monitor.storage.tables import metadata

planned_margins = Table(
    "planned_margins",
    metadata,
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("metric", String(40), primary_key=True),
    Column("half_width", Float, nullable=False),
    comment="Half-widths that the plan of a round expects of its intervals, before any answer.",
)
