"""A source over a Delta or Iceberg table, of which a round reads one snapshot, and the truth there.

The library of the table format reads the files, and alone knows which rows of them were deleted;
rows come to DuckDB as a stream of Arrow batches for each query, so that memory does not grow with
the table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

from monitor.domain.errors import MonitorError, SnapshotMissing, SourceRefused, SourceUnavailable
from monitor.domain.masking import masked, secrets_of
from monitor.domain.model import Window
from monitor.domain.truth import TruthColumns
from monitor.files.duckdb_sql import TIMES, quoted
from monitor.files.engine import session
from monitor.files.relations import OpenTable, Parameters
from monitor.plugins.lake.formats import DeltaLake, IcebergLake, Streams
from monitor.plugins.lake.settings import LakeSettings, check_named
from monitor.sources.dialects import Reading
from monitor.sources.duckdb import DUCKDB, EngineSource, Statements
from monitor.sources.table_source import engine_errors
from monitor.sources.table_truths import TableTruths

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
_ROWS = "lake_rows"
_PLAIN = re.compile(r'[^".\\]+')
"""Names that both libraries read as they stand; a dot is a part of another column to pyiceberg."""
_SLACK = timedelta(days=1)  # more than any time zone is away from UTC (14 hours)


def near(window: Window, column: str, column_type: str) -> str | None:
    """Write which rows may be in a window, or have no time, as both libraries read SQL.

    None if the column's type does not tell.
    """
    if not TIMES.fullmatch(column_type) or not _PLAIN.fullmatch(column):
        return None
    start, end = (at.astimezone(UTC) for at in (window.start, window.end))
    if not column_type.startswith(("TIMESTAMP WITH", "TIMESTAMPTZ")):
        start, end = (start - _SLACK).replace(tzinfo=None), (end + _SLACK).replace(tzinfo=None)
    first, after = start.isoformat(), end.isoformat()
    if column_type == "DATE":
        first, after = str(start.date()), str(end.date() + timedelta(days=1))
    name = quoted(column)
    return f"(({name} >= '{first}' and {name} < '{after}') or {name} is null)"


@dataclass(frozen=True, slots=True)
class LakeTable(OpenTable):
    """An open snapshot."""

    streams: Streams = field(kw_only=True)
    near: str | None = None  # Rows that queries ask for.

    def stream(self, sql: str, parameters: Parameters | None = None) -> Iterator[tuple[Any, ...]]:
        """Run a query over a stream of the columns that it names."""
        named = [column for column in self.types if quoted(column) in sql]
        stream = self.streams(named or [next(iter(self.types))], self.near)
        with _registered(self.connection, stream):
            yield from OpenTable.stream(self, sql, parameters)

    def whole(self) -> LakeTable:
        """Return the snapshot with all of its rows."""
        return replace(self, near=None)


@contextmanager
def _opened(
    location: str,
    snapshot: str,
    streams: Streams,
    window: Window | None,
    time_column: str,
    shared: OpenTable | None = None,
) -> Iterator[LakeTable]:
    """Open a snapshot for queries on a window, or on all of it; by another table's connection."""
    new = session(alone=True) if shared is None else nullcontext(shared.connection)
    with new as connection:
        with _registered(connection, streams((), None)):
            described = connection.execute(f"describe {_ROWS}").fetchall()
        types = {row[0]: row[1] for row in described}
        has_time = window is not None and time_column in types
        yield LakeTable(
            location,
            connection,
            _ROWS,
            types,
            snapshot=snapshot,
            streams=streams,
            near=near(window, time_column, types[time_column]) if window and has_time else None,
        )


@contextmanager
def _registered(connection: Any, stream: Any) -> Iterator[None]:
    connection.register(_ROWS, stream)
    try:
        yield
    finally:
        connection.unregister(_ROWS)


class LakeSource(EngineSource):
    """A `Source` over a Delta or Iceberg table, which reads one snapshot of it.

    snapshot: Which; None takes the newest with each reading.
    """

    settings: LakeSettings

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
    ) -> None:
        super().__init__(settings, base_folder, setting=setting)
        self._snapshot = snapshot
        named = "" if setting is None else f" ({setting})"
        self.place = masked(f"the table {settings.delta or settings.iceberg}{named}")
        options = sorted({**settings.storage, **settings.catalog}.items())
        self.whole_location = repr((settings.delta or settings.iceberg, options))
        if settings.delta is not None:
            is_remote = "://" in settings.delta
            address = settings.delta if is_remote else str(Path(base_folder) / settings.delta)
            self._lake: DeltaLake | IcebergLake = DeltaLake(address, settings.storage)
        else:
            self._lake = IcebergLake(str(settings.iceberg), settings.catalog)

    def truths(self, truth_columns: TruthColumns) -> TableTruths:
        """Return the truth that some columns of this table have, or of another one in the lake."""
        if truth_columns.table is not None and self.settings.iceberg is not None:
            check_named(truth_columns.table, "table")
        return super().truths(truth_columns)

    def at(self, snapshot: str) -> LakeSource:
        """Return the source of one snapshot."""
        return LakeSource(self.settings, self.base_folder, snapshot=snapshot)

    @contextmanager
    def open_table(
        self, window: Window | None = None, other: OpenTable | None = None
    ) -> Iterator[LakeTable]:
        """Open a snapshot, of which files without a row near the window are skipped."""
        with self._errors():
            snapshot = self._snapshot or self._lake.newest()
            streams, near_time = self._lake.at(snapshot), self.settings.columns.time
            with _opened(self.place, snapshot, streams, window, near_time, other) as table:
                yield table

    @contextmanager
    def opened_for(self, other: OpenTable, columns: Collection[str]) -> Iterator[Reading]:
        """Copy some columns: a stream of a snapshot serves no query of another table."""
        with self.open_table(other=other) as table:
            names = ", ".join(quoted(name) for name in table.types if name in columns) or "null"
            select = f"select {names} from {table.relation}"  # noqa: S608
            table.rows(f"create or replace temp table {_COPY} as {select}")
            copy = OpenTable(
                self.place, other.connection, _COPY, table.types, snapshot=table.snapshot
            )
            yield Reading(Statements(copy), DUCKDB)

    def state(self) -> str:
        """Return the snapshot, in which no row ever changes."""
        with self._errors():
            return self._snapshot or self._lake.newest()

    def _errors(self) -> AbstractContextManager[None]:
        return engine_errors(self.place, self.settings.table_setting, self._ours)

    def _ours(self, error: Exception) -> MonitorError:
        settings, location = self.settings, self.place
        access = "storage" if settings.iceberg is None else "catalog"
        line = " ".join(_COLOUR.sub("", str(error)).split())
        line = masked(line, secrets_of(settings.storage | settings.catalog))
        text = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."
        typed_line = f"{type(error).__name__} {line}"
        if type(error).__name__ in _NO_TABLE or _NO_BUCKET.search(typed_line):
            setting = self.setting or f"source.{settings.table_setting}"
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
