"""Snapshots of a Delta table, by deltalake.

A snapshot's id is the table's version and the beginning of the table's own id, such as
``12.5e8a01bc``: versions of a table that is written anew at the same place begin anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from monitor.domain.errors import SnapshotMissing
from monitor.domain.masking import masked

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from monitor.plugins.lake.tables import Streams

_ID = 8  # characters of a table's id that tell it from those at the same place before
_LISTING_TIMEOUT = {"max_retries": "3", "retry_timeout": "30s"}
"""Unless the config says otherwise: a round is tried again anyhow."""


class DeltaLake:
    """A Delta table."""

    def __init__(self, address: str, storage: Mapping[str, str]) -> None:
        self._address = address
        self._storage = _LISTING_TIMEOUT | dict(storage)

    def newest(self) -> str:
        """Return the id of the newest snapshot."""
        table = self._table(None)
        return f"{table.version()}.{_id_of(table)}"

    def at(self, snapshot: str) -> Streams:
        """Read the list of a snapshot's files; of an id that is a version alone, that version.

        Raises `SnapshotMissing` if the table's log begins later by now, or another table took its
        place.
        """
        from deltalake.exceptions import TableNotFoundError  # noqa: PLC0415

        version, _, table_id = snapshot.partition(".")
        try:
            table = self._table(int(version))
            if table_id in ("", _id_of(table)):
                return lambda columns, near: table.scan(
                    columns=list(columns) or None,
                    predicate=None if near is None else near.predicate,
                )
        except TableNotFoundError:
            pass
        newest = self.newest()  # where there is no table at all, this raises the same
        message = (
            f"{masked(self._address)} has no snapshot {snapshot} any more; its newest is {newest}"
        )
        raise SnapshotMissing(message)

    def _table(self, version: int | None) -> DeltaTable:
        from deltalake import DeltaTable  # noqa: PLC0415

        return DeltaTable(self._address, version=version, storage_options=self._storage)


def _id_of(table: DeltaTable) -> str:
    return str(table.metadata().id)[:_ID]
