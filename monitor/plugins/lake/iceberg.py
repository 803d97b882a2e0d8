"""Snapshots of an Iceberg table, by pyiceberg."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SnapshotMissing, SourceRefused

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from monitor.plugins.lake.tables import Near, Streams


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

        def stream(columns: Sequence[str], near: Near | None) -> Any:
            fields = tuple(columns) or ("*",)
            scan = table.scan(selected_fields=fields, snapshot_id=int(snapshot))
            return (scan if near is None else scan.filter(near.predicate)).to_arrow_batch_reader()

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
