r"""The intervals of Shang et al., "Precision/Recall on Imbalanced Test Data" (AISTATS 2023).

Kept as they are printed, for people who must reproduce the paper and as checks of our own
estimate, which is :func:`monitor.stats.estimation.posterior.estimates`. The setting is two strata,
flagged and passed, with the size ratio :math:`k = N_+/N_-`, positive and finite. Here are recall
from the two rates (Eq. 2), the *confidence* intervals for precision and recall (Eq. 3 to 5) and
those of a plain random sample (section 2.1).

Predictive ranges are in ``predictive``, Algorithms 1 and 2 in ``simulation``, ratios
and sample sizes in ``design``. The formulas rest on normal approximations, good with about
five items or more in each of the four cells. Where a count that they divide by is 0 they have no
value and raise :class:`CountIsZero`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from monitor.stats.core.counts import Interval
from monitor.stats.core.levels import normal_quantile

if TYPE_CHECKING:
    from monitor.stats.core.counts import StratumCounts


class CountIsZero(ValueError):
    """A formula of the paper divides by a count that is 0; ``posterior.estimates`` does not."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}, and the formula divides by it; use posterior.estimates, which needs no "
            "such count, or label more items"
        )


def recall_from_rates(precision: float, false_omission_rate: float, k: float) -> float:
    r"""Recall from the rates of the two predicted classes (Eq. 2).

    .. math:: R = \frac{1}{1 + \pi_0 / (k \pi_1)} = \frac{k\pi_1}{k\pi_1 + \pi_0}

    Parameters
    ----------
    precision, false_omission_rate
        :math:`\pi_1` and :math:`\pi_0`, in [0, 1].

    Raises
    ------
    CountIsZero
        If both rates are 0: there is nothing to find.

    Examples
    --------
    >>> round(recall_from_rates(0.8625, 108 / 4840, 160 / 4840), 6)
    0.560976
    """
    check_share(precision, "precision")
    check_share(false_omission_rate, "false_omission_rate")
    check_k(k)
    flagged_positives = k * precision
    if flagged_positives + false_omission_rate == 0:
        what = "both rates are 0, so are the actual positives"
        raise CountIsZero(what)
    return flagged_positives / (flagged_positives + false_omission_rate)


def precision_interval(flagged: StratumCounts, *, level: float = 0.95) -> Interval:
    r"""Confidence interval for precision, the normal approximation (Eq. 3).

    .. math:: \hat\pi_1 \pm z \sqrt{\hat\pi_1 (1 - \hat\pi_1) / n_1}

    Not cut at 0 and 1, as in the paper; of width 0 where every label agrees.

    Parameters
    ----------
    flagged
        Predicted positives, one labeled or more.

    Raises
    ------
    CountIsZero
        If no item is labeled.

    Examples
    --------
    >>> from monitor.stats.core.counts import StratumCounts
    >>> print(precision_interval(StratumCounts(size=1600, labeled=160, positive=138)))
    0.863 [0.809, 0.916]
    """
    z = normal_quantile(level)
    rate = _rate(flagged, "flagged")
    half = z * math.sqrt(rate * (1 - rate) / flagged.labeled)
    return Interval(rate, rate - half, rate + half)


def recall_interval(
    flagged: StratumCounts, passed: StratumCounts, *, level: float = 0.95
) -> Interval:
    r"""Confidence interval for recall, symmetric in the log risk ratio (Eq. 4).

    .. math:: \Big(1 + \frac{\hat\pi_0}{k \hat\pi_1} e^{\pm z \sqrt{v}}\Big)^{-1}, \quad
        v = \frac{1 - \hat\pi_1}{n_1 \hat\pi_1} + \frac{1 - \hat\pi_0}{n_0 \hat\pi_0}

    The interval of Katz et al. (1978) for a ratio of proportions, transferred to recall. The
    paper prefers it to Eq. 5.

    Parameters
    ----------
    flagged, passed
        Predicted positives and negatives, each with one labeled positive or more.

    Raises
    ------
    CountIsZero
        If a class has no item, no label or no labeled positive.

    Examples
    --------
    >>> from monitor.stats.core.counts import StratumCounts
    >>> flagged = StratumCounts(size=1600, labeled=160, positive=138)
    >>> passed = StratumCounts(size=48_400, labeled=4840, positive=108)
    >>> print(recall_interval(flagged, passed))
    0.561 [0.512, 0.609]
    """
    z = normal_quantile(level)
    odds, variance = _log_ratio(flagged, passed)
    return recall_around(odds, z * math.sqrt(variance))


def recall_interval_delta(
    flagged: StratumCounts, passed: StratumCounts, *, level: float = 0.95
) -> Interval:
    r"""Confidence interval for recall by the delta method, symmetric around it (Eq. 5).

    .. math:: \hat R \pm z \frac{g}{(1+g)^2} \sqrt{v}, \quad g = \frac{\hat\pi_0}{k\hat\pi_1}

    with v as in Eq. 4. Not cut at 0 and 1. Its half-width is the margin that Eq. 10 plans with.
    Parameters and errors are as in :func:`recall_interval`.

    Examples
    --------
    >>> from monitor.stats.core.counts import StratumCounts
    >>> flagged = StratumCounts(size=1600, labeled=160, positive=138)
    >>> passed = StratumCounts(size=48_400, labeled=4840, positive=108)
    >>> print(recall_interval_delta(flagged, passed))
    0.561 [0.513, 0.609]
    """
    z = normal_quantile(level)
    odds, variance = _log_ratio(flagged, passed)
    half = z * odds / (1 + odds) ** 2 * math.sqrt(variance)
    recall = 1 / (1 + odds)
    return Interval(recall, recall - half, recall + half)


def random_sampling_intervals(
    *, tp: int, fp: int, fn: int, level: float = 0.95
) -> tuple[Interval, Interval]:
    r"""Confidence intervals for precision and recall from a plain random sample (section 2.1).

    .. math:: \hat P \pm z\sqrt{\hat P(1-\hat P)/(TP+FP)}, \quad
        \hat R \pm z\sqrt{\hat R(1-\hat R)/(TP+FN)}

    The baseline that over-sampling is compared with: items are drawn from the whole window, and
    those found to be flagged, or positive, are taken as the denominators.

    Parameters
    ----------
    tp, fp, fn
        Labeled items in three cells of the confusion matrix.

    Raises
    ------
    CountIsZero
        If the sample holds no predicted, or no actual, positive.

    Examples
    --------
    >>> precision, recall = random_sampling_intervals(tp=138, fp=22, fn=108)
    >>> print(precision, recall)
    0.863 [0.809, 0.916] 0.561 [0.499, 0.623]
    """
    z = normal_quantile(level)
    if min(tp, fp, fn) < 0:
        message = f"counts must be 0 or more, got tp={tp}, fp={fp}, fn={fn}"
        raise ValueError(message)
    intervals: list[Interval] = []
    for name, wrong in (("predicted", fp), ("actual", fn)):
        if tp + wrong == 0:
            what = f"the sample holds 0 {name} positives"
            raise CountIsZero(what)
        share = tp / (tp + wrong)
        half = z * math.sqrt(share * (1 - share) / (tp + wrong))
        intervals.append(Interval(share, share - half, share + half))
    return intervals[0], intervals[1]


def check_k(k: float) -> None:
    """Refuse a ratio of class sizes that is not positive and finite."""
    if not (k > 0 and math.isfinite(k)):
        message = f"k, predicted positives per predicted negative, must be positive, got {k!r}"
        raise ValueError(message)


def check_share(value: float, name: str) -> None:
    """Refuse a rate that lies outside [0, 1]."""
    if not 0 <= value <= 1:
        message = f"{name} must lie in [0, 1], got {value!r}"
        raise ValueError(message)


def size_ratio(flagged: StratumCounts, passed: StratumCounts) -> float:
    """Ratio of the class sizes in the window, k."""
    for name, stratum in (("flagged", flagged), ("passed", passed)):
        if stratum.size == 0:
            what = f"{name}: the window holds 0 items"
            raise CountIsZero(what)
    return flagged.size / passed.size


def recall_around(odds: float, half_width: float) -> Interval:
    r"""Recall at the odds g of a miss, and at ends that far from their log (Eq. 4 and 7).

    .. math:: \big(1 + g\,e^{\pm w}\big)^{-1}
    """
    spread = math.exp(half_width)
    return Interval(1 / (1 + odds), 1 / (1 + odds * spread), 1 / (1 + odds / spread))


def _rate(stratum: StratumCounts, name: str) -> float:
    if stratum.labeled == 0:
        what = f"{name}: 0 of {stratum.size} items are labeled"
        raise CountIsZero(what)
    return stratum.positive / stratum.labeled


def _log_ratio(flagged: StratumCounts, passed: StratumCounts) -> tuple[float, float]:
    """Odds of missing an actual positive, pi_0/(k pi_1), and the variance of their log."""
    odds, variance = 1 / size_ratio(flagged, passed), 0.0
    for name, stratum, power in (("flagged", flagged, -1), ("passed", passed, 1)):
        rate = _rate(stratum, name)
        if rate == 0:
            what = f"{name}: 0 positives in {stratum.labeled} labels"
            raise CountIsZero(what)
        odds *= rate**power
        variance += (1 - rate) / (stratum.labeled * rate)
    return odds, variance
