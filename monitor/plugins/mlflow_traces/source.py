"""A source over the traces of an MLflow experiment.

A window is read once into a table in memory, with the values at the paths of the config. DuckDB
counts and draws from it as from every table. No copy stays on disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SourceRefused
from monitor.domain.model import Window
from monitor.domain.ports import PlannedScan
from monitor.domain.shown import Shown
from monitor.files.duckdb_sql import quoted
from monitor.files.engine import session
from monitor.files.relations import OpenTable
from monitor.files.sqlite_address import absolute_address
from monitor.plugins.mlflow_traces.paths import as_text, leaves, split_item, there_are, value_at
from monitor.plugins.mlflow_traces.reading import RUNNING, TraceItem, TraceReader, items_of
from monitor.plugins.mlflow_traces.settings import TracesSettings
from monitor.sources.dialects import Reading
from monitor.sources.duckdb import DuckdbTable, EngineSource

if TYPE_CHECKING:
    from mlflow.entities import Trace

_ROWS, _PAGE = "traces", "traces_page"
_TIME_TYPE = "TIMESTAMP WITH TIME ZONE"
_DECISIONS = ("columns.predicted", "columns.score")


@dataclass(frozen=True, slots=True)
class TracesTable(OpenTable):
    """The items of a window in memory, and how many traces and items are none, by reason."""

    omitted: Mapping[str, int] = field(default_factory=dict)


class TracesSource(EngineSource):
    """A `Source` over the traces of an experiment.

    ids: Of the only items that are read, with what people see of them; None reads a window.
    """

    settings: TracesSettings

    advice = (
        "is MLflow's server there? It is tried again; if a window needs longer, raise "
        "source.timeout"
    )

    def __init__(
        self,
        settings: TracesSettings,
        base_folder: Path | str = ".",
        *,
        ids: Sequence[str] | None = None,
    ) -> None:
        super().__init__(settings, base_folder)
        uri = absolute_address(settings.tracking_uri, Path(base_folder))
        self.reader = TraceReader(uri, settings.experiment, settings.timeout)
        self.place = self.reader.location
        self.whole_location = repr((uri, settings.experiment))
        self._ids = ids
        self._also: frozenset[str] = frozenset()

    @contextmanager
    def open_table(
        self, window: Window | None = None, other: OpenTable | None = None
    ) -> Iterator[OpenTable]:
        """Read the traces of a window, or the items that this source is of, into memory."""
        del other  # no query of another table names this one
        with session(alone=True) as connection:
            yield self._filled(connection, window)

    def found(self, reading: Reading) -> DuckdbTable:
        """Describe the table."""
        table = super().found(reading)
        return replace(table, omitted=reading.connection.table.omitted)

    def read_for(self, scans: Sequence[PlannedScan], window: Window, seed: str) -> None:
        """Read a window once, with the paths of all these sources."""
        self._also = frozenset(
            path for scan in scans for path in scan.source.settings.decision_paths
        )
        try:
            super().read_for(scans, window, seed)
        finally:
            self._also = frozenset()

    def show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        """Return what people see of some items, from their whole traces."""
        return EngineSource.show(self._of(ids), ids, window)

    def prediction_times(self, ids: Sequence[str], window: Window) -> Mapping[str, datetime]:
        """Return the time of each item that still exists."""
        return EngineSource.prediction_times(self._of(ids), ids, window)

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and latest time of a trace, or None if there are none."""
        return self.within(self.reader.span)

    def columns(self) -> Mapping[str, str]:
        """Return the paths that the config names, all of which hold texts."""
        return {path: "text" for _, path in self.settings.named_paths()}

    def _of(self, ids: Sequence[str]) -> TracesSource:
        return TracesSource(self.settings, self.base_folder, ids=ids)

    def _filled(self, connection: Any, window: Window | None) -> TracesTable:
        settings = self.settings
        decisions = [*dict.fromkeys([*settings.decision_paths, *sorted(self._also)])]
        seen = [] if self._ids is None else sorted(settings.columns.shown)
        paths = [*dict.fromkeys([*decisions, *seen])]
        # What people see is read for drawn items only; until then it is empty.
        texts = [*dict.fromkeys([*paths, *sorted(settings.columns.shown)])]
        types = {"trace_id": "VARCHAR", "timestamp": _TIME_TYPE, **dict.fromkeys(texts, "VARCHAR")}
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())
        connection.execute(f"create temp table {_ROWS} ({columns})")
        window_read = _WindowRead(settings, paths)
        for traces in self._pages(window):
            rows = window_read.rows(traces)
            _insert(connection, ["trace_id", "timestamp", *paths], rows)
        if self._ids is None:
            window_read.check(self.place)
        return TracesTable(
            self.place,
            connection,
            _ROWS,
            types,
            is_text=True,
            omitted=window_read.omitted,
        )

    def _pages(self, window: Window | None) -> Iterable[Sequence[Trace]]:
        if self._ids is not None:
            return [[*self.reader.whole(sorted({split_item(each)[0] for each in self._ids}))]]
        assert window is not None  # noqa: S101  nothing asks for all traces
        return self.reader.pages(window, spans=self.settings.reads_spans)


def _insert(connection: Any, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    import pyarrow as pa  # noqa: PLC0415  MLflow needs it

    if not rows:
        return
    kinds = [pa.string(), pa.timestamp("us", tz="UTC"), *[pa.string()] * (len(names) - 2)]
    values = [
        pa.array(each, kind) for each, kind in zip(zip(*rows, strict=True), kinds, strict=True)
    ]
    connection.register(_PAGE, pa.Table.from_arrays(values, names=[*names]))
    listed = ", ".join(map(quoted, names))
    connection.execute(f"insert into {_ROWS} ({listed}) select {listed} from {_PAGE}")  # noqa: S608
    connection.unregister(_PAGE)


class _WindowRead:
    """What was read of a window: rows, what is no prediction, and which paths led to something."""

    def __init__(self, settings: TracesSettings, paths: Sequence[str]) -> None:
        self.omitted: Counter[str] = Counter()
        self._settings = settings
        self._paths = paths
        self._decision = settings.columns.predicted or settings.columns.score or ""
        self._items = 0
        self._values: Counter[str] = Counter()
        self._names: dict[str, None] = {}

    def rows(self, traces: Iterable[Trace]) -> list[tuple[Any, ...]]:
        """Return the rows of some traces: id, time, and the value at each path."""
        items = (item for trace in traces for item in self._items_of(trace))
        return [row for item in items if (row := self._row(item)) is not None]

    def _items_of(self, trace: Trace) -> list[TraceItem]:
        if self._settings.reads_spans and not trace.data.spans:
            is_running = str(trace.info.state) == "IN_PROGRESS"
            self.omitted[RUNNING if is_running else "without spans"] += 1
            return []
        items = items_of(trace, self._settings.span)
        if not items:
            self.omitted[f"without a span {self._settings.span!r}"] += 1
            self._note(span.name for span in trace.data.spans)
        return items

    def _row(self, item: TraceItem) -> tuple[Any, ...] | None:
        values = [as_text(value_at(item.parts, path)) for path in self._paths]
        present = dict(zip(self._paths, values, strict=True))
        if item.why_none is not None and present.get(self._decision) is None:
            self.omitted[item.why_none] += 1
            return None
        self._items += 1
        self._values.update(path for path, value in present.items() if value is not None)
        if present.get(self._decision) is None:
            self._note(path for path, _ in leaves(item.parts))
        return (item.id, item.time, *values)

    def _note(self, names: Iterable[str]) -> None:
        if len(self._names) < _MOST_NAMES:
            self._names.update(dict.fromkeys(names))

    def check(self, location: str) -> None:
        """Refuse a window in which no trace has the span, or no item the decision.

        Any other path that leads nowhere in a window is counted as a note.
        """
        span, traces = self._settings.span, self.omitted.total()
        if not self._items:
            if span is not None and self.omitted[f"without a span {span!r}"] == traces > 0:
                message = (
                    f"{location}: none of the {traces:,} traces of the window has a span {span!r}; "
                    f"correct source.span. There are {there_are(self._names, span)}"
                )
                raise SourceRefused(message)
            return
        for path, setting in self._settings.decision_paths.items():
            if path not in self._paths or self._values[path]:
                continue
            if setting in _DECISIONS:
                message = (
                    f"{location}: none of the {self._items:,} items of the window has {path} "
                    f"(source.{setting}). There are {there_are(self._names, path)}"
                )
                raise SourceRefused(message)
            self.omitted[f"have no {path} ({setting})"] = self._items


_MOST_NAMES = 100  # That an error is chosen from
