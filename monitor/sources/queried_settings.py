"""What every source that an engine reads by statements is told besides its columns."""

from __future__ import annotations

from typing import Literal

from monitor.sources.table_settings import TableSettings


class QueriedSettings(TableSettings):
    """Columns and what their values mean, where numbers may stand for times."""

    time_unit: Literal["seconds", "milliseconds", "microseconds"] | None = None
