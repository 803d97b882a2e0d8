"""The segments of a round: a table for each segment column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from monitor.presentation.estimates import answered_at_random_text, reason_text
from monitor.presentation.numbers import interval_text
from monitor.presentation.rows import OWN_LABELS, needs_text
from monitor.presentation.table import Table

if TYPE_CHECKING:
    from monitor.domain.report import SegmentRow


def segment_tables(rows: Sequence[SegmentRow], missing: int) -> list[Table]:
    """Lay out a table for each segment column; ``missing`` counts the round's missing answers."""
    return [
        Table(
            [segment, "size", "flagged", "labeled", "precision", "recall", "labels still needed"],
            [
                cells
                for value, of_value in _grouped(of_segment, attrgetter("value")).items()
                for cells in (_cells(value, of_value), _alone_cells(of_value))
                if cells
            ],
            lines=[
                *([answered_at_random_text(missing)] if missing else []),
                *(
                    f"{row.value}, {row.metric}: {reason_text(row.reason)}"
                    for row in of_segment
                    if row.point is None
                ),
            ],
        )
        for segment, of_segment in _grouped(rows, attrgetter("segment")).items()
    ]


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
    needs = "; ".join(filter(None, map(needs_text, rows)))
    counts = [f"{count:,}" for count in (first.size, first.flagged, first.labeled)]
    return [value, *counts, intervals["precision"], intervals["recall"], needs or "-"]


def _alone_cells(rows: Sequence[SegmentRow]) -> list[str]:
    """Cells of the line under a segment's: what its own labels say; none in rounds of before."""
    alone = {row.metric: row.alone for row in rows}
    if all(estimate.point is None for estimate in alone.values()):
        return []
    return [OWN_LABELS, "", "", "", *map(interval_text, (alone["precision"], alone["recall"])), ""]
