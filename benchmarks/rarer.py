"""How many labels of the rarer answer a design can expect for precision and for recall.

Of each predicted class, the labels are worth a plain random sample that knows its rate as well:
n = m(1-m)/V, with m the class's true rate and V the variance of its stratified estimate. The
expected rarer answers are n min(m, 1-m). Precision rests on those of the flagged; recall on the
smaller one among the classes that make up a tenth or more of its variance (delta method).
`monitor.stats.estimation.small_counts` does the same with what a round found in place of the truth.
"""

import math

import numpy as np

from benchmarks.fast_rounds import Design

DECIDES = 0.1


def expected_rarer(design: Design) -> tuple[float, float]:
    """Expect so many labels of the rarer answer for precision, recall; infinite where known."""
    tp, fn = design.truth
    recall = tp / (tp + fn)
    worth, variance = [], []
    for part, gradient in zip(design.classes, (1 - recall, recall), strict=True):
        size, rate = design.size[part].astype(np.float64), design.true_rate[part]
        spread = size**2 * rate * (1 - rate) / np.maximum(design.labeled[part], 1)
        mean, total = float(size @ rate / size.sum()), float(spread.sum() / size.sum() ** 2)
        worth.append(mean * (1 - mean) / total * min(mean, 1 - mean) if total > 0 else math.inf)
        left = np.broadcast_to(design.open_items, design.size.shape)[part]
        variance.append(gradient**2 * float(np.sum(spread * left)))
    for_recall = [
        each
        for each, moved in zip(worth, variance, strict=True)
        if moved >= DECIDES * sum(variance)
    ]
    return (
        worth[0] if variance[0] > 0 else math.inf,
        min(for_recall) if sum(variance) > 0 else math.inf,
    )


def taken_whole(design: Design) -> bool:
    """Whether some stratum of a window that holds items is labeled whole."""
    return design.rate is None and bool(
        np.any(design.labeled[design.size > 0] == design.size[design.size > 0])
    )
