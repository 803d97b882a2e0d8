"""What is counted while a window is read: items, what is no item, and which paths lead anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from monitor.domain.errors import SourceRefused
from monitor.plugins.mlflow_traces.paths import as_text, leaves, there_are, value_at
from monitor.plugins.mlflow_traces.reading import RUNNING, TraceItem, items_of
from monitor.plugins.mlflow_traces.settings import TracesSettings

if TYPE_CHECKING:
    from mlflow.entities import Trace

_MOST_NAMES = 100  # That an error chooses from
_SEVERAL = 5
_EXAMPLES = 100  # Items and traces whose names are read for errors


class WindowCount:
    """Makes rows of traces, and counts by reason the traces and items that are no predictions.

    together: Settings of monitors that share the reading, which differ in their columns only.
    paths: Whose values are in a row, in this order.
    """

    def __init__(self, together: Sequence[TracesSettings], paths: Sequence[str]) -> None:
        self._span = together[0].span
        self._reads_spans = any(settings.reads_spans for settings in together)
        self._paths = paths
        self._decisions = {one.columns.predicted or one.columns.score or "" for one in together}
        self._omitted: Counter[str] = Counter()
        self._without_span = 0
        self._items = 0
        self._values: Counter[str] = Counter()
        self._names: dict[str, None] = {}
        self._spans: dict[str, None] = {}

    def rows(self, traces: Iterable[Trace]) -> list[tuple[Any, ...]]:
        """Return the rows of some traces: id, time, and the value at each path."""
        items = (item for trace in traces for item in self._items_of(trace))
        return [row for item in items if (row := self._row(item)) is not None]

    def check(self, location: str, settings: TracesSettings) -> None:
        """Refuse a window in which no trace has the span, or no item the decision."""
        if not self._items:
            if self._without_span and self._without_span == self._omitted.total():
                message = (
                    f"{location}: none of the {self._without_span:,} traces of the window has a "
                    f"span {settings.span!r}; correct source.span. There are "
                    f"{there_are(self._spans, settings.span or '')}"
                )
                raise SourceRefused(message)
            return
        for setting in ("predicted", "score"):
            path = getattr(settings.columns, setting)
            if path is not None and not self._values[path]:
                message = (
                    f"{location}: none of the {self._items:,} items of the window has {path} "
                    f"(columns.{setting}). There are {there_are(self._names, path)}"
                )
                raise SourceRefused(message)

    def check_shown(self, location: str, settings: TracesSettings) -> None:
        """Refuse a path without a value in several drawn items: people would see nothing."""
        for path in sorted(settings.columns.shown):
            if self._items >= _SEVERAL and not self._values[path]:
                message = (
                    f"{location}: none of the {self._items:,} drawn items has {path} "
                    f"(columns.show). There are {there_are(self._names, path)}"
                )
                raise SourceRefused(message)

    def why_no_verdicts(self, path: str) -> str | None:
        """Describe why no item has a verdict; None if one has, or there are no items."""
        if self._values[path] or not self._items:
            return None
        root = path.partition(".")[0]
        names = [name for name in self._names if name.partition(".")[0] == root]
        return (
            f"none of the {self._items:,} items of the window has {path} by a model or code "
            f"(judge). There are {there_are(names, path)}"
        )

    def omitted_for(self, settings: TracesSettings) -> dict[str, int]:
        """Count what is no prediction, and items without a path that no other item has either."""
        paths = settings.columns.segments if self._items else ()
        missing = [path for path in paths if not self._values[path]]
        return {
            **self._omitted,
            **{f"without {path} (columns.segments)": self._items for path in missing},
        }

    def _items_of(self, trace: Trace) -> list[TraceItem]:
        if self._reads_spans and not trace.data.spans:
            is_running = str(trace.info.state) == "IN_PROGRESS"
            self._omitted[RUNNING if is_running else "without spans"] += 1
            return []
        items = items_of(trace, self._span)
        if not items:
            self._without_span += 1
            self._omitted[f"without a span {self._span!r}"] += 1
            if self._without_span <= _EXAMPLES:
                self._spans |= dict.fromkeys(span.name for span in trace.data.spans)
        return items

    def _row(self, item: TraceItem) -> tuple[Any, ...] | None:
        values = [as_text(value_at(item.parts, path)) for path in self._paths]
        by_path = dict(zip(self._paths, values, strict=True))
        is_undecided = all(by_path.get(path) is None for path in self._decisions)
        if item.why_none is not None and is_undecided:
            self._omitted[item.why_none] += 1
            return None
        self._items += 1
        self._values.update(path for path, value in by_path.items() if value is not None)
        if self._items <= _EXAMPLES and len(self._names) < _MOST_NAMES:
            self._names |= dict.fromkeys(path for path, _ in leaves(item.parts))
        return (item.id, item.time, *values)
