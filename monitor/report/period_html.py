"""The report of a period as one HTML file that prints: a part for each monitor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from monitor.domain.period_report import PeriodReport
from monitor.domain.report import RoundReport
from monitor.presentation.periods import period_sections, period_text, summary_sentence
from monitor.report.figures import MOST_NARROW, metric_svg
from monitor.report.html import WATCHED, inline, rendered

FILE = "period.html"


def period_html(reports: Sequence[PeriodReport]) -> bytes:
    """Write the report of a period; the same reports always give the same bytes."""
    monitors = ", ".join(report.monitor for report in reports)
    title = f"{monitors}, {reports[0].period}"
    return rendered(FILE, title=title, pages=[_page(report) for report in reports])


def _page(report: PeriodReport) -> dict[str, Any]:
    points = [point for each in report.rounds for point in each.timeline]
    shown = min(len(points), MOST_NARROW)
    last = report.rounds[-1] if report.rounds else None
    return {
        "report": report,
        "summary": summary_sentence(report),
        "period": period_text(report),
        "figures": [
            inline(metric_svg(points, metric, _limits(last, metric), monitor=report.monitor))
            for metric in WATCHED
            if shown > 1
        ],
        "caption": (
            f"The last {shown} rounds: dots with lines are rounds alone, the band is with earlier "
            "rounds, dashes are the last limit, triangles alerts"
        ),
        "sections": period_sections(report),
    }


def _limits(report: RoundReport | None, metric: str) -> list[float]:
    evidence = [] if report is None else report.evidence
    return [row.limit for row in evidence if row.metric == metric]
