"""The segments of a round, as `pr-monitor show` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.cli.views.printing import say, say_table
from monitor.presentation.estimates import reason_text
from monitor.presentation.numbers import interval_text
from monitor.presentation.rows import needs_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.domain.report import SegmentRow


def say_segments(rows: Sequence[SegmentRow]) -> None:
    """Print a table per segment column, the largest value first; then why some have no number."""
    for segment in dict.fromkeys(row.segment for row in rows):
        mine = [row for row in rows if row.segment == segment]
        by_value = {row.value: [each for each in mine if each.value == row.value] for row in mine}
        say()
        say_table(
            [segment, "size", "flagged", "labeled", "precision", "recall", "labels still needed"],
            [_cells(value, of) for value, of in by_value.items()],
            right="123",
        )
        for row in mine:
            if row.point is None:
                say(f"{row.value}, {row.metric}: {reason_text(row)}", indent="  ")


def _cells(value: str, rows: Sequence[SegmentRow]) -> list[str]:
    first = rows[0]
    found = {row.metric: interval_text(row) for row in rows}
    needs = "; ".join(filter(None, map(needs_text, rows)))
    counts = (first.size, first.flagged, first.labeled)
    return [value, *map(str, counts), found["precision"], found["recall"], needs or "-"]
