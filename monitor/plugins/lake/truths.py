"""The truth about items in a table of a lake, read where its source's other tables are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.domain.errors import LabelsRefused
from monitor.files.relations import all_texts
from monitor.files.truths import TableTruths

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from monitor.domain.truth import TruthColumns
    from monitor.files.relations import OpenTable
    from monitor.plugins.lake.source import LakeSource


class LakeTruths(TableTruths):
    """The truth in some columns of the newest snapshot.

    Parameters
    ----------
    source
        Reads the table with the truth.
    asked
        Which columns.
    """

    def __init__(self, source: LakeSource, truth_columns: TruthColumns) -> None:
        where = source.settings.where
        super().__init__(truth_columns, {name: all_texts(values) for name, values in where.items()})
        self._source = source
        self.timeout = source.settings.timeout
        self.advice = source.advice

    def __str__(self) -> str:
        return self.place

    @property
    def place(self) -> str:
        """The table."""
        return self._source.place

    @property
    def whole_place(self) -> str:
        """The table, told from those of other stores of objects and catalogs."""
        settings = self._source.settings
        named = settings.delta or settings.iceberg
        return repr((self.place, named, sorted({**settings.storage, **settings.catalog}.items())))

    @property
    def reading(self) -> str:
        """What is read: truths that have it in common are the same."""
        return repr((self.whole_place, self._asked, self._where))

    def opened(self) -> AbstractContextManager[OpenTable]:
        """Open the newest snapshot."""
        return self._source.opened(refused=LabelsRefused)

    def state(self, now: datetime) -> str:  # noqa: ARG002  snapshots come whenever they do
        """Return the newest snapshot, in which no row ever changes."""
        return self._source.newest()
