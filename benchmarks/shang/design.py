r"""How far to over-sample and how many labels to ask for, by Shang et al. (AISTATS 2023).

Two strata, and confidence intervals as in ``intervals``. The project's own planning, with any
number of strata and finite windows, is :func:`monitor.stats.design.allocation.allocate`; with two
strata and recall alone it gives the ratio of Theorem 1.

The over-sampling ratio s says how many times more of the flagged items are labeled than their
share of the window: :math:`n_1 / n_0 = k s`, and s = 1 is proportional sampling; k is as in
``intervals``, predicted positives per predicted negative.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.shang.intervals import CountIsZero, check_k, check_share
from monitor.stats.core.levels import check_probability, normal_quantile

if TYPE_CHECKING:
    from benchmarks.shang.predictive import BetaRate


class ShangRates(NamedTuple):
    """Positive rates of the two predicted classes."""

    precision: float
    false_omission_rate: float


class ShangLabels(NamedTuple):
    """Labels of the two predicted classes; fractions until they are rounded up."""

    flagged: float
    passed: float

    @property
    def rounded_up(self) -> tuple[int, int]:
        """Whole labels that keep what the fractions promise.

        Examples
        --------
        >>> ShangLabels(306.8, 4408.0).rounded_up
        (307, 4408)
        """
        return math.ceil(self.flagged), math.ceil(self.passed)


def split_labels(total: float, k: float, oversampling_ratio: float) -> ShangLabels:
    r"""Labels of each class when v labels are over-sampled by s (Eq. 1).

    .. math:: n_1 = v \frac{k s}{k s + 1}, \quad n_0 = \frac{v}{k s + 1}

    Parameters
    ----------
    total
        All labels, v, 0 or more.
    oversampling_ratio
        s, positive.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> split_labels(4200, k=0.05, oversampling_ratio=1)
    ShangLabels(flagged=200.0, passed=4000.0)
    """
    check_k(k)
    _check_ratio(oversampling_ratio)
    if not (total >= 0 and math.isfinite(total)):
        message = f"total must be a finite number of labels, 0 or more, got {total!r}"
        raise ValueError(message)
    odds = k * oversampling_ratio
    return ShangLabels(total * odds / (odds + 1), total / (odds + 1))


def rates_from_metrics(precision: float, recall: float, k: float) -> ShangRates:
    r"""Rates of the two classes from precision, recall and k (Eq. 9).

    .. math:: \pi_1 = P, \quad \pi_0 = k P (1/R - 1)

    Parameters
    ----------
    precision
        In [0, 1].
    recall
        In (0, 1].

    Raises
    ------
    CountIsZero
        If recall is 0, which leaves the rate of misses open.
    ValueError
        If an argument is out of range, or no rate of misses up to 1 gives this recall.

    Examples
    --------
    >>> rates = rates_from_metrics(precision=0.863, recall=0.561, k=0.033)
    >>> round(rates.false_omission_rate, 4)
    0.0223
    """
    check_k(k)
    check_share(precision, "precision")
    check_share(recall, "recall")
    if recall == 0:
        what = "recall is 0"
        raise CountIsZero(what)
    missed = k * precision * (1 / recall - 1)
    if missed > 1:
        message = (
            f"precision {precision:g} and recall {recall:g} with k = {k:g} would need a false "
            f"omission rate of {missed:.3g}, more than 1"
        )
        raise ValueError(message)
    return ShangRates(precision, missed)


def best_ratio(rates: ShangRates, k: float) -> float:
    r"""Over-sampling ratio that makes recall's variance least, rates known (Theorem 1).

    .. math:: s^* = \frac{1}{k} \sqrt{\Omega_0 / \Omega_1}, \quad
        \Omega_g = \frac{\pi_g}{1 - \pi_g}

    Precision only gains from a larger ratio; the paper takes at least 1 (:func:`floored`).

    Raises
    ------
    CountIsZero
        If a rate is 0 or 1, where the odds or their inverse have no value.

    Examples
    --------
    >>> round(best_ratio(rates_from_metrics(0.863, 0.561, 0.033), 0.033), 3)
    1.823
    """
    check_k(k)
    odds_1, odds_0 = _odds(rates)
    return math.sqrt(odds_0 / odds_1) / k


def best_ratio_beta(flagged: BetaRate, passed: BetaRate, k: float) -> float:
    r"""Over-sampling ratio that makes the predictive variance of recall least (Theorem 2).

    .. math:: s^* = \frac{1}{k} \sqrt{\Theta_0 / \Theta_1}, \quad
        \Theta_g = \frac{\zeta_{1,g} (\zeta_{1,g} + \zeta_{0,g} + 1)}
                        {\zeta_{0,g} (\zeta_{1,g} + \zeta_{0,g})}

    Parameters
    ----------
    flagged, passed
        Distribution of the two rates; all four counts positive.

    Raises
    ------
    CountIsZero
        If one of the four counts is 0.

    Examples
    --------
    >>> from benchmarks.shang.predictive import BetaRate
    >>> round(best_ratio_beta(BetaRate(431.5, 68.5), BetaRate(337.5, 14814), 0.033), 3)
    1.821
    """
    check_k(k)
    theta = []
    for name, rate in (("flagged", flagged), ("passed", passed)):
        if rate.positive == 0 or rate.negative == 0:
            what = f"{name}: a cell of prior plus labels is 0"
            raise CountIsZero(what)
        theta.append(rate.positive * (rate.total + 1) / (rate.negative * rate.total))
    return math.sqrt(theta[1] / theta[0]) / k


def floored(oversampling_ratio: float) -> float:
    """Best ratio as section 5 of the paper uses it: never less than 1.

    An ``oversampling_ratio`` under 1 for recall alone would take labels from the flagged items, at
    precision's cost.

    Examples
    --------
    >>> floored(0.63), floored(1.51)
    (1.0, 1.51)
    """
    _check_ratio(oversampling_ratio)
    return max(1.0, oversampling_ratio)


def margins(
    rates: ShangRates, k: float, labels: tuple[float, float], *, level: float = 0.95
) -> tuple[float, float]:
    r"""Half-widths to expect for precision and recall, :math:`(e_P, e_R)` (Eq. 10).

    .. math:: e_P = z \sqrt{\pi_1(1-\pi_1)/n_1}, \quad e_R = z \frac{g}{(1+g)^2}
        \sqrt{\frac{1-\pi_1}{n_1\pi_1} + \frac{1-\pi_0}{n_0\pi_0}}, \quad g = \frac{\pi_0}{k\pi_1}

    Those of Eq. 3 and Eq. 5 with the rates put in for their estimates.

    Parameters
    ----------
    labels
        Labels of the flagged and of the passed class, positive.

    Raises
    ------
    CountIsZero
        If a rate is 0 or 1, or a number of labels is 0.

    Examples
    --------
    >>> rates = rates_from_metrics(precision=0.79, recall=0.67, k=0.046)
    >>> [round(margin, 4) for margin in margins(rates, 0.046, (307, 4410))]
    [0.0456, 0.05]
    """
    z = normal_quantile(level)
    check_k(k)
    odds_1, odds_0 = _odds(rates)
    for name, count in zip(("flagged", "passed"), labels, strict=True):
        if not count > 0:
            what = f"{name}: the plan holds {count:g} labels"
            raise CountIsZero(what)
    variance = 1 / (labels[0] * odds_1) + 1 / (labels[1] * odds_0)
    precision = rates.precision
    return (
        z * math.sqrt(precision * (1 - precision) / labels[0]),
        z * _slope(rates, k) * math.sqrt(variance),
    )


def labels_for_precision(precision: float, margin: float, *, level: float = 0.95) -> float:
    r"""Return how many flagged labels bring precision's half-width to a margin (Eq. 11, left).

    .. math:: n_1 \ge \pi_1 (1 - \pi_1) (z/b)^2

    Examples
    --------
    >>> round(labels_for_precision(0.79, 0.05), 2)
    254.92
    """
    z = normal_quantile(level)
    check_share(precision, "precision")
    check_probability(margin, "a margin")
    return precision * (1 - precision) * (z / margin) ** 2


def labels_for_recall(
    rates: ShangRates, k: float, margin: float, *, oversampling_ratio: float, level: float = 0.95
) -> ShangLabels:
    r"""Labels so that recall's half-width is within a margin, at a given ratio (Eq. 11, right).

    .. math:: \frac{1-\pi_1}{n_1\pi_1} + \frac{1-\pi_0}{n_0\pi_0} \le
        \Big(\frac{b}{z}\Big)^2 \frac{(1+g)^4}{g^2}, \quad n_0 = \frac{n_1}{k s}

    Parameters
    ----------
    margin
        Half-width wanted, b, in (0, 1).
    oversampling_ratio
        s, positive.

    Raises
    ------
    CountIsZero
        If a rate is 0 or 1.

    Examples
    --------
    >>> rates = rates_from_metrics(precision=0.79, recall=0.67, k=0.046)
    >>> labels = labels_for_recall(rates, 0.046, 0.05, oversampling_ratio=best_ratio(rates, 0.046))
    >>> round(labels.flagged, 2), round(labels.passed, 2)
    (306.84, 4408.48)
    """
    z = normal_quantile(level)
    check_k(k)
    check_probability(margin, "a margin")
    _check_ratio(oversampling_ratio)
    odds_1, odds_0 = _odds(rates)
    allowed = (margin / (z * _slope(rates, k))) ** 2
    flagged = (1 / odds_1 + k * oversampling_ratio / odds_0) / allowed
    return ShangLabels(flagged, flagged / (k * oversampling_ratio))


def labels_for_margin(
    rates: ShangRates,
    k: float,
    margin: float,
    *,
    oversampling_ratio: float | None = None,
    level: float = 0.95,
) -> tuple[int, int]:
    r"""Whole labels of both classes for one margin on precision and recall (section 5, Table 4).

    The labels that recall needs (Eq. 11, right), each rounded up; where precision needs more
    flagged ones (Eq. 11, left) it gets them, and the passed ones stay as they are.

    Parameters
    ----------
    rates, k, margin, level
        As in :func:`labels_for_recall`.
    oversampling_ratio
        s; the ratio of Theorem 1, at least 1, if not given.

    Raises
    ------
    CountIsZero, ValueError
        As :func:`labels_for_recall`.

    Examples
    --------
    >>> rates = rates_from_metrics(precision=0.79, recall=0.67, k=0.046)
    >>> labels_for_margin(rates, 0.046, 0.05)
    (307, 4409)

    Table 4 prints 4410: that is the ratio rounded to two digits first.

    >>> labels_for_margin(rates, 0.046, 0.05, oversampling_ratio=1.51)
    (307, 4410)
    """
    if oversampling_ratio is None:
        oversampling_ratio = floored(best_ratio(rates, k))
    needed = labels_for_recall(rates, k, margin, oversampling_ratio=oversampling_ratio, level=level)
    flagged, passed = needed.rounded_up
    precision = math.ceil(labels_for_precision(rates.precision, margin, level=level))
    return max(flagged, precision), passed


def _odds(rates: ShangRates) -> tuple[float, float]:
    """Odds of both rates; neither they nor their inverses are 0."""
    odds = []
    for name, rate in zip(ShangRates._fields, rates, strict=True):
        check_share(rate, name)
        if rate in (0, 1):
            what = f"{name} is {rate:g}, so the odds or their inverse are 0"
            raise CountIsZero(what)
        odds.append(rate / (1 - rate))
    return odds[0], odds[1]


def _slope(rates: ShangRates, k: float) -> float:
    """Change of recall per change of the log ratio, g/(1+g)^2."""
    g = rates.false_omission_rate / (k * rates.precision)
    return g / (1 + g) ** 2


def _check_ratio(oversampling_ratio: float) -> None:
    if not (oversampling_ratio > 0 and math.isfinite(oversampling_ratio)):
        message = f"an over-sampling ratio must be positive, got {oversampling_ratio!r}"
        raise ValueError(message)
