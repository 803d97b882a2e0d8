"""A judge's verdicts against the labels of people: what `evaluate_judge` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from monitor.domain.errors import InputRefused
from monitor.evaluation.designs import EvaluationSample
from monitor.evaluation.result import SetEstimates, estimate_design
from monitor.evaluation.rows import LabeledRows
from monitor.presentation.reasons import worded
from monitor.presentation.table import Table
from monitor.results.result import Picture
from monitor.stats.core.metrics import FLAGGED, PASSED

if TYPE_CHECKING:
    from collections.abc import Sequence

METRIC_OF = {
    "tpr": "recall",
    "tnr": "specificity",
    "youden_j": "youden_j",
    "kappa": "kappa",
    "agreement": "accuracy",
}
"""Metrics of a judge, by the metric of a classifier that flags what the judge says yes to."""


_KINDS = {FLAGGED: "yes verdicts", PASSED: "no verdicts"}


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class JudgeEvaluation(SetEstimates):
    """How far a judge agrees with people, in the population that its items were drawn from.

    Parameters
    ----------
    labels
        Labeled items: ``tp`` and ``fp`` with a yes of the judge, ``fn`` and ``tn`` with a no.
    """

    labels: dict[str, int]

    def document(self) -> Sequence[str | Table]:
        """Return how the items were drawn, warnings, and a table of the metrics."""
        rows = [[name, self.metric_text(name)] for name in METRIC_OF]
        return self.document_of("judge against people", rows)

    def plot(self) -> Picture:
        """Draw points and intervals of the metrics.

        Raises `InputRefused` if no metric could be estimated.
        """
        return self.draw(METRIC_OF, f"Judge against people, {self.level_text}")


def evaluate_judge_rows(
    rows: LabeledRows, drawn: EvaluationSample, *, level: float = 0.95
) -> JudgeEvaluation:
    """Estimate a judge's rates and agreement from checked rows, flagged where it says yes.

    Raises
    ------
    InputRefused
        If nobody says how the rows were drawn, they do not fit it, or the level is out of range.
    """
    if drawn == EvaluationSample(may_cross=True) and rows.stratum is None:
        message = (
            "nothing says how the items were drawn, and agreement depends on it; give weight, or "
            "strata and sizes, or random=True if they are a plain random sample"
        )
        raise InputRefused(message)
    if drawn.sizes is not None and rows.stratum is None:
        message = (
            "sizes are given but no strata; name the column that they count, such as the predicted "
            "class that the items were drawn by"
        )
        raise InputRefused(message)
    warned, design, estimated = estimate_design(rows, drawn, tuple(METRIC_OF.values()), level)
    name_of = {metric: name for name, metric in METRIC_OF.items()}
    yes, positive = rows.flagged, rows.positive
    cells = {"tp": yes & positive, "fp": yes & ~positive, "fn": ~yes & positive}
    cells["tn"] = ~yes & ~positive
    return JudgeEvaluation(
        drawn=design.how_drawn,
        level=level,
        estimates=[
            worded(replace(each, metric=name_of[each.metric]), _KINDS) for each in estimated
        ],
        labels={name: int(of.sum()) for name, of in cells.items()},
        warnings=tuple(warned),
    )
