"""The tables of people who come in by a name and a password."""

from __future__ import annotations

from sqlalchemy import Column, Integer, String, Table, Text

from monitor.storage.columns import UtcDateTime
from monitor.storage.tables import metadata

page_users = Table(
    "page_users",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("token_hash", Text, nullable=False),  # argon2
    Column("role", String(8), nullable=False),
    Column("added_at", UtcDateTime, nullable=False),
    comment="Who may use the pages by a token of their own, and what for.",
)

page_attempts = Table(
    "page_attempts",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("last_at", UtcDateTime, nullable=False),
    comment="Sign-ins that failed, by the hash of a name or of an address; forgotten after a day.",
)
