"""A source over a table of a lake, and the truth in one beside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.domain.errors import (
    InputRefused,
    LabelsRefused,
    MonitorError,
    SnapshotMissing,
    SourceRefused,
    SourceUnavailable,
)
from monitor.domain.masking import masked, secrets_of
from monitor.files.missing_markers import quoted
from monitor.files.relations import OpenTable
from monitor.plugins.lake.delta import DeltaLake
from monitor.plugins.lake.iceberg import IcebergLake
from monitor.plugins.lake.settings import LakeSettings, check_named
from monitor.plugins.lake.tables import LakeTable, opened
from monitor.sources.duckdb_query import DUCKDB, Statements
from monitor.sources.duckdb_source import EngineSource
from monitor.sources.sql_reading import Reading
from monitor.sources.table_source import engine_errors, truth_settings
from monitor.sources.table_truths import TableTruths

if TYPE_CHECKING:
    from monitor.domain.model import Frame, Stratum, Window
    from monitor.domain.ports import PlannedScan
    from monitor.domain.truth import TruthColumns
    from monitor.sources.table_source import CachedScan


_NO_TABLE = frozenset({"TableNotFoundError", "NoSuchTableError", "NoSuchNamespaceError"})
_NO_BUCKET = re.compile(r"NoSuchBucket|NO_SUCH_BUCKET|ContainerNotFound")
_UNUSABLE = re.compile(
    r"CatalogRefused|Generic Config error|Invalid Access Key|service account file"
)
_NOT_ALLOWED = re.compile(
    r"UnauthorizedError|ForbiddenError|OAuthError|AccessDenied|ACCESS_DENIED|InvalidAccessKeyId"
    r"|SignatureDoesNotMatch|AuthenticationFailed|AuthorizationFailure"
)
_MISSING = re.compile(
    r"LogSegment end version|Object at location \S+ not found|NoSuchKey"
    r"|(?:Path does not exist|Failed to open local file) '[^']*(?<!\.metadata\.json)'"
)
"""Of files of a snapshot, and of lists of them; a table's own metadata is none of these."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m|↳")
_COPY = "lake_copy"
_LONGEST = 300  # characters of another program's message


class LakeSource(EngineSource):
    """A `Source` over a Delta or Iceberg table, which reads one snapshot of it.

    snapshot: Which; None takes the newest with each reading.
    setting: What the config names the table by, where that is not a setting of the source.
    refused: The error to raise when a column cannot be used.
    """

    advice = (
        "is the store of objects or the catalog there? It is tried again; if a scan needs longer, "
        "raise source.timeout"
    )

    def __init__(
        self,
        settings: LakeSettings,
        base_folder: Path | str = ".",
        *,
        snapshot: str | None = None,
        setting: str | None = None,
        refused: type[InputRefused] = SourceRefused,
    ) -> None:
        super().__init__(settings, base_folder)
        self.lake_settings = settings
        self._refused = refused
        self._snapshot = snapshot
        self._setting = setting
        self._last: LakeSource | None = None
        named = "" if setting is None else f" ({setting})"
        self.place = masked(f"the table {settings.delta or settings.iceberg}{named}")
        self.whole_location = self.place
        if settings.delta is not None:
            is_remote = "://" in settings.delta
            address = settings.delta if is_remote else str(Path(base_folder) / settings.delta)
            self._lake: DeltaLake | IcebergLake = DeltaLake(address, settings.storage)
        else:
            self._lake = IcebergLake(str(settings.iceberg), settings.catalog)

    def truths(self, truth_columns: TruthColumns) -> LakeTruths:
        """Return the truth that some columns of this table have, or of another one in the lake."""
        own, is_delta = self.lake_settings, self.lake_settings.iceberg is None
        if truth_columns.table is not None and not is_delta:
            check_named(truth_columns.table, "table")
        location = {"delta" if is_delta else "iceberg": truth_columns.table}
        settings = own.model_copy(update=truth_settings(own, truth_columns, **location))
        setting = None if truth_columns.table is None else "labeling.table"
        source = LakeSource(settings, self.base_folder, setting=setting, refused=LabelsRefused)
        options = sorted({**own.storage, **own.catalog}.items())
        return LakeTruths(source, truth_columns, (settings.delta or settings.iceberg, options))

    def at(self, snapshot: str) -> LakeSource:
        """Return the source of one snapshot."""
        if self._last is None or self._last.state() != snapshot:
            self._last = LakeSource(self.lake_settings, self.base_folder, snapshot=snapshot)
        return self._last

    def scan(self, window: Window, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Count every stratum and return its first items by md5(seed, id), one read."""
        if self._snapshot is None:
            newest = self.within(self.newest)
            return self.at(newest).scan(window, strata, at_most, seed)
        frame = super().scan(window, strata, at_most, seed)
        return replace(frame, snapshot=self._snapshot)

    def read_for(self, scans: Sequence[PlannedScan], window: Window, seed: str) -> None:
        """Count and draw for these sources of the same table, in its newest snapshot."""
        if self._snapshot is None:
            self.at(self.within(self.newest)).read_for(scans, window, seed)
        else:
            super().read_for(scans, window, seed)

    def cache(self, scan: CachedScan) -> None:
        """Let the next scan of the same snapshot return a frame."""
        if self._snapshot is None:
            self.at(str(scan.state)).cache(scan)
        else:
            super().cache(scan)

    def release(self) -> None:
        """Scan the table itself again."""
        super().release()
        if self._last is not None:
            self._last.release()

    def rescan(self, before: Frame, strata: Sequence[Stratum], at_most: int, seed: str) -> Frame:
        """Scan the snapshot of a frame by other strata; its candidates are not drawn again."""
        if self._snapshot is None and before.snapshot is not None:
            return self.at(before.snapshot).rescan(before, strata, at_most, seed)
        frame = super().rescan(before, strata, at_most, seed)
        return replace(frame, snapshot=self._snapshot)

    @contextmanager
    def open_table(
        self, window: Window | None = None, other: OpenTable | None = None
    ) -> Iterator[LakeTable]:
        """Open a snapshot, of which files without a row near the window are skipped."""
        with self._errors():
            snapshot = self._lake.at(self._snapshot or self._lake.newest())
            near_time = self.settings.columns.time
            with opened(self.place, snapshot, window, near_time, self._refused, other) as table:
                yield table

    @contextmanager
    def opened_for(self, other: OpenTable, columns: Collection[str]) -> Iterator[Reading]:
        """Copy some columns: a stream of a snapshot serves no query of another table."""
        with self.open_table(other=other) as table:
            names = ", ".join(quoted(name) for name in table.types if name in columns) or "null"
            select = f"select {names} from {table.relation}"  # noqa: S608
            table.rows(f"create or replace temp table {_COPY} as {select}")
            copy = OpenTable(
                self.place, other.connection, _COPY, table.types, refused=self._refused
            )
            yield Reading(Statements(copy), DUCKDB)

    def state(self) -> str | None:
        """Return the snapshot, in which no row ever changes."""
        return self._snapshot

    def newest(self) -> str:
        """Return the id of the newest snapshot."""
        with self._errors():
            return self._lake.newest()

    def _errors(self) -> AbstractContextManager[None]:
        extra = "delta" if self.lake_settings.iceberg is None else "iceberg"
        return engine_errors(self.place, extra, self._ours)

    def _ours(self, error: Exception) -> MonitorError:
        settings, location = self.lake_settings, self.place
        table, access = ("delta", "storage") if settings.iceberg is None else ("iceberg", "catalog")
        line = " ".join(_COLOUR.sub("", str(error)).split())
        line = masked(line, secrets_of(settings.storage | settings.catalog))
        text = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
        typed_line = f"{type(error).__name__} {line}"
        if type(error).__name__ in _NO_TABLE or _NO_BUCKET.search(typed_line):
            setting = self._setting or f"source.{table}"
            message = f"{location} is not there ({text}); correct {setting}, or make it"
            return SourceRefused(message, is_public=True)
        if _UNUSABLE.search(typed_line):
            message = f"{location} cannot be reached by source.{access}: {text}; correct it"
            return SourceRefused(message)
        if _NOT_ALLOWED.search(typed_line):
            message = (
                f"{location}: these credentials may not read it: {text}. Correct source.{access}, "
                "or what they may do; it is tried again"
            )
            return SourceRefused(message)
        if _MISSING.search(typed_line):
            message = (
                f"files of a snapshot of {location} are not there any more ({text}); the newest "
                "one is taken at the next try"
            )
            return SnapshotMissing(message)
        return SourceUnavailable(f"{location} cannot be read now: {text}; it is tried again")


class LakeTruths(TableTruths):
    """The truth in some columns of the newest snapshot."""

    source: LakeSource

    def __init__(self, source: LakeSource, truth_columns: TruthColumns, options: object) -> None:
        super().__init__(source, truth_columns, assumed_zone=True)
        self.whole_location = repr((self.place, options))

    def state(self, now: datetime) -> str:  # noqa: ARG002  snapshots come whenever they do
        """Return the newest snapshot, in which no row ever changes."""
        return self.source.newest()
