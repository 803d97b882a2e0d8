"""What `pr-monitor show` says of one round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute
from monitor.cli.views.printing import echo, echo_block, echo_table
from monitor.domain.class_report import ClassReport
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
from monitor.presentation.segments import page_segment_tables

if TYPE_CHECKING:
    from collections.abc import Iterable


def echo_round(page: dict[str, Any]) -> None:
    """Print a round's page."""
    for line in head_lines(page):
        echo(line, indent="  ")
    _echo_strata(page)
    if page["estimates"]:
        echo()
        echo_table(*estimates_table(page))
        echo_block(estimate_lines(page))
        echo_block(pooled_lines(page))
    for line in people_lines(page):
        echo(line, indent="  ")
    for head, rows, lines in page_segment_tables(page):
        echo()
        echo_table(head, rows, right="123")
        for line in lines:
            echo(line, indent="  ")
    _echo_challenger(page)
    _echo_classes(page)
    echo_block(cause_lines(page))
    echo_block([*evidence_lines(page), *recurring_lines(page)])
    echo_block(notice_lines(page))
    echo()
    _echo_events(page["events"])


def _echo_challenger(page: dict[str, Any]) -> None:
    challenger = challenger_of(page)
    if challenger is None:
        return
    for title, head, rows in challenger_tables(challenger):
        echo()
        echo(f"challenger {challenger.name}, {title}", indent="  ")
        echo_table(head, rows)
    echo_block(challenger_lines(challenger))


def _echo_classes(page: dict[str, Any]) -> None:
    if page["classes"] is not None:
        echo()
        echo_block(report_lines(ClassReport(**page["classes"])))


def _echo_events(events: Iterable[dict[str, Any]]) -> None:
    for event in events:
        echo(f"{minute(event['at'])}  {event['after']}: {event['reason']}", indent=" " * 18)


def _echo_strata(page: dict[str, Any]) -> None:
    if not page["strata"]:
        return
    echo()
    echo_table(*strata_table(page), right="12345")
    for line in strata_lines(page):
        echo(line, indent="  ")
