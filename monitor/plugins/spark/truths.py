"""The truth about items where Spark reads it: rarely, since each reading is a job."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from monitor.sources.table_truths import TableTruths

EVERY = timedelta(minutes=15)
"""How often it is read at most, for all monitors at once; new rounds and maturity come besides."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SparkTruths(TableTruths):
    """The truth in some columns."""

    def state(self, now: datetime) -> str:
        """Return which span of time it is: rows may have changed when the next one begins."""
        return str((now - _EPOCH) // EVERY)
