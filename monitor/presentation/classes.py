"""Precision and recall over the classes of a block in words, without a full stop."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from monitor.domain.class_report import AverageRow, ClassOverview, ClassReport
from monitor.presentation.estimates import answered_at_random_text
from monitor.presentation.numbers import interval_text, minute_text, plural
from monitor.presentation.table import Table

_NAMED = 5  # Classes that a line names; of more it says how many there are

_HEAD = ("average", "estimate")
_LACKING = {"precision": "nothing was predicted as", "recall": "no item is known of"}


def ended_text(number: int, state: str, reason: str | None) -> str:
    """Describe why a round of a class has no estimate.

    >>> ended_text(3, "abandoned", "no label came")
    'round 3 was abandoned: no label came'
    """
    return f"round {number} was {state}: {reason or 'no reason was kept'}"


NO_ROUND = "no round of this window was opened for it"
NO_MONITOR = "no monitor of the config has this class"


def block_table(block: ClassOverview) -> Table:
    """Lay out what a block of classes last reported, and what the next report waits for."""
    nothing = f"{block.block}, all {len(block.classes)} classes: nothing reported yet"
    table = Table(_HEAD, [], nothing) if block.report is None else report_table(block.report)
    if block.slot is None or not block.waits_for:
        return table
    waiting = waiting_line(block.slot, block.waits_for, len(block.classes))
    return table._replace(lines=[*table.lines, waiting])


def report_table(report: ClassReport) -> Table:
    """Lay out all that a block of classes reported of a window."""
    title = f"{report.block}, all classes: {window_line(report)}"
    return Table(_HEAD, [*map(_average_cells, report.averages)], title, remark_lines(report))


def block_lines(block: ClassOverview) -> list[str]:
    """Write the table of a block as lines."""
    table = block_table(block)
    rows = [f"  {average:<15}  {estimate}" for average, estimate in table.rows]
    return [table.title, *rows, *(f"  {line}" for line in table.lines)]


def window_line(report: ClassReport) -> str:
    """Describe which window a report is of, and what its labels cost."""
    due = f"round due {minute_text(report.slot)} UTC, {len(report.classes)} classes"
    if not report.averages:
        return due
    return f"{due}, {report.labels:,} labels of {plural(report.items, 'item')}"


def _average_cells(row: AverageRow) -> list[str]:
    reason = f": {row.reason}" if row.reason else ""
    return [f"{row.average} {row.metric}", f"{interval_text(row)}{reason}"]


def remark_lines(report: ClassReport) -> list[str]:
    """Report what averages leave out or assume, which classes changed, and where labels are few."""
    lines = [
        f"not estimated, since {row.value} has no estimate: {row.missing}" for row in report.missing
    ]
    if report.unlabeled:
        lines.append(answered_at_random_text(report.unlabeled, len(report.classes)))
    if report.new or report.gone:
        classes = (("new", report.new), ("gone", report.gone))
        changes = [f"{what} {_names(which)}" for what, which in classes if which]
        lines.append(f"the classes changed since the previous window: {', '.join(changes)}")
    for row in report.averages:
        if row.average != "macro":
            continue  # micro averages take all classes together
        if row.left_out:
            what = f"{_LACKING[row.metric]} {_names(row.left_out)}"
            lines.append(
                f"macro {row.metric} is over {row.classes} of {len(report.classes)} classes: {what}"
            )
        if row.few_labels:
            lines.append(
                f"macro {row.metric}: few labels decide {_names(row.few_labels)}, so the "
                "interval may cover the truth less often than stated"
            )
    return lines


def waiting_line(slot: datetime, classes: Sequence[str], total: int) -> str:
    """Describe which classes the next averages wait for.

    >>> from datetime import UTC, datetime
    >>> waiting_line(datetime(2026, 3, 2, 6, tzinfo=UTC), ["travel", "finance"], 30)
    'round due 2026-03-02 06:00 UTC waits for 2 of 30 classes: travel, finance'
    """
    count = f"{len(classes)} of {total} classes"
    return f"round due {minute_text(slot)} UTC waits for {count}: {_names(classes)}"


def _names(classes: Sequence[str]) -> str:
    more = len(classes) - _NAMED
    named = ", ".join(classes[:_NAMED])
    return f"{named} and {more} more" if more > 0 else named
