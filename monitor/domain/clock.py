"""The machine's clock."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the current time, aware and in UTC."""
    return datetime.now(UTC)
