"""The table of looks at aliases of registered models."""

from __future__ import annotations

from sqlalchemy import Column, Table, Text

from monitor.storage.columns import BigId, UtcDateTime
from monitor.storage.tables import metadata

alias_looks = Table(
    "alias_looks",
    metadata,
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("model", Text, nullable=False, index=True),
    Column("version", Text),  # null: it named none
    Column("first_at", UtcDateTime, nullable=False),
    Column("last_at", UtcDateTime, nullable=False),
    comment="Which version an alias such as models:/mail@champion named, from look to look.",
)
