"""The threshold that a labeled set allows, by how its labels were drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.curve_rows import FEWEST_FOR_CURVES
from monitor.domain.errors import InputRefused
from monitor.domain.sample_settings import Cells
from monitor.evaluation.designs import SEED, EvaluationDesign, EvaluationSample, design_of
from monitor.evaluation.result import labeled_set_warnings
from monitor.evaluation.rows import LabeledRows
from monitor.rounds.forecast.threshold import Goal, Proposal, proposal_of
from monitor.stats.core.sample import LabeledSample, ScoredSample
from monitor.stats.curves.thresholds import LabeledScores

if TYPE_CHECKING:
    from numpy.typing import NDArray


_SHARE_OF = 10_000
"""Items that flagged ones are counted of, where the size of the population is not known."""


def propose_from_labels(rows: LabeledRows, drawn: EvaluationSample, goal: Goal) -> Proposal:
    """Find the threshold that reaches a goal, among quantiles of the labeled scores.

    Raises `InputRefused` if the rows do not fit how they were drawn, have no scores or no
    threshold in use, or are too few; or if the goal is a number of items a day.
    """
    if rows.score is None or rows.threshold is None:
        message = "a threshold is proposed from scores; give their column and the one in use"
        raise InputRefused(message)
    if goal.capacity is not None:
        message = "a labeled set has no days; --capacity is for the rounds of a monitor"
        raise InputRefused(message)
    positive = int(rows.positive.sum())
    if min(positive, len(rows) - positive) < FEWEST_FOR_CURVES:
        message = (
            f"{positive} positive and {len(rows) - positive} negative labels are too few for a "
            f"threshold; it needs {FEWEST_FOR_CURVES} of each"
        )
        raise InputRefused(message)
    warnings = labeled_set_warnings(rows, drawn)
    design = design_of(rows, drawn)
    items = _items(rows, design)
    if np.bincount(items.stratum).min() == 1:
        message = "a stratum has a single label, so nothing is known of its spread; label more"
        raise InputRefused(message)
    is_counted = drawn.sizes is not None
    total = int(items.size.sum()) if is_counted else _SHARE_OF
    edges = score_edges(rows.score, rows.threshold)
    strata = LabeledScores(
        (rows.score[:, np.newaxis] < edges).sum(axis=1),
        rows.positive,
        flagged=int(np.flatnonzero(edges == rows.threshold)[0]) + 1,
        weight=items.weight * (total / items.weight.sum()),
        group=items.stratum,
    )
    return proposal_of(
        strata,
        edges.tolist(),
        goal,
        sample=ScoredSample(items, rows.score),
        seed=SEED,
        drawn=design.how_drawn,
        warnings=tuple(warnings),
        total=total,
    )


def _items(rows: LabeledRows, design: EvaluationDesign) -> LabeledSample:
    """Take the labels with their weights; of labels drawn by actual class, by the prevalence."""
    if design.prevalence is None:
        return design.items
    positive = int(rows.positive.sum())
    of_positive = design.prevalence / positive
    of_negative = (1 - design.prevalence) / (len(rows) - positive)
    worth = np.where(rows.positive, of_positive, of_negative) * len(rows)
    stratum, size = np.zeros(len(rows), dtype=np.int64), [len(rows), 0]
    return LabeledSample(stratum, rows.positive, size=size, flagged=1, worth=worth)


def score_edges(score: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """Thresholds from high to low: quantiles of the labeled scores, on either side of the one."""
    counts, edges = Cells(), [threshold]
    for of, count in ((score >= threshold, counts.flagged), (score < threshold, counts.passed)):
        at = np.arange(1, count) / count
        edges += np.quantile(score[of], at, method="higher").tolist()
    return np.unique([edge for edge in edges if edge > score.min()])[::-1]
