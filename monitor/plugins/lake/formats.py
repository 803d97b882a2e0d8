"""Snapshots of a Delta table, by deltalake, and of an Iceberg table, by pyiceberg.

The id of a Delta snapshot is the table's version and the beginning of the table's own id, such as
``12.5e8a01bc``: versions of a table that is rewritten at the same place start again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SnapshotMissing, SourceRefused
from monitor.domain.masking import masked

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

Streams = Callable[[Sequence[str], str | None], Any]
"""One state of a table, as long as its files are kept: gives these columns as a new Arrow stream.

Without columns it gives all of them. Rows outside of what is near may be missing, as files whose
statistics show no row there are skipped.
"""

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

        Raises `SnapshotMissing` if the table's log begins later now, or another table took its
        place.
        """
        from deltalake.exceptions import TableNotFoundError  # noqa: PLC0415

        version, _, table_id = snapshot.partition(".")
        try:
            table = self._table(int(version))
            if table_id in ("", _id_of(table)):
                return lambda columns, near: table.scan(list(columns) or None, predicate=near)
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


_OF_SETTINGS = (ValueError, TypeError, AttributeError, LookupError)


class CatalogRefused(Exception):
    """What pyiceberg says where no catalog can be made of its settings."""


class IcebergLake:
    """A table of an Iceberg catalog.

    name: Its namespace and name.
    catalog: What pyiceberg is to know of the catalog; a catalog in a database knows its tables by
        its ``name``.
    """

    def __init__(self, name: str, catalog: Mapping[str, str]) -> None:
        self._name = name
        self._catalog = dict(catalog)

    def newest(self) -> str:
        """Return the id of the newest snapshot."""
        current = self._table().current_snapshot()
        if current is None:
            message = (
                f"nothing was ever written to the Iceberg table {self._name}; wait until the first "
                "predictions are, or correct source.iceberg"
            )
            raise SourceRefused(message, is_public=True)
        return str(current.snapshot_id)

    def at(self, snapshot: str) -> Streams:
        """Find a snapshot. Raises `SnapshotMissing` if the table has it no longer."""
        table = self._table()
        if not snapshot.isdecimal() or table.snapshot_by_id(int(snapshot)) is None:
            message = f"{self._name} has no snapshot {snapshot} any more"
            raise SnapshotMissing(message)

        def stream(columns: Sequence[str], near: str | None) -> Any:
            fields = tuple(columns) or ("*",)
            scan = table.scan(selected_fields=fields, snapshot_id=int(snapshot))
            return (scan if near is None else scan.filter(near)).to_arrow_batch_reader()

        return stream

    def _table(self) -> Table:
        return self._opened_catalog().load_table(self._name)

    def _opened_catalog(self) -> Catalog:
        from pyiceberg.catalog import load_catalog  # noqa: PLC0415
        from pyiceberg.exceptions import NotInstalledError  # noqa: PLC0415
        from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

        try:
            return load_catalog(**self._catalog)
        except json.JSONDecodeError:  # an answer, of what stands before a catalog that is down
            raise
        except (*_OF_SETTINGS, ArgumentError, NotInstalledError) as error:
            raise CatalogRefused(str(error)) from error
