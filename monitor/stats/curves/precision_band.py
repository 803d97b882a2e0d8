r"""How wide precision can be, given intervals of TPR and FPR measured apart from each other.

For a test set of positives and one of negatives, collected separately (Brabec et al., "On Model
Evaluation under Non-constant Class Imbalance", ICCS 2020, section 5 and appendices A and B). A
half-width over its rate is a coefficient of variation, CV. With
:math:`\rho(c) = (1-c)/(1+c) = e^{-2\,\mathrm{artanh}\,c}` their Eq. 18 and 19 become

.. math:: 2\,\mathrm{artanh}\,\Delta = \mathrm{artanh}\,CV_{TPR} + \mathrm{artanh}\,CV_{FPR}

which is what is computed here: exact, symmetric, and stable for tiny CV. A monitor's own TPR and
FPR share their strata; use ``prevalence.prevalence_curve`` for those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from monitor.stats.core.counts import Interval
from monitor.stats.core.levels import check_probability
from monitor.stats.estimation.prevalence import precision_at

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints


def around(rate: float, half_width: float) -> Interval:
    """Interval from a rate and a half-width, as the paper writes it.

    Raises
    ------
    ValueError
        Unless ``0 < half_width < rate``: the band would reach a rate of 0.

    Examples
    --------
    >>> print(around(0.6, 0.06))
    0.600 [0.540, 0.660]
    """
    if not 0 < half_width < rate:
        message = f"wanted 0 < half-width < rate, got half-width {half_width!r} and rate {rate!r}"
        raise ValueError(message)
    return Interval(rate, rate - half_width, rate + half_width)


def precision_bounds(
    tpr: Interval, fpr: Interval, prevalence: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    r"""Precision at some prevalences, its lower and its upper bound (Eq. 8, 12 and 13).

    .. math:: LB(\eta) = \mathrm{precision}(\eta;\ TPR_{low}, FPR_{high}), \quad
        UB(\eta) = \mathrm{precision}(\eta;\ TPR_{high}, FPR_{low})

    Point, low and high, of the shape of ``prevalence``, in (0, 1); at the ``joint_level`` of the
    intervals of ``tpr`` and ``fpr``, which need not be symmetric.

    Examples
    --------
    >>> band = precision_bounds(around(0.6, 0.06), around(1e-3, 1e-4), 1e-3)
    >>> [round(float(each), 3) for each in band]
    [0.375, 0.329, 0.423]
    """
    return (
        precision_at(tpr.point, fpr.point, prevalence),
        precision_at(tpr.low, fpr.high, prevalence),
        precision_at(tpr.high, fpr.low, prevalence),
    )


@dataclass(frozen=True, slots=True)
class WidestPoint:
    """Where a precision band is widest: its width there, and the prevalence."""

    width: float
    prevalence: float


def widest(tpr: Interval, fpr: Interval) -> WidestPoint:
    r"""Largest width of a precision band over all prevalences (Eq. 14 and 18).

    .. math:: \Delta = \frac{1-\sqrt{r_1/r_2}}{1+\sqrt{r_1/r_2}}, \quad
        r_1 = \frac{FPR_{low}}{TPR_{high}}, \quad r_2 = \frac{FPR_{high}}{TPR_{low}}

    reached at :math:`(1-\eta)/\eta = 1/\sqrt{r_1 r_2}`.

    Parameters
    ----------
    tpr, fpr
        Rates with their intervals, symmetric or not, above 0.

    Raises
    ------
    ValueError
        Unless ``0 < low <= high`` in both.

    Examples
    --------
    >>> place = widest(around(0.6, 0.06), around(1e-3, 5e-4))
    >>> round(place.width, 3), round(place.prevalence, 6)
    (0.314, 0.001449)
    """
    for name, rate in (("TPR", tpr), ("FPR", fpr)):
        if not 0 < rate.low <= rate.high:
            message = f"{name} must have 0 < low <= high, got {rate.low!r} and {rate.high!r}"
            raise ValueError(message)
    r1, r2 = fpr.low / tpr.high, fpr.high / tpr.low
    root = math.sqrt(r1 / r2)
    return WidestPoint((1 - root) / (1 + root), 1 / (1 + 1 / math.sqrt(r1 * r2)))


def width_of_variations(first: float, second: float) -> float:
    r"""Largest width of the precision band from the two CVs, regardless of the rates (Eq. 18, 19).

    .. math:: \Delta = \tanh\big(\tfrac12(\mathrm{artanh}\,CV_1 + \mathrm{artanh}\,CV_2)\big)

    Never more than the larger CV (theorem 5.1), and equal to it only if the two are. The
    ``first`` and the ``second`` CV, half-width over rate, lie in [0, 1).

    Examples
    --------
    >>> round(width_of_variations(0.1, 0.1), 12), round(width_of_variations(0.1, 0.5), 3)
    (0.1, 0.314)
    """
    return math.tanh((_artanh(first) + _artanh(second)) / 2)


def remaining_variation(first: float, width: float) -> float:
    r"""CV that the one rate may have, given the other's and the width that is wanted.

    .. math:: CV_2 = \tanh\big(2\,\mathrm{artanh}\,\Delta - \mathrm{artanh}\,CV_1\big)

    The paper's appendix B writes it as a fraction in :math:`((1-\Delta)/(1+\Delta))^2`.

    Raises
    ------
    ValueError
        If ``first`` alone makes the band as wide as that, or a value lies outside of [0, 1).

    Examples
    --------
    >>> round(remaining_variation(0.05, width=0.1), 4)
    0.1495
    """
    remaining = 2 * _artanh(width) - _artanh(first)
    if remaining <= 0:
        most = math.tanh(2 * math.atanh(width))
        message = (
            f"a CV of {first:g} leaves nothing for the other rate at a width of {width:g}; "
            f"it must be under {most:.4g}"
        )
        raise ValueError(message)
    return math.tanh(remaining)


def _artanh(variation: float) -> float:
    if not 0 <= variation < 1:
        message = f"a CV or width lies in [0, 1), got {variation!r}"
        raise ValueError(message)
    return math.atanh(variation)


@dataclass(frozen=True, slots=True)
class JointLevel:
    """Level of a band made of two intervals: if the rates are independent, and at least."""

    independent: float
    at_least: float


def joint_level(level: float) -> JointLevel:
    r"""Level of a precision band from two intervals of that level each (corollary 1).

    :math:`\alpha^2` if TPR and FPR are independent, as in two separate test sets;
    :math:`2\alpha - 1` however they depend on each other (Bonferroni).

    Examples
    --------
    >>> joint = joint_level(0.95)
    >>> round(joint.independent, 4), round(joint.at_least, 4)
    (0.9025, 0.9)
    """
    check_probability(level, "level")
    return JointLevel(level**2, max(0.0, 2 * level - 1))


def hoeffding_size(rate: float, variation: float, level: float = 0.95) -> int:
    r"""Items of one actual class that surely give a rate that CV, by Hoeffding's inequality.

    .. math:: n = \Big\lceil \frac{\ln(2/(1-\alpha))}{2\,(CV \cdot p)^2} \Big\rceil

    Holds for every rate, and asks for far more than is needed where the rate is small; see
    ``exact_size``.

    Parameters
    ----------
    rate
        The TPR (then positives are counted) or FPR (negatives) expected, in (0, 1).
    variation
        CV wanted: half-width over rate, in (0, 1).
    level
        Probability that the measured rate lies that close, in (0, 1).

    Examples
    --------
    >>> hoeffding_size(0.6, 0.1), hoeffding_size(1e-3, 0.1)
    (513, 184443973)
    """
    _check_design(rate, variation, level)
    return math.ceil(math.log(2 / (1 - level)) / (2 * (variation * rate) ** 2))


def exact_size(rate: float, variation: float, level: float = 0.95) -> int:
    r"""Items of one actual class that give a rate that CV, from the binomial itself.

    The smallest n such that for it and every larger number of items

    .. math:: P\big(|X/m - p| \le CV\,p\big) \ge \alpha, \quad X \sim \mathrm{Bin}(m, p)

    Parameters
    ----------
    rate, variation, level
        As in ``hoeffding_size``.

    Notes
    -----
    The probability is a saw tooth in n: for a fixed range of counts it rises and falls once, and
    jumps when the range changes. So only the ends of those runs are looked at, from Chernoff's
    bound (which holds for every larger n) downwards.

    Examples
    --------
    >>> exact_size(0.6, 0.1), exact_size(1e-3, 0.1)
    (266, 389091)
    """
    _check_design(rate, variation, level)
    most = _chernoff_size(rate, variation, level)
    ends = _run_ends(rate, variation, most)
    short = ends[_within(ends, rate, variation) < level]
    return int(short.max()) + 1 if len(short) else 1


def _chernoff_size(rate: float, variation: float, level: float) -> int:
    """Size from which on each tail is at most (1 - level)/2 (Hoeffding 1963, Eq. 2.1)."""
    ends = [rate * (1 - variation), min(rate * (1 + variation), 1.0)]
    least = min(float(special.kl_div(q, rate) + special.kl_div(1 - q, 1 - rate)) for q in ends)
    return math.ceil(math.log(2 / (1 - level)) / least)


def _run_ends(rate: float, variation: float, most: int) -> Ints:
    """Both ends of every run of sizes up to ``most`` that have the same range of counts."""
    starts = [np.array([1, most + 1])]
    for bound in (rate * (1 - variation), rate * (1 + variation)):
        step = np.arange(1, int(most * bound) + 1) / bound
        starts += [np.floor(step).astype(np.int64), np.floor(step).astype(np.int64) + 1]
    starts_of_runs = np.unique(np.concatenate(starts))
    ends = np.union1d(starts_of_runs, starts_of_runs - 1)
    return ends[(ends >= 1) & (ends <= most)]


def _within(size: Ints, rate: float, variation: float) -> Floats:
    """Probability that the measured rate lies within CV of the rate, for each size."""
    slack = 1e-9  # a count exactly on the edge is inside
    low = np.ceil(size * rate * (1 - variation) - slack)
    high = np.minimum(np.floor(size * rate * (1 + variation) + slack), size)
    return np.asarray(special.bdtr(high, size, rate) - special.bdtr(low - 1, size, rate))


def _check_design(rate: float, variation: float, level: float) -> None:
    for name, value in (("rate", rate), ("variation", variation), ("level", level)):
        check_probability(value, name)
