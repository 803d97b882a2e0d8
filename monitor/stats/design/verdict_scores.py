r"""Scores of strata that a judge's verdict cuts, before any label says what the verdict is worth.

A first round goes by scores. Where they are probabilities and the verdict hangs on the truth alone,
the share of a yes among the items of score cell h, with mean score :math:`s_h`, is a line in it,

.. math:: q_h = f + (t - f)\, s_h,

t and f the judge's true and false positive rates within a predicted class. So a line through the
cells of the class, by weighted least squares, estimates both without a label, and Bayes' rule
gives the score of either verdict,

.. math:: s_{h,yes} = \frac{s_h t}{s_h t + (1-s_h) f}, \qquad
    s_{h,no} = \frac{s_h (1-t)}{s_h (1-t) + (1-s_h)(1-f)}

(the misclassification model of Rogan & Gladen, *American Journal of Epidemiology* 107, 1978). Of
the slope a standard error is taken off, and one below 0 is 0: the verdict is then worth nothing.
Each class has its own line, since judges often repeat the mistakes of the classifier. A verdict
that only repeats the score looks better than it is; the plan then asks for too few labels in its
first round. No estimate rests on these scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats, Ints

_LEAST, _MOST = 0.002, 0.98
"""Bounds on the rates of a judge that no label has tested."""


def verdict_scores(
    size: Ints | Floats, score: Floats, is_flagged: Bools, verdict: Floats, cell: Ints
) -> Floats:
    """Return the mean score of each stratum given its verdict, shape ``(H,)``.

    ``score`` is its mean score, NaN without one, ``verdict`` 1 for a yes, -1 for a no and 0 without
    one, ``cell`` the score cell that it is cut from. Strata without a verdict keep their score.

    >>> verdict_scores(
    ...     np.array([8200, 200, 1800, 800]), np.array([0.1, 0.9, 0.1, 0.9]), np.ones(4, np.bool_),
    ...     np.array([-1.0, -1.0, 1.0, 1.0]), np.array([0, 1, 0, 1]),
    ... ).round(2).tolist()
    [0.02, 0.58, 0.48, 0.99]
    """
    result = np.array(score, dtype=np.float64)
    for members in (is_flagged, ~is_flagged):
        judged = members & (verdict != 0) & (size > 0) & ~np.isnan(score)
        if judged.any():
            s, says_yes = score[judged], verdict[judged] > 0
            tpr, fpr = _judge_rates(size[judged], s, says_yes, cell[judged])
            of_positive, of_negative = (np.where(says_yes, rate, 1 - rate) for rate in (tpr, fpr))
            result[judged] = s * of_positive / (s * of_positive + (1 - s) * of_negative)
    return result


def _judge_rates(
    size: Ints | Floats, score: Floats, says_yes: Bools, cell: Ints
) -> tuple[float, float]:
    """Estimate the rates of a judge by the shares of a yes in the cells of one class."""
    of_cell = cell == np.unique(cell)[:, np.newaxis]
    items = of_cell @ size
    mean, share = (
        of_cell @ (size * score) / items,
        (of_cell @ (size * says_yes) + 0.5) / (items + 1),
    )
    weight = items / (share * (1 - share))
    distance = mean - np.average(mean, weights=weight)
    spread = max(float(weight @ distance**2), 1e-12)
    slope = max(float(weight @ (distance * share)) / spread - spread**-0.5, 0.0)
    fpr = float(np.average(share - slope * mean, weights=items))
    low, high = np.clip([fpr, fpr + slope], _LEAST, _MOST).tolist()
    return high, low
