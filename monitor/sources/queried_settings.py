"""What every source that an engine reads by statements is told besides its columns."""

from __future__ import annotations

from typing import Literal

from monitor.sources.table_settings import TableSettings


class QueriedSettings(TableSettings):
    """Columns and what their values mean, where numbers may stand for times."""

    time_unit: Literal["seconds", "milliseconds", "microseconds"] | None = None

    @property
    def unit_of_times(self) -> str | None:
        """What the numbers of a time column count."""
        return self.time_unit
