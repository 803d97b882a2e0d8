"""A source over a table or files that Spark reads."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from monitor.plugins.spark.dialect import SPARK
from monitor.plugins.spark.draw import groups_of, shared_groups_of
from monitor.plugins.spark.query import SparkQuery
from monitor.plugins.spark.reading import fields, found, opened
from monitor.plugins.spark.refusals import as_ours
from monitor.plugins.spark.session import session_for
from monitor.plugins.spark.truths import SparkTruths
from monitor.sources.sql_reading import Reading
from monitor.sources.table_source import TableSource, truth_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from monitor.domain.model import Stratum, Window
    from monitor.domain.truth import TruthColumns
    from monitor.plugins.spark.settings import SparkSettings
    from monitor.sources.frames import BucketCount
    from monitor.sources.shared_query import Scan
    from monitor.sources.sql_query import Query
    from monitor.sources.sql_table import TableInfo
    from monitor.sources.sql_times import Times


class SparkSource(TableSource):
    """A `Source` over a table or files that Spark reads.

    settings: What the config says.
    base_folder: Where relative paths start: the folder of the config file.
    """

    advice = (
        "has the cluster room for one more application, and are its workers there? It is tried "
        "again; if a scan needs longer, raise source.timeout"
    )

    most_ids = 20_000  # since each statement is a scan

    def __init__(self, settings: SparkSettings, base_folder: Path | str = ".") -> None:
        super().__init__(settings, base_folder)
        self._spark = settings
        self._folder = Path(base_folder)
        self._setting: str | None = None

    @property
    def place(self) -> str:
        """The table or the paths, as the config says them."""
        named = "" if self._setting is None else f" ({self._setting})"
        return f"Spark's {self._spark.table or ', '.join(self._spark.paths)}{named}"

    @contextmanager
    def opened(self, window: Window | None = None) -> Iterator[Reading]:  # noqa: ARG002
        """Give the rows a name in the session."""
        with as_ours(self.place, self._spark, self._setting):
            session = session_for(self._spark)
            with opened(session, self._spark, self._folder) as statements:
                yield Reading(statements, SPARK)

    def found(self, reading: Reading) -> TableInfo:
        """Describe the rows."""
        return found(self.place, reading.connection)

    def columns(self) -> Mapping[str, str]:
        """Return every column with its type; refuse when one that the config names is missing."""
        return self._read(
            lambda reading, _: {
                field.name: field.dataType.simpleString() for field in fields(reading.connection)
            }
        )

    def groups_of(
        self,
        reading: Reading,
        query: Query,
        window: Window,
        strata: Sequence[Stratum],
        at_most: int,
        seed: str,
    ) -> list[BucketCount]:
        """Count and draw in one read, where that brings all that is wanted."""
        ours = cast("SparkQuery", query)  # which `query_of` made
        return groups_of(reading, ours, window, strata, at_most, seed)

    def shared_groups(
        self, reading: Reading, scans: Sequence[Scan], window: Window, seed: str
    ) -> Sequence[list[BucketCount] | None]:
        """Do the same for several monitors."""
        return shared_groups_of(reading, scans, window, seed)

    def truths(self, truth_columns: TruthColumns) -> SparkTruths:
        """Return the truth that some columns have, read in the same session."""
        location = "path" if self._spark.table is None else "table"
        changes = truth_settings(self._spark, truth_columns, **{location: truth_columns.table})
        source = SparkSource(self._spark.model_copy(update=changes), self._folder)
        source._setting = None if truth_columns.table is None else "labeling.table"
        return SparkTruths(source, truth_columns)

    def query_of(
        self, table: TableInfo, times: Times, shown: Sequence[tuple[str, bool]]
    ) -> SparkQuery:
        """Make what builds the statements."""
        return SparkQuery(table, self.settings, times, shown)
