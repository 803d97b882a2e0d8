r"""Thresholds that keep a target for precision or recall, or cost less, with a given confidence.

Strata are in order of score, highest first, and threshold k flags the first k + 1 of them, so that
it flags a number of items that was counted. With :math:`N_h` items and a rate :math:`\pi_h` of
positives in each, "precision at k is at least L" says that

.. math:: \theta = \sum_{h \le k} N_h (\pi_h - L) \ge 0

"recall is at least R" that :math:`(1-R)\sum_{h \le k} N_h\pi_h - R\sum_{h > k} N_h\pi_h \ge 0`, and
"k costs less than the present threshold" weighs the strata between the two by what an error costs.
Where labels were not drawn by score (`LabeledScores`), a threshold cuts the strata they were drawn
from, and :math:`\theta` is the sum over labels of what each one's class and side is worth.

The p-value of the contrary takes for :math:`\theta` a gamma law with the three moments of the
estimate, with the spread of ten neighbouring answers, less one label more that is wrong. Of one
stratum that is nearly Clopper and Pearson's; over several it is the correction of Fay and Feuer
(*Statistics in Medicine* 16, 1997) with a mean weight in place of the largest, for a quarter the
mean over answers in doubt (`_worth_of_wrong`). It is no theorem for many strata: what it keeps is
measured (``benchmarks/threshold.py``).

Thresholds are tested in an order that no answer decides, by the fallback procedure (Wiens,
*Pharmaceutical Statistics* 2, 2003): each start has a share of the error that is allowed, and
a threshold that passes hands its share on to the next. However many are tested, a wrong one passes
with at most that probability, as in Learn then Test (Angelopoulos et al., 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from monitor.stats.design.cell_counts import groups_of_cells

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints

STARTS = 4
"""Where a sequence may start: at the present threshold and at each quarter of the strata beyond."""

EVEN = 0.75
"""Share of a wrong label's worth that is the mean over strata. With a half, targets break too often
where one stratum of low scores has most items (benchmarks/results/tried.txt)."""

_NOTHING = 1e-9  # Variance, in items squared, under which nothing is in doubt
_SYMMETRIC = 1e-6  # A skewness under which the gamma law is the normal one


@dataclass(frozen=True, slots=True, init=False, eq=False)
class ScoreStrata:
    """Labels of strata in order of score, highest first; the first ``flagged`` are flagged now.

    ``size`` has the shape ``(H,)``, ``labeled`` and ``positive`` ``(..., H)`` for several rounds.
    """

    size: Floats
    labeled: Floats
    positive: Floats
    flagged: int

    def __init__(
        self, size: ArrayLike, labeled: ArrayLike, positive: ArrayLike, *, flagged: int
    ) -> None:
        arrays = {"size": size, "labeled": labeled, "positive": positive}
        for name, values in arrays.items():
            object.__setattr__(self, name, np.asarray(values, dtype=np.float64))
        object.__setattr__(self, "flagged", flagged)
        if not 0 < flagged < len(self.size):
            message = f"{flagged} of {len(self.size)} strata are flagged; some of each are needed"
            raise ValueError(message)
        if np.any(self.positive > self.labeled) or np.any(self.labeled > self.size):
            message = "a stratum has more positive than labeled, or more labeled than all items"
            raise ValueError(message)

    @property
    def current(self) -> int:
        """Position of the threshold that is in use."""
        return self.flagged - 1

    @property
    def over(self) -> Bools:
        """Whether threshold k flags stratum h, shape ``(H, H - 1)``."""
        return np.asarray(np.tri(len(self.size), dtype=np.bool_).T[:, :-1])

    def flagged_items(self) -> Floats:
        """Items that each threshold flags, shape ``(H - 1,)``."""
        return np.cumsum(self.size)[:-1]

    def precision(self) -> Floats:
        """Precision at each threshold by the weighted labels, shape ``(..., H - 1)``."""
        flagged = np.maximum(self.flagged_items(), 1)
        return np.asarray(np.cumsum(self._positives(), axis=-1)[..., :-1] / flagged)

    def recall(self) -> Floats:
        """Recall at each threshold by the weighted labels; NaN where no label is positive."""
        positives = np.cumsum(self._positives(), axis=-1)
        with np.errstate(invalid="ignore"):
            return np.asarray(positives[..., :-1] / positives[..., -1:])

    def cost(self, false_positive: float, false_negative: float) -> Floats:
        """Cost of the errors of each threshold by the weighted labels."""
        positives = np.cumsum(self._positives(), axis=-1)
        wrong, missed = (
            self.flagged_items() - positives[..., :-1],
            positives[..., -1:] - positives[..., :-1],
        )
        return np.asarray(false_positive * wrong + false_negative * missed)

    def _positives(self) -> Floats:
        return self.size * self.positive / np.maximum(self.labeled, 1)

    def smoothed(self) -> Floats:
        """Variance of one answer in each stratum, by the ten answers around, and its skewness.

        Shape ``(2, ..., H)``: the second and third central moment of an answer.
        """
        moments = np.zeros((2, *self.labeled.shape))
        for side in (slice(None, self.flagged), slice(self.flagged, None)):
            n, y = self.labeled[..., side], self.positive[..., side]
            rows, strata = n.size // n.shape[-1], n.shape[-1]
            first_of_row = strata * np.arange(rows).reshape(*n.shape[:-1], 1)
            group = groups_of_cells(n) + first_of_row
            answers, positives = (
                np.bincount(group.ravel(), each.ravel(), n.size)[group] for each in (n, y)
            )
            rate = positives / np.maximum(answers, 1)
            spread = rate * (1 - rate) * answers / np.maximum(answers - 1, 1)
            moments[:, ..., side] = spread, spread * (1 - 2 * rate)
        return moments

    def p_values(self, slope: Floats, constant: Floats) -> Floats:
        r"""P-value of :math:`\sum_h N_h (constant_h + slope_h \pi_h) \le 0`, column by column.

        A stratum without a label counts as the worst that it may be.
        """
        n, is_labeled = np.maximum(self.labeled, 1), self.labeled > 0
        variance, third = self.smoothed()
        weight = self.size / n
        mean = self.size @ constant + self._positives() @ slope
        mean = mean + (self.size * ~is_labeled) @ np.minimum(slope, 0)
        of_estimate = self.size * weight * variance @ slope**2
        skewed = self.size * weight**2 * third @ slope**3
        for sign in (1, -1):  # one answer more that is wrong, on either side
            worth = _worth_of_wrong(np.maximum(sign * slope, 0), weight, n * variance)
            mean, of_estimate, skewed = mean - worth, of_estimate + worth**2, skewed - 2 * worth**3
        return _below_zero(mean, of_estimate, skewed)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class LabeledScores(ScoreStrata):
    """Labels of n items that were not drawn by score, in intervals of it, highest first.

    ``interval`` is the position of each item's interval of scores, ``(n,)``, of which the first
    ``flagged`` are flagged now; intervals are cut by scores alone. ``weight`` is how many items
    each stands for, ``group`` the stratum that it was drawn from.
    """

    interval: Ints
    is_positive: Bools
    weight: Floats
    group: Ints

    def __init__(
        self,
        interval: ArrayLike,
        positive: ArrayLike,
        *,
        flagged: int,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> None:
        at = np.asarray(interval, dtype=np.int64)
        of_item = np.ones(len(at)) if weight is None else np.asarray(weight, dtype=np.float64)
        members = np.zeros(len(at), dtype=np.int64) if group is None else np.asarray(group)
        own = {"interval": at, "is_positive": np.asarray(positive, dtype=np.bool_)}
        for name, values in {**own, "weight": of_item, "group": members}.items():
            object.__setattr__(self, name, values)
        size, hits = np.bincount(at, of_item), np.bincount(at, of_item * self.is_positive)
        ScoreStrata.__init__(self, size, size, hits, flagged=flagged)

    def _positives(self) -> Floats:
        return self.positive

    def p_values(self, slope: Floats, constant: Floats) -> Floats:
        """See `ScoreStrata.p_values`; a threshold may cut each group in two.

        A wrong label is worth the mean of its group, each group counting alike.
        """
        value = self.is_positive[:, np.newaxis] * slope[self.interval] + constant[self.interval]
        value *= self.weight[:, np.newaxis]
        mean, variance, third = value.sum(axis=0), *np.zeros((2, value.shape[1]))
        worth, groups = np.zeros((2, 2, value.shape[1]))
        for g in np.unique(self.group):
            members = self.group == g
            around, n = value[members] - value[members].mean(axis=0), int(members.sum())
            variance += n / max(n - 1, 1) * (around**2).sum(axis=0)
            third += (around**3).sum(axis=0)
            for side, sign in enumerate((1, -1)):  # one answer more that is wrong, as above
                lost = np.maximum(sign * slope[self.interval[members]], 0).max(axis=0)
                worth[side] += self.weight[members].mean() * lost
                groups[side] += lost > 0
        worth /= np.maximum(groups, 1)
        mean -= worth.sum(axis=0)
        return _below_zero(
            mean, variance + (worth**2).sum(axis=0), third - 2 * (worth**3).sum(axis=0)
        )


def precision_p(strata: ScoreStrata, target: float) -> Floats:
    """p-value of "precision is under the target" at each threshold, shape ``(..., H - 1)``."""
    over = strata.over
    return strata.p_values(over.astype(np.float64), np.asarray(-target * over))


def recall_p(strata: ScoreStrata, target: float) -> Floats:
    """p-value of "recall is under the target" at each threshold, shape ``(..., H - 1)``."""
    slope = strata.over.astype(float) - target
    return strata.p_values(slope, np.zeros(slope.shape))


def cheaper_p(strata: ScoreStrata, false_positive: float, false_negative: float) -> Floats:
    """p-value of "it costs no less than the threshold in use"; 1 at that one itself."""
    more = strata.over.astype(float) - strata.over[:, [strata.current]]
    p = strata.p_values(more * (false_positive + false_negative), -false_positive * more)
    p[..., strata.current] = 1.0
    return p


def _worth_of_wrong(lost: Floats, weight: Floats, in_doubt: Floats) -> Floats:
    r"""Find what one answer more that is wrong takes from the sum, shape ``(..., K)``.

    With losses :math:`w_h l_h`, their mean over the strata :math:`\bar w` and
    :math:`v_h = n_h \pi_h (1 - \pi_h)` it is

    .. math:: \frac34 \bar w + \frac14 \frac{\sum_h v_h w_h l_h + \bar w}{\sum_h v_h + 1}

    over the strata with :math:`l_h > 0`. Most wrong answers are where answers are in doubt, at the
    threshold, and there a label stands for few items.
    ``lost`` is :math:`l_h` at each threshold, ``(H, K)``, ``weight`` and ``in_doubt`` are
    :math:`w_h` and :math:`v_h`, ``(..., H)``.
    """
    loses = (lost > 0).astype(np.float64)
    mean = (weight @ lost) / np.maximum(loses.sum(axis=0), 1)
    of_doubt = ((in_doubt * weight) @ lost + mean) / (in_doubt @ loses + 1)
    return np.asarray(EVEN * mean + (1 - EVEN) * of_doubt)


def _below_zero(mean: Floats, variance: Floats, third: Floats) -> Floats:
    """P(X <= 0) of a gamma law, of either direction, with these central moments."""
    sd = np.sqrt(np.maximum(variance, _NOTHING))
    z, skew = -mean / sd, third / sd**3
    size = np.maximum(np.abs(skew), _SYMMETRIC)
    shape = 4 / size**2
    at = np.maximum(shape + np.sqrt(shape) * z * np.sign(skew), 0.0)
    p = np.where(skew > 0, special.gammainc(shape, at), special.gammaincc(shape, at))
    return np.asarray(np.where(np.abs(skew) <= _SYMMETRIC, special.ndtr(z), p))


def allowed_p(p: Floats, order: Ints, starts: Ints, error: float) -> Floats:
    """Largest p-value that the fallback procedure allows each threshold, shape ``(..., K)``.

    Of the p-values, those at the positions of ``order`` are tested in turn; the positions
    ``starts``, of which one may stand twice, have an equal share of ``error`` each. It is 0 where a
    sequence has not started, or has ended.

    >>> allowed_p(np.array([0.01, 0.03, 0.02]), np.arange(3), np.array([0, 2]), 0.04).tolist()
    [0.02, 0.02, 0.02]
    >>> allowed_p(np.array([0.01, 0.01, 0.03]), np.arange(3), np.array([0, 2]), 0.04).tolist()
    [0.02, 0.02, 0.04]
    """
    share = np.bincount(starts, minlength=p.shape[-1]) * (error / len(starts))
    have = np.zeros(p.shape[:-1])
    allowed = np.zeros(p.shape)
    for k in order:
        have = have + share[k]
        allowed[..., k] = have
        have = np.where(p[..., k] <= have, have, 0.0)
    return allowed


class ThresholdTests(NamedTuple):
    """p-values of thresholds and the largest that are allowed, shape ``(..., H - 1)``.

    ``last`` is the position of the last threshold of the order that passes, -1 if none does.
    """

    p: Floats
    allowed: Floats
    last: Ints


def threshold_tests(
    strata: ScoreStrata, metric: str, target: float, *, error: float = 0.05
) -> ThresholdTests:
    """Test which thresholds keep a target of precision or recall, by `allowed_p`.

    For precision from high to low, up to the present one; for recall from low to high, from the
    present one down. With a probability of at most ``error`` the last that passes misses it.
    """
    every = np.arange(len(strata.size) - 1)
    if metric == "precision":
        p, order = precision_p(strata, target), every
        starts = np.maximum(np.arange(1, STARTS + 1) * strata.flagged // STARTS - 1, 0)
    else:
        p, order = recall_p(strata, target), every[::-1]
        below = len(every) - strata.flagged
        starts = strata.current + np.arange(STARTS) * below // STARTS
    allowed = allowed_p(p, order, starts, error)
    return ThresholdTests(p, allowed, last_allowed(p, allowed, order))


def last_allowed(p: Floats, allowed: Floats, order: Ints) -> Ints:
    """Last threshold of the order that passes, or -1."""
    passes = ((allowed > 0) & (p <= allowed))[..., order]
    last = np.asarray(order)[len(order) - 1 - np.argmax(passes[..., ::-1], axis=-1)]
    return np.where(passes.any(axis=-1), last, -1)


def cheapest(
    strata: ScoreStrata, false_positive: float, false_negative: float, *, error: float = 0.05
) -> tuple[int, bool]:
    """Threshold of the least estimated cost, and whether it surely costs less than the present.

    Sure with a probability of at most ``error`` that it does not, shared out over all thresholds
    (Bonferroni), for the answers choose which one is asked about.
    """
    best = int(np.argmin(strata.cost(false_positive, false_negative)))
    p = cheaper_p(strata, false_positive, false_negative)
    return best, bool(p[best] <= shared_p(strata, error))


def shared_p(strata: ScoreStrata, error: float) -> float:
    """Share of ``error`` for each threshold but the present one (Bonferroni)."""
    return error / max(len(strata.size) - 2, 1)
