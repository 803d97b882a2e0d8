"""Snapshots of a Delta table, by deltalake: a snapshot's id is the table's version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SnapshotGone
from monitor.domain.masking import masked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltalake import DeltaTable

    from monitor.sources.lake.tables import Near


_PATIENCE = {"max_retries": "3", "retry_timeout": "30s"}
"""Unless the config says otherwise: a round is tried again anyhow."""


class DeltaLake:
    """A Delta table.

    Parameters
    ----------
    address
        Its folder, or its address in a store of objects.
    storage
        What deltalake is to know of that store.
    """

    def __init__(self, address: str, storage: Mapping[str, str]) -> None:
        self._address = address
        self._storage = _PATIENCE | dict(storage)

    def newest(self) -> str:
        """Return the id of the newest snapshot."""
        return str(self._table(None).version())

    def at(self, snapshot: str) -> DeltaSnapshot:
        """Read the list of a snapshot's files.

        Raises
        ------
        SnapshotGone
            If the table's log begins later by now.
        """
        from deltalake.exceptions import TableNotFoundError  # noqa: PLC0415

        try:
            return DeltaSnapshot(self._table(int(snapshot)))
        except TableNotFoundError:
            newest = self.newest()  # where there is no table at all, this raises the same
        message = (
            f"{masked(self._address)} has no version {snapshot} any more; its newest is {newest}"
        )
        raise SnapshotGone(message)

    def _table(self, version: int | None) -> DeltaTable:
        from deltalake import DeltaTable  # noqa: PLC0415

        return DeltaTable(self._address, version=version, storage_options=self._storage)


class DeltaSnapshot:
    """One version of a table."""

    def __init__(self, table: DeltaTable) -> None:
        self._table = table

    def stream(self, columns: Sequence[str], near: Near | None) -> Any:
        """Read rows; files whose statistics show no row near are skipped."""
        predicate = None if near is None else near.predicate
        return self._table.scan(columns=list(columns) or None, predicate=predicate)
