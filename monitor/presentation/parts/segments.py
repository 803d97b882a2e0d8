"""The segments of a round: a table for each column, and those that are worse than the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from monitor.domain.report import RoundReport
from monitor.domain.segments import ErrorCount, SegmentRow, SegmentSearchRow, WorseSegmentRow
from monitor.presentation.estimates import answered_at_random_text, reason_text
from monitor.presentation.numbers import evidence_text, interval_text, percent_text, plural
from monitor.presentation.parts.view import LoggedTable, PartView
from monitor.presentation.section import Section
from monitor.presentation.table import Table

_OWN_LABELS = "its labels alone"  # The line under a segment's, which borrows from no other


def segment_tables(rows: Sequence[SegmentRow], missing: int) -> list[Table]:
    """Lay out a table for each segment column; ``missing`` counts the round's missing answers."""
    head = ["size", "flagged", "labeled", "precision", "recall", "labels still needed"]
    tables = []
    for segment, of_segment in _grouped(rows, attrgetter("segment")).items():
        cells = [
            cells
            for value, of_value in _grouped(of_segment, attrgetter("value")).items()
            for cells in (_cells(value, of_value), _alone_cells(of_value))
            if cells
        ]
        lines = [answered_at_random_text(missing)] if missing else []
        without = [row for row in of_segment if row.point is None]
        lines += [f"{row.value}, {row.metric}: {reason_text(row.reason)}" for row in without]
        tables.append(Table([segment, *head], cells, lines=lines))
    return tables


def _needs_text(row: SegmentRow) -> str | None:
    """Return how many labels a segment's margin still needs; None if that means nothing."""
    if row.margin is None or row.more_segment is None:
        return None
    margin = f"{row.metric} ±{row.margin:g}"
    if row.more_segment == 0:
        return f"{margin}: reached"
    more = "out of reach" if row.more_round is None else f"{row.more_round} more"
    return f"{margin}: {more}, or {row.more_segment} of its own"


def _grouped(
    rows: Iterable[SegmentRow], key: Callable[[SegmentRow], str]
) -> dict[str, list[SegmentRow]]:
    """Place rows of one key together, in the order in which keys first come."""
    groups: dict[str, list[SegmentRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _cells(value: str, rows: Sequence[SegmentRow]) -> list[str]:
    first = rows[0]
    intervals = {row.metric: interval_text(row) for row in rows}
    needs = "; ".join(filter(None, map(_needs_text, rows)))
    counts = [f"{count:,}" for count in (first.size, first.flagged, first.labeled)]
    return [value, *counts, intervals["precision"], intervals["recall"], needs or "-"]


def _alone_cells(rows: Sequence[SegmentRow]) -> list[str]:
    """Cells of the line under a segment's: what its own labels say; none in rounds of before."""
    alone = {row.metric: row.alone for row in rows}
    if all(estimate.point is None for estimate in alone.values()):
        return []
    return [_OWN_LABELS, "", "", "", *map(interval_text, (alone["precision"], alone["recall"])), ""]


_MOST_ODDS = 8  # That are tried (`monitor.stats.detection.worse_segments`)
_WORSE = {
    "precision": "precision is lower than in",
    "recall": "recall is lower than in",
    "both": "precision and recall are lower than in",
}


def segment_name(row: WorseSegmentRow) -> str:
    """Name a segment, or a pair: ``country CZ, client A``."""
    return ", ".join(f"{column} {value}" for column, value in row.segment.items())


def worse_sentence(row: WorseSegmentRow, *, others: int) -> str:
    """Describe what is worse in a segment, by which labels, and how many other segments are."""
    counts = (
        ("precision", row.flagged, "flagged items are wrong"),
        ("recall", row.passed, "passed items are positive"),
    )
    errors = " and ".join(
        f"{count.wrong:,} of its {count.labeled:,} labeled {what}, {count.expected:.1f} expected"
        for metric, count, what in counts
        if row.metric in (metric, "both")
    )
    more = f"; {plural(others, 'more segment')} or pair below" if others else ""
    return (
        f"in {segment_name(row)} {_WORSE[row.metric]} the rest of its strata, by the labels of "
        f"{plural(row.rounds, 'round')}: {errors}; the odds of error are {_odds_text(row)} times "
        f"as high, e-value {evidence_text(row.log_evidence)}{more}"
    )


def search_tables(row: SegmentSearchRow | None) -> list[Table]:
    """Lay out the segments and pairs that are worse; none without any."""
    if row is None or not row.worse:
        return []
    head = ["worse than the rest", "in", "last rounds", "flagged and wrong", "passed and positive"]
    rows = []
    for one in row.worse:
        counts = [_count_text(one.flagged), _count_text(one.passed)]
        figures = [*counts, _odds_text(one), evidence_text(one.log_evidence)]
        rows.append([segment_name(one), one.metric, str(one.rounds), *figures])
    return [Table([*head, "odds of error, times", "e-value"], rows)]


def search_line(row: SegmentSearchRow) -> str:
    """Count what was searched."""
    searched = f"{plural(row.searched, 'segment')} and pairs searched over "
    searched += plural(row.rounds, "round")
    if not row.worse:
        return f"{searched}: none is named as worse than the rest"
    share = percent_text(row.level)
    return f"{searched}: at most {share} of those named, and of the intervals, are expected wrong"


def _count_text(count: ErrorCount) -> str:
    return f"{count.wrong:,} of {count.labeled:,}, {count.expected:.1f} expected"


def _odds_text(row: WorseSegmentRow) -> str:
    return f"{_up_to_most(row.odds)} [{row.low:.1f}, {_up_to_most(row.high)}]"


def _up_to_most(odds: float | None) -> str:
    """Write odds; at the largest that are tried they may be any larger."""
    return "8 or more" if odds is None or round(odds, 1) >= _MOST_ODDS else f"{odds:.1f}"


class SegmentSearchView(PartView[SegmentSearchRow | None]):
    """The segments that are worse than the rest; `SegmentsView` lays them out."""

    name = "segment_search"
    kind = SegmentSearchRow


class SegmentsView(PartView[Sequence[SegmentRow]]):
    """A section with a table for each segment column, and a table in MLflow."""

    name = "segments"
    kind = list[SegmentRow]
    empty = ()

    def section(self, report: RoundReport) -> Section:
        """Lay out the segments, and those that are worse than the rest."""
        search = SEGMENT_SEARCH.of(report)
        tables = [*search_tables(search), *segment_tables(self.of(report), report.unlabeled)]
        lines = [] if search is None else [search_line(search)]
        return Section(self.name, "Segments", tables, lines)

    def tables(self, report: RoundReport) -> dict[str, LoggedTable]:
        """Return precision and recall by segment."""
        columns = ["segment", "value", "metric", "size", "flagged", "labeled"]
        columns += ["point", "low", "high", "alone_point", "alone_low", "alone_high"]
        columns += ["margin", "more_round", "more_segment", "reason"]
        rows = [[getattr(row, name) for name in columns] for row in self.of(report)]
        return {"segments.json": LoggedTable(columns, rows)} if rows else {}


SEGMENT_SEARCH, SEGMENTS = SegmentSearchView(), SegmentsView()
