r"""Checks of a column's labels: what they are worth for a class, and when its errors changed.

Checks are drawn in proportion to labels, which are dense where a score is unsure; so are the errors
of a column near the threshold. A check of stratum h stands for :math:`w_h = N_h/n_h` items (Horvitz
and Thompson, *JASA* 47, 1952). With such weights the class has sensitivity and specificity

.. math:: \bar s = \frac{\sum_h w_h\, tp_h}{\sum_h w_h (tp_h + fn_h)}, \qquad
    \bar t = \frac{\sum_h w_h\, tn_h}{\sum_h w_h (tn_h + fp_h)}

and :math:`\bar q = \bar\pi \bar s + (1 - \bar\pi)(1 - \bar t)` holds for its rates however labels
err along the score. How many plain checks know them as well is counted as for labels
(``cell_counts``), with the estimated positive (negative) items of each stratum as its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from monitor.stats.core.beta_mixture import HEAVY
from monitor.stats.design.cell_counts import cell_counts
from monitor.stats.labels.audit import LabelAudit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats

_POINTS = 2**9  # of a Beta's quantiles, by the midpoint rule


def weighted_audit(counts: ArrayLike, items: ArrayLike) -> LabelAudit:
    """Convert the checks of a class, by stratum, to plain ones that know its errors as well.

    ``counts`` are tp, fn, tn and fp of each stratum in order of score, ``(H, 4)``, and ``items``
    what these stand for, of the same shape, up to one factor.

    Examples
    --------
    >>> far_and_near = [[4, 0, 96, 0], [18, 2, 80, 20]]  # of 200 negative ones 176 are right
    >>> audit = weighted_audit(far_and_near, np.multiply(far_and_near, [[9.0], [1.0]]))
    >>> round(audit.tn / (audit.tn + audit.fp), 3)
    0.979
    """
    return LabelAudit(*plain_checks(counts, items))


def plain_checks(counts: ArrayLike, items: ArrayLike) -> tuple[float, float, float, float]:
    """Count tp, fn, tn and fp as `weighted_audit`, also where they are too few for an audit."""
    checks, worth = np.asarray(counts, dtype=np.float64), np.asarray(items, dtype=np.float64)
    if len(checks) == 1:  # worth what they are, without rounding errors
        tp, fn, tn, fp = checks[0].tolist()
        return tp, fn, tn, fp
    sides: list[float] = []
    for first in (0, 2):
        of_truth = slice(first, first + 2)
        size, labeled = worth[:, of_truth].sum(axis=1), checks[:, of_truth].sum(axis=1)
        # A stratum without a wrong label is not free of them; nor is a cell of labels pure.
        effective = cell_counts(size, labeled, checks[:, first], prior=HEAVY)
        right, labeled = float(effective.positive[0]), float(effective.labeled[0])
        sides += [right, max(labeled - right, 0.0)]
    tp, fn, tn, fp = sides
    return tp, fn, tn, fp


class QualityChange(NamedTuple):
    """How many of the newest rounds have other errors than those before.

    ``probability`` is an upper bound of how probable as large a difference is, over all cuts and
    both shares, if nothing changed.
    """

    newest: int
    probability: float


def quality_change(rounds: Sequence[Sequence[float]]) -> QualityChange | None:
    """Find the last change of a column's errors in the checks of some rounds, the newest last.

    Each has tp, fn, tn and fp, as `plain_checks`. The k newest are compared with those before, for
    each k: with Jeffreys' priors, the probability that sensitivity (specificity) is the lower one,
    two-sided. The smallest is multiplied by the number of comparisons, two for each cut
    (Bonferroni). None if that is 1 or more. Below 1 earlier checks may not count: to doubt them
    needlessly widens intervals, to trust them wrongly biases them.

    >>> quality_change([(97, 3, 40, 1)] * 3 + [(85, 15, 40, 1)])
    QualityChange(newest=1, probability=0.0003)
    >>> quality_change([(97, 3, 40, 1)] * 4)
    """
    total = np.cumsum(np.array(rounds, dtype=np.float64), axis=0)
    tried = [
        (_differ(*sides), len(rounds) - cut)
        for cut in range(1, len(rounds))
        for sides in _sides(total[cut - 1], total[-1])
    ]
    if not tried:
        return None
    least, newest = min(tried)
    probability = round(len(tried) * least, 4)
    return QualityChange(newest, probability) if probability < 1 else None


def _sides(before: Floats, all_: Floats) -> list[tuple[Floats, Floats]]:
    """Right and wrong labels before a cut and after it, of positive and of negative items."""
    after = all_ - before
    return [(before[:2], after[:2]), (before[2:], after[2:])]


def _differ(one: Floats, other: Floats) -> float:
    """Probability, two-sided, that the one with the higher share of right labels is the lower."""
    middles = (np.arange(_POINTS) + 0.5) / _POINTS
    (right, wrong), (right_before, wrong_before) = one + 0.5, other + 0.5
    shares = special.betaincinv(right, wrong, middles)
    is_lower = float(special.betainc(right_before, wrong_before, shares).mean())
    return 2 * min(is_lower, 1 - is_lower)
