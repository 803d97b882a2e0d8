"""The tables of challengers: what one flags in a window, labels by its decision, comparisons."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    String,
    Table,
    Text,
)

from monitor.storage.tables import metadata

_STRATUM = (["round_id", "stratum"], ["strata.round_id", "strata.stratum"])

challenger_sizes = Table(
    "challenger_sizes",
    metadata,
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("stratum", String(40), primary_key=True),
    Column("flagged", BigInteger, nullable=False),
    Column("undecided", BigInteger, nullable=False),
    ForeignKeyConstraint(*_STRATUM),
    comment="Items of each stratum that the challenger flags, and on which it made no decision.",
)

challenger_counts = Table(
    "challenger_counts",
    metadata,
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("stratum", String(40), primary_key=True),
    Column("flagged", Boolean, primary_key=True),
    Column("labeled", Integer, nullable=False),
    Column("positive", Integer, nullable=False),
    ForeignKeyConstraint(*_STRATUM),
    comment="The labels of each version by the challenger's decision; never changed.",
)

comparisons = Table(
    "comparisons",
    metadata,
    Column("round_id", ForeignKey("rounds.id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("rounds", Integer, primary_key=True),  # how many, this one the last of them
    Column("metric", String(40), primary_key=True),
    Column("champion_point", Float),
    Column("champion_low", Float),
    Column("champion_high", Float),
    Column("challenger_point", Float),
    Column("challenger_low", Float),
    Column("challenger_high", Float),
    Column("difference_point", Float),
    Column("difference_low", Float),
    Column("difference_high", Float),
    Column("higher", Float),
    Column("reason", Text),
    comment="The classifier and its challenger on the same labels, of one round or of several.",
)
