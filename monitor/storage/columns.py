"""How columns are stored: times in UTC, ids that grow large, and the names of constraints."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Integer, TypeDecorator

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
"""Names of constraints: a migration can only drop what has one."""


class UtcDateTime(TypeDecorator[datetime]):
    """Aware UTC in Python; SQLite keeps it without the zone, PostgreSQL with."""

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
        """Give every time its zone back."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# SQLite gives rows a number of their own only in a column of type INTEGER.
BigId = BigInteger().with_variant(Integer, "sqlite")
