"""The last good look at each monitor, so that the next process need not repeat it.

They are kept as cursors of a labeler that nobody can be: how far a monitor was looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from monitor.storage.database import put_all
from monitor.storage.tables import labeler_cursors, monitors

SCAN = "/look"  # Labelers are named as sections of the config are, which no slash begins


def read_scans(connection: Connection) -> dict[str, str]:
    """Read what was noted of the last good look at each monitor."""
    query = (
        select(monitors.c.name, labeler_cursors.c.cursor)
        .join(monitors, monitors.c.id == labeler_cursors.c.monitor_id)
        .where(labeler_cursors.c.labeler == SCAN)
    )
    return {row.name: row.cursor for row in connection.execute(query)}


def write_scans(connection: Connection, checks: Mapping[str, str]) -> None:
    """Note good looks, in place of earlier ones; of a monitor without any round none is noted."""
    query = select(monitors.c.id, monitors.c.name).order_by(monitors.c.id)
    rows = [
        {"monitor_id": row.id, "labeler": SCAN, "cursor": checks[row.name]}
        for row in connection.execute(query)
        if row.name in checks
    ]
    if rows:
        put_all(connection, labeler_cursors, rows, changed=("cursor",))
