"""What `pr-monitor show` prints of one round."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from monitor.cli.common import minute
from monitor.cli.views.printing import echo, echo_table
from monitor.domain.report import EstimateRow, RoundReport
from monitor.presentation.round_document import (
    Section,
    answered_texts,
    caution_texts,
    fired_by,
    head_lines,
    page_sections,
)

if TYPE_CHECKING:
    from monitor.domain.round_page import RoundPage

_COUNT = re.compile(r"[\d,]+|-|")
_UNCOUNTED = dict.fromkeys(("labeled", "positive", "declined"))
_WITHOUT_REPORT: dict[str, Any] = {
    **{
        name: []
        for name in ("estimates", "segments", "evidence", "alerts", "notices", "cells", "checks")
    },
    **dict.fromkeys(
        ("pooled_coverage", "answers", "agreement", "cause", "challenger", "judge", "program")
    ),
    "recurring": 0,
}


def echo_round(page: RoundPage) -> None:
    """Print a round's page."""
    for line in head_lines(page):
        echo(line, indent="  ")
    for section in page_sections(page):
        _echo_section(section)
    echo()
    for event in page.events:
        echo(f"{minute(event['at'])}  {event['after']}: {event['reason']}", indent=" " * 18)


def page_json(page: RoundPage) -> dict[str, Any]:
    """Give a round's page to a program."""
    report = page.report
    shared = ("monitor", "round", "slot", "state", "reason", "version", "latest_version")
    more = ("partial", "second_wave_at", "snapshot", "restated_since", "concerns", "bad_rows")
    return {
        **{name: getattr(page, name) for name in (*shared, *more, "notes", "events", "settings")},
        "window": [page.window.start, page.window.end],
        "restated": [row.model_dump() for row in page.restated],
        "strata": [row.model_dump() | _UNCOUNTED for row in page.drawn],
        "classes": page.classes and page.classes.model_dump(),
        **_report_json(report),
    }


def _report_json(report: RoundReport | None) -> dict[str, Any]:
    if report is None:
        return _WITHOUT_REPORT | {"cautions": {}, "answered": {}}
    names = set(EstimateRow.model_fields)
    return {
        **report.model_dump(include={*_WITHOUT_REPORT, "strata"}),
        "estimates": [row.model_dump(include=names) for row in report.estimates],
        "evidence": [
            row.model_dump() | {"fires": fired_by(report, row)} for row in report.evidence
        ],
        "cautions": caution_texts(report),
        "answered": answered_texts(report),
    }


def _echo_section(section: Section) -> None:
    echo()
    echo(section.title)
    for at, table in enumerate(section.tables):
        if at:
            echo()
        if table.title:
            echo(f"  {table.title}", indent="  ")
        counts = [
            str(index)
            for index, column in enumerate(zip(*table.rows, strict=True))
            if index and all(_COUNT.fullmatch(cell) for cell in column)
        ]
        echo_table(table.head, table.rows, right="".join(counts))
        for line in table.lines:
            echo(line, indent="  ")
    for line in section.lines:
        echo(line, indent="  ")
