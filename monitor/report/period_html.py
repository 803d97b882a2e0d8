"""The report of a period as one HTML file that prints: a part for each monitor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from monitor.domain.period_report import PeriodReport
from monitor.presentation.periods import period_sections, period_text, summary_sentence
from monitor.report.figures import MOST_NARROW
from monitor.report.html import narrow_figures, rendered

FILE = "period.html"


def period_html(reports: Sequence[PeriodReport]) -> bytes:
    """Write the report of a period; the same reports always give the same bytes."""
    monitors = ", ".join(report.monitor for report in reports)
    title = f"{monitors}, {reports[0].period}"
    return rendered(FILE, title=title, pages=[_page(report) for report in reports])


def _page(report: PeriodReport) -> dict[str, Any]:
    points = [point for each in report.rounds for point in each.timeline]
    shown = min(len(points), MOST_NARROW)
    return {
        "report": report,
        "summary": summary_sentence(report),
        "period": period_text(report),
        "figures": narrow_figures(report.rounds[-1], points) if report.rounds else [],
        "caption": (
            f"The last {shown} rounds: dots with lines are rounds alone, the band is with earlier "
            "rounds, dashes are the last limit, triangles alerts"
        ),
        "sections": period_sections(report),
    }
