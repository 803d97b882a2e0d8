"""Good looks that outlast a process, so that `run-once` need not repeat what the last one did.

What `monitor.service.change_detection` keeps in memory is kept in the store too, by a mark: a
hash of how the monitor's rounds stood, of the state of its labels and of all that the config has
on it. Equal marks mean that another look would find what that one found.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.storage.overview.scan_store import read_scans, write_scans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from monitor.storage.database import Database
    from monitor.storage.overview.change_marks import MonitorVersion


@dataclass(frozen=True, slots=True)
class SavedScan:
    """What the store keeps of a good look."""

    mark: str
    at: datetime
    next_slot: datetime

    def as_text(self) -> str:
        """Write it as the store keeps it."""
        return json.dumps({**asdict(self)}, default=str)


def version_of(current: MonitorVersion, labels: str, config: str) -> str:
    """Give a mark that two states of a monitor do not share."""
    whole = repr((current.recent, current.open, labels, config))
    return hashlib.sha256(whole.encode()).hexdigest()


def read_saved(connection: Connection) -> dict[str, SavedScan]:
    """Read the good scans by monitor, without those in another version's format."""
    by_name = {name: _saved(text) for name, text in read_scans(connection).items()}
    return {name: retained for name, retained in by_name.items() if retained is not None}


def _saved(text: str) -> SavedScan | None:
    try:
        fields = json.loads(text)
        at, next_slot = (datetime.fromisoformat(fields[name]) for name in ("at", "next_slot"))
        return SavedScan(fields["mark"], at, next_slot)
    except (ValueError, KeyError, TypeError):
        return None


def keep(database: Database, checks: Mapping[str, SavedScan]) -> None:
    """Keep good looks, by monitor."""
    if checks:
        with database.write() as connection:
            write_scans(connection, {name: scan.as_text() for name, scan in checks.items()})
