"""Estimates from one labeled confusion matrix, without a database or a monitor."""

from __future__ import annotations

from monitor.stats.core.counts import Counts
from monitor.stats.estimation.posterior import MetricEstimate, estimates

SUMMARY_METRICS = ("precision", "recall", "f1", "specificity", "npv", "prevalence")
"""What a reader of a confusion matrix asks first."""


def estimate_matrix(
    *,
    tp: int,
    fp: int,
    fn: int,
    tn: int,
    flagged_size: int,
    passed_size: int,
    metrics: tuple[str, ...] = SUMMARY_METRICS,
    level: float = 0.95,
    seed: int = 0,
) -> list[MetricEstimate]:
    """Estimate metrics from the labels of one window, both the rates and the window's own.

    TP and FP are among the items labeled of the predicted positives, FN and TN among those labeled
    of the predicted negatives; ``flagged_size`` and ``passed_size`` are these classes in the whole
    window, labeled or not.

    Raises
    ------
    ValueError
        If a cell is negative or a class has more labels than items.

    Examples
    --------
    >>> found = estimate_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=1600, passed_size=48400
    ... )
    >>> for each in found[:2]:
    ...     print(each)
    precision (rate, round): 0.863 [0.803, 0.909]
    recall (rate, round): 0.561 [0.512, 0.609]
    """
    _check(
        {"tp": tp, "fp": fp, "fn": fn, "tn": tn}, flagged_size=flagged_size, passed_size=passed_size
    )
    counts = Counts.of_matrix(
        tp=tp, fp=fp, fn=fn, tn=tn, flagged_size=flagged_size, passed_size=passed_size
    )
    return estimates(counts, metrics=metrics, level=level, seed=seed)


def _check(cells: dict[str, int], *, flagged_size: int, passed_size: int) -> None:
    """Refuse impossible counts in the words of the caller."""
    for name, count in cells.items():
        if count < 0:
            message = f"{name} is {count}; it counts labeled items, so it is 0 or more"
            raise ValueError(message)
    classes = (("tp", "fp", "flagged", flagged_size), ("fn", "tn", "passed", passed_size))
    for one, other, name, size in classes:
        labeled = cells[one] + cells[other]
        if labeled > size:
            meant = "positives" if name == "flagged" else "negatives"
            message = (
                f"{one} + {other} = {labeled} items are labeled, but {name}_size is {size}; it "
                f"counts all predicted {meant} of the window, labeled or not"
            )
            raise ValueError(message)
