"""A table of a lake as DuckDB's engine reads it: each query gets its own stream.

The library of the table format reads the files, and alone knows which rows of them were deleted;
rows come as a stream of Arrow batches, so that memory does not grow with the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

from monitor.files.engine import session
from monitor.files.missing_markers import TIMES, quoted
from monitor.files.relations import OpenTable, Parameters

if TYPE_CHECKING:
    from monitor.domain.errors import InputRefused
    from monitor.domain.model import Window

_ROWS = "lake_rows"
_PLAIN = re.compile(r'[^".\\]+')
"""Names that both libraries read as they stand; a dot is a part of another column to pyiceberg."""
_SLACK = timedelta(days=1)  # more than any time zone is away from UTC (14 hours)


@dataclass(frozen=True, slots=True)
class Near:
    """Rows that a stream may return: a column lies between two times, or has no time.

    ``start`` and ``end`` are texts of ISO 8601, the latter excluded.
    """

    column: str
    start: str
    end: str

    @property
    def predicate(self) -> str:
        """The rows in SQL, as deltalake and pyiceberg both read it."""
        column = quoted(self.column)
        between = f"{column} >= '{self.start}' and {column} < '{self.end}'"
        return f"(({between}) or {column} is null)"


def near(window: Window, column: str, column_type: str) -> Near | None:
    """Return which rows may be in a window; None if the column's type does not tell."""
    if not TIMES.fullmatch(column_type) or not _PLAIN.fullmatch(column):
        return None
    if column_type.startswith(("TIMESTAMP WITH", "TIMESTAMPTZ")):
        return Near(column, window.start.isoformat(), window.end.isoformat())
    start, end = (at.astimezone(UTC).replace(tzinfo=None) for at in (window.start, window.end))
    start, end = start - _SLACK, end + _SLACK
    if column_type == "DATE":
        next_day = end.date() + timedelta(days=1)
        return Near(column, start.date().isoformat(), next_day.isoformat())
    return Near(column, start.isoformat(), end.isoformat())


Streams = Callable[[Sequence[str], Near | None], Any]
"""One state of a table, as long as its files are kept: gives these columns as a new Arrow stream.

Without columns it gives all of them. Rows outside of what is near may be missing, as files whose
statistics show no row there are skipped.
"""


@dataclass(frozen=True, slots=True)
class LakeTable(OpenTable):
    """An open snapshot."""

    snapshot: Streams = field(kw_only=True)
    near: Near | None = None  # Rows that queries ask for.

    def stream(self, sql: str, parameters: Parameters | None = None) -> Iterator[tuple[Any, ...]]:
        """Run a query over a stream of the columns that it names."""
        named = [column for column in self.types if quoted(column) in sql]
        stream = self.snapshot(named or [next(iter(self.types))], self.near)
        with _registered(self.connection, stream):
            yield from OpenTable.stream(self, sql, parameters)

    def whole(self) -> LakeTable:
        """Return the snapshot with all of its rows."""
        return replace(self, near=None)


@contextmanager
def opened(
    location: str,
    snapshot: Streams,
    window: Window | None,
    time_column: str,
    refused: type[InputRefused],
    shared: OpenTable | None = None,
) -> Iterator[LakeTable]:
    """Open a snapshot for queries on a window, or on all of it; by another table's connection."""
    new = session(alone=True) if shared is None else nullcontext(shared.connection)
    with new as connection:
        with _registered(connection, snapshot((), None)):
            described = connection.execute(f"describe {_ROWS}").fetchall()
        types = {row[0]: row[1] for row in described}
        has_time = window is not None and time_column in types
        yield LakeTable(
            location,
            connection,
            _ROWS,
            types,
            refused=refused,
            snapshot=snapshot,
            near=near(window, time_column, types[time_column]) if window and has_time else None,
        )


@contextmanager
def _registered(connection: Any, stream: Any) -> Iterator[None]:
    connection.register(_ROWS, stream)
    try:
        yield
    finally:
        connection.unregister(_ROWS)
