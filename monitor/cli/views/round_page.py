"""What `pr-monitor show` says of one round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute
from monitor.cli.views.printing import say, say_block, say_table
from monitor.domain.class_report import ClassReport
from monitor.domain.report import SegmentRow
from monitor.presentation.challenger import challenger_lines, challenger_tables
from monitor.presentation.classes import report_lines
from monitor.presentation.round_page import (
    cause_lines,
    challenger_of,
    estimate_lines,
    estimates_table,
    evidence_lines,
    head_lines,
    notice_lines,
    people_lines,
    pooled_lines,
    recurring_lines,
    strata_lines,
    strata_table,
)
from monitor.presentation.segments import segment_tables

if TYPE_CHECKING:
    from collections.abc import Iterable


def say_round(page: dict[str, Any]) -> None:
    """Print a round's page."""
    for line in head_lines(page):
        say(line, indent="  ")
    _say_strata(page)
    if page["estimates"]:
        say()
        say_table(*estimates_table(page))
        say_block(estimate_lines(page))
        say_block(pooled_lines(page))
    for line in people_lines(page):
        say(line, indent="  ")
    for head, rows, lines in segment_tables([SegmentRow(**row) for row in page["segments"]]):
        say()
        say_table(head, rows, right="123")
        for line in lines:
            say(line, indent="  ")
    _say_challenger(page)
    _say_classes(page)
    say_block(cause_lines(page))
    say_block([*evidence_lines(page), *recurring_lines(page)])
    say_block(notice_lines(page))
    say()
    _say_events(page["events"])


def _say_challenger(page: dict[str, Any]) -> None:
    challenger = challenger_of(page)
    if challenger is None:
        return
    for title, head, rows in challenger_tables(challenger):
        say()
        say(f"challenger {challenger.name}, {title}", indent="  ")
        say_table(head, rows)
    say_block(challenger_lines(challenger))


def _say_classes(page: dict[str, Any]) -> None:
    if page["classes"] is not None:
        say()
        say_block(report_lines(ClassReport(**page["classes"])))


def _say_events(events: Iterable[dict[str, Any]]) -> None:
    for event in events:
        say(f"{minute(event['at'])}  {event['after']}: {event['reason']}", indent=" " * 18)


def _say_strata(page: dict[str, Any]) -> None:
    if not page["strata"]:
        return
    say()
    say_table(*strata_table(page), right="12345")
    for line in strata_lines(page):
        say(line, indent="  ")
