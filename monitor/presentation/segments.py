"""The segments of a round: a table for each segment column."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from monitor.domain.report import SegmentRow
from monitor.presentation.estimates import reason_text
from monitor.presentation.numbers import interval_text, plural
from monitor.presentation.rows import OWN_LABELS, needs_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class SegmentTable(NamedTuple):
    """The values of one segment column, the largest first, and why some have no number."""

    head: list[str]
    rows: list[list[str]]
    lines: list[str]


def missing_text(missing: int) -> str:
    """State what intervals assume that take no account of missing answers."""
    are = "is" if missing == 1 else "are"
    return (
        f"{plural(missing, 'answer')} of the round {are} missing: these intervals take the "
        "answered items for a random part of all"
    )


def segment_tables(rows: Sequence[SegmentRow], missing: int) -> list[SegmentTable]:
    """Lay out a table for each segment column; ``missing`` counts the round's missing answers."""
    return [
        SegmentTable(
            [segment, "size", "flagged", "labeled", "precision", "recall", "labels still needed"],
            [
                cells
                for value, of_value in _grouped(of_segment, attrgetter("value")).items()
                for cells in (_cells(value, of_value), _alone_cells(of_value))
                if cells
            ],
            [
                *([missing_text(missing)] if missing else []),
                *(
                    f"{row.value}, {row.metric}: {reason_text(row)}"
                    for row in of_segment
                    if row.point is None
                ),
            ],
        )
        for segment, of_segment in _grouped(rows, attrgetter("segment")).items()
    ]


def page_segment_tables(page: Mapping[str, Any]) -> list[SegmentTable]:
    """Lay out the segments of a round's page."""
    missing = sum((row["planned"] or 0) - (row["labeled"] or 0) for row in page["strata"])
    return segment_tables([SegmentRow(**row) for row in page["segments"]], missing)


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
    result = {row.metric: interval_text(row) for row in rows}
    needs = "; ".join(filter(None, map(needs_text, rows)))
    counts = (first.size, first.flagged, first.labeled)
    return [value, *map(str, counts), result["precision"], result["recall"], needs or "-"]


def _alone_cells(rows: Sequence[SegmentRow]) -> list[str]:
    """Cells of the line under a segment's: what its own labels say; none in rounds of before."""
    own = {row.metric: row.alone for row in rows}
    if all(estimate.point is None for estimate in own.values()):
        return []
    return [OWN_LABELS, "", "", "", *map(interval_text, (own["precision"], own["recall"])), ""]
