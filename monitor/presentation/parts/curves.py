"""ROC and precision-recall curves of a round, which `monitor.report.curve_figures` draws."""

from __future__ import annotations

from monitor.domain.curve_rows import FEWEST_FOR_CURVES, CurvesRow
from monitor.domain.report import RoundReport
from monitor.presentation.parts.view import PartView


class CurvesView(PartView[CurvesRow | None]):
    """Figures, and no text besides."""

    name = "curves"
    kind = CurvesRow


CURVES = CurvesView()


def no_curves_text(report: RoundReport) -> str:
    """Describe why there are no curves; empty where there are."""
    if CURVES.of(report) is not None or not report.estimates:
        return ""
    positive = sum(row.positive for row in report.strata)
    negative = report.labeled - positive
    if min(positive, negative) < FEWEST_FOR_CURVES:
        return (
            f"There are no ROC and precision-recall curves: they need {FEWEST_FOR_CURVES} labeled "
            f"positives and negatives, and there are {positive} and {negative}."
        )
    if all(row.low is None and row.high is None for row in report.cells or report.strata):
        return "There are no ROC and precision-recall curves: the predictions have no scores."
    if report.version > 1:
        return (
            "There are no ROC and precision-recall curves in this version: the labels of this "
            "round did not change, so those of the version before still hold."
        )
    return "There are no ROC and precision-recall curves: a part of the scores has no label."
