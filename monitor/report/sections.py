"""What the HTML report has beside the sections of a round: large numbers and figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from monitor.presentation.estimates import BASES, WHATEVER
from monitor.presentation.numbers import NOT_ESTIMABLE
from monitor.presentation.outcome import best_row, holds_for_text, labels_text, no_curves_text
from monitor.presentation.round_document import limit_signs
from monitor.report.counts_figure import counts_svg
from monitor.report.curve_figures import narrow_curves
from monitor.report.density_figure import density_svg
from monitor.report.figures import metric_svg, timeline_svg

if TYPE_CHECKING:
    from monitor.domain.report import RoundReport

_WATCHED = ("precision", "recall")


class Headline(NamedTuple):
    """A metric in large letters: its point, its interval, what it rests on, and its limit."""

    metric: str
    point: str
    interval: str
    basis: str
    limit: str


def key_numbers(report: RoundReport) -> list[Headline]:
    """Give precision and recall, each by the most labels there are."""
    return [_number(report, metric) for metric in _WATCHED if report.estimates]


def figures_of(report: RoundReport) -> dict[str, Any]:
    """Draw all figures, with what each holds for, and state why some are missing."""
    timeline = report.timeline if len(report.timeline) > 1 else []
    limits = {
        metric: [row.limit for row in report.evidence if row.metric == metric]
        for metric in _WATCHED
    }
    return {
        "timeline": [_inline(timeline_svg(report))] if timeline else [],
        "timeline_narrow": [
            _inline(metric_svg(timeline, metric, limits[metric], monitor=report.monitor))
            for metric in _WATCHED
            if timeline
        ],
        "densities": _drawn(density_svg(report, metric) for metric in _WATCHED),
        "counts_figure": _drawn([counts_svg(report)]),
        "curves": _drawn(narrow_curves(report)),
        "no_curves": no_curves_text(report),
        "holds_for": holds_for_text(report),
        "labels": labels_text(report),
    }


def _drawn(figures: Iterable[bytes | None]) -> list[Markup]:
    return [_inline(figure) for figure in figures if figure is not None]


def _inline(figure: bytes) -> Markup:
    """Place a figure into the page: `monitor.drawing.svg` has escaped every text of it."""
    return Markup(figure.decode())  # noqa: S704


def _number(report: RoundReport, metric: str) -> Headline:
    row = best_row(report, metric)
    if row is None or row.point is None:
        return Headline(metric, "?", NOT_ESTIMABLE, "", limit_signs(report, metric))
    return Headline(
        metric,
        f"{row.point:.2f}",
        f"{row.low:.2f} to {row.high:.2f}",
        f"{BASES[row.basis]}{f', {WHATEVER}' if row.is_worst_case else ''}",
        limit_signs(report, metric),
    )
