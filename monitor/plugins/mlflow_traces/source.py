"""A source over the traces of an MLflow experiment.

A window is read once into a table in memory, with the values at the paths of the config. DuckDB
counts and draws from it as from every table. No copy stays on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from monitor.domain.model import Window
from monitor.domain.ports import PlannedScan
from monitor.domain.shown import Shown
from monitor.files.duckdb_sql import quoted
from monitor.files.engine import session
from monitor.files.relations import OpenTable
from monitor.files.sqlite_address import absolute_address
from monitor.plugins.mlflow_traces.counting import WindowCount
from monitor.plugins.mlflow_traces.feedback import FeedbackOf, FeedbackWriter
from monitor.plugins.mlflow_traces.paths import split_item
from monitor.plugins.mlflow_traces.reading import TraceReader
from monitor.plugins.mlflow_traces.settings import TracesSettings
from monitor.sources.duckdb import EngineSource
from monitor.sources.sql_query import Query
from monitor.sources.sql_table import TableInfo

if TYPE_CHECKING:
    from mlflow.entities import Trace

_ROWS = "traces"
_TIME_TYPE = "TIMESTAMP WITH TIME ZONE"


@dataclass(frozen=True, slots=True)
class TracesTable(OpenTable):
    """The items of a window in memory, and what the reading of the window has counted."""

    counted: WindowCount = field(kw_only=True)


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
        self.uri = uri
        self.reader = TraceReader(uri, settings.experiment, settings.timeout)
        self.location = self.place = self.reader.location
        self.whole_location = repr((uri, settings.experiment))
        self._ids = ids
        self._together: Sequence[TracesSettings] = [settings]

    @contextmanager
    def open_table(
        self, window: Window | None = None, other: OpenTable | None = None
    ) -> Iterator[OpenTable]:
        """Read the traces of a window, or the items that this source is of, into memory."""
        del other  # no query of another table names this one
        with session(alone=True) as connection:
            yield self._filled(connection, window)

    def query(self, table: TableInfo) -> Query:
        """Make what builds the statements; refuse paths that lead nowhere."""
        query = super().query(table)
        counted: WindowCount = cast("Any", table).open.counted
        if self._ids is not None:
            counted.check_shown(self.location, self.settings)
            return query
        counted.check(self.location, self.settings)
        judge = self.settings.judged_by
        fault = None if judge is None else counted.why_no_verdicts(judge.column)
        info = replace(query.table, omitted=counted.omitted_for(self.settings))
        return replace(query, table=info, judge_fault=fault)

    def read_for(self, scans: Sequence[PlannedScan], window: Window, seed: str) -> None:
        """Read a window once, with the paths of all these sources."""
        self._together = [scan.source.settings for scan in scans]
        try:
            super().read_for(scans, window, seed)
        finally:
            self._together = [self.settings]

    def show(self, ids: Sequence[str], window: Window) -> Mapping[str, Shown]:
        """Return what people see of some items, from their whole traces."""
        return EngineSource.show(self._of(ids), ids, window)

    def prediction_times(self, ids: Sequence[str], window: Window) -> Mapping[str, datetime]:
        """Return the time of each item that still exists."""
        return EngineSource.prediction_times(self._of(ids), ids, window)

    @property
    def takes_answers(self) -> bool:
        """Whether answers of people are stored on the traces."""
        return self.settings.answers is not False

    def put_answers(
        self, monitor: str, round_key: str, answers: Mapping[str, Mapping[str, bool]]
    ) -> None:
        """Store answers on the traces as feedback of people; repeated calls change nothing."""
        self._writer().settle(FeedbackOf(self._answers_of(monitor), monitor, round_key), answers)

    def try_answers(self, monitor: str) -> str:
        """Describe the feedback that answers become; refuse a user who may not write it."""
        return self._writer().usable(self._answers_of(monitor))

    def span(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and latest time of a trace, or None if there are none."""
        return self.within(self.reader.span)

    def columns(self) -> Mapping[str, str]:
        """Return the paths that the config names, all of which hold texts."""
        return {path: "text" for _, path in self.settings.named_paths()}

    def _answers_of(self, monitor: str) -> str:
        return self.settings.answers or monitor

    def _writer(self) -> FeedbackWriter:
        return FeedbackWriter(self.reader, self.uri, self.settings.timeout)

    def _of(self, ids: Sequence[str]) -> TracesSource:
        return TracesSource(self.settings, self.base_folder, ids=ids)

    def _filled(self, connection: Any, window: Window | None) -> TracesTable:
        settings = self.settings
        decisions = [path for each in self._together for path in each.decision_paths]
        seen = [] if self._ids is None else sorted(settings.columns.shown)
        paths = [*dict.fromkeys([*decisions, *seen])]
        # What people see is read for drawn items only; until then it is empty.
        shown = {path for each in self._together for path in each.columns.shown}
        texts = [*dict.fromkeys([*paths, *sorted(shown)])]
        types = {"trace_id": "VARCHAR", "timestamp": _TIME_TYPE, **dict.fromkeys(texts, "VARCHAR")}
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())
        connection.execute(f"create temp table {_ROWS} ({columns})")
        counted = WindowCount(self._together, paths)
        for traces in self._pages(window):
            _insert(connection, ["trace_id", "timestamp", *paths], counted.rows(traces))
        return TracesTable(self.place, connection, _ROWS, types, is_text=True, counted=counted)

    def _pages(self, window: Window | None) -> Iterable[Sequence[Trace]]:
        if self._ids is not None:
            return [[*self.reader.whole(sorted({split_item(each)[0] for each in self._ids}))]]
        assert window is not None  # noqa: S101  nothing asks for all traces
        return self.reader.pages(window, spans=any(one.reads_spans for one in self._together))


def _insert(connection: Any, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    if not rows:
        return
    kinds = {"timestamp": "timestamptz"}
    values = ", ".join(f"unnest(?::{kinds.get(name, 'varchar')}[])" for name in names)
    listed = ", ".join(map(quoted, names))
    columns = [list(column) for column in zip(*rows, strict=True)]
    connection.execute(f"insert into {_ROWS} ({listed}) select {values}", columns)
