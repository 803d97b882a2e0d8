r"""Where the estimates of a later sample may fall, by Shang et al. (AISTATS 2023, Eq. 6 to 8, 12).

The paper calls these intervals "credible". They are posterior *predictive*: they hold the sampling
error of the later sample besides what is not known of the rates, so they are wider than a
credible interval of precision or recall. :mod:`monitor.stats.estimation.predictive` gives the same
without the normal approximation, for any number of strata. k is as in ``intervals``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.shang.intervals import CountIsZero, check_k, recall_around
from monitor.stats.core.counts import Interval
from monitor.stats.core.levels import normal_quantile

if TYPE_CHECKING:
    from monitor.stats.core.counts import StratumCounts


@dataclass(frozen=True, slots=True)
class BetaRate:
    r"""Knowledge of one class's positive rate, :math:`\pi_g \sim \mathrm{Beta}(\zeta_1, \zeta_0)`.

    Parameters
    ----------
    positive, negative
        Prior plus labeled counts, :math:`\zeta_{1,g}` and :math:`\zeta_{0,g}`; finite, 0 or more.

    Examples
    --------
    >>> BetaRate(138, 22).mean
    0.8625
    """

    positive: float
    negative: float

    def __post_init__(self) -> None:
        for value in (self.positive, self.negative):
            if not (value >= 0 and math.isfinite(value)):
                message = (
                    "Beta counts must be finite and 0 or more, got "
                    f"positive={self.positive}, negative={self.negative}"
                )
                raise ValueError(message)

    @classmethod
    def of_labels(
        cls, stratum: StratumCounts, *, prior: tuple[float, float] = (0.0, 0.0)
    ) -> BetaRate:
        """Add a stratum's labels to a prior; (0, 0) is the paper's noninformative one.

        Examples
        --------
        >>> from monitor.stats.core.counts import StratumCounts
        >>> BetaRate.of_labels(StratumCounts(size=99, labeled=10, positive=8), prior=(0.5, 0.5))
        BetaRate(positive=8.5, negative=2.5)
        """
        return cls(prior[0] + stratum.positive, prior[1] + stratum.labeled - stratum.positive)

    @property
    def total(self) -> float:
        r"""Both counts, :math:`\zeta_1 + \zeta_0`."""
        return self.positive + self.negative

    @property
    def mean(self) -> float:
        """Expected rate.

        Raises
        ------
        CountIsZero
            If both counts are 0.
        """
        if self.total == 0:
            what = "the prior and the labels sum to 0"
            raise CountIsZero(what)
        return self.positive / self.total


def precision_predictive(flagged: BetaRate, labels: int, *, level: float = 0.95) -> Interval:
    r"""Range of the precision that a later sample will find, normal approximation (Eq. 6, 12).

    .. math:: m \pm z \sqrt{V}, \quad m = \frac{\zeta_1}{\zeta_1 + \zeta_0}, \quad
        V = \frac{\zeta_1 \zeta_0 (\zeta_1 + \zeta_0 + n)}
                 {n (\zeta_1 + \zeta_0)^2 (\zeta_1 + \zeta_0 + 1)}

    V is the variance of a beta-binomial share: the rate's and the next n labels'.

    Parameters
    ----------
    flagged
        Distribution of the rate of predicted positives.
    labels
        Predicted positives that the later sample labels, n.

    Raises
    ------
    CountIsZero
        If nothing is known, or ``labels`` is 0.

    Examples
    --------
    >>> print(precision_predictive(BetaRate(138, 22), labels=160))
    0.863 [0.787, 0.938]
    """
    z = normal_quantile(level)
    half = z * math.sqrt(share_variance(flagged, labels))
    return Interval(flagged.mean, flagged.mean - half, flagged.mean + half)


def recall_predictive(
    flagged: BetaRate, passed: BetaRate, k: float, labels: tuple[int, int], *, level: float = 0.95
) -> Interval:
    r"""Range of the recall that a later sample will find, normal approximation (Eq. 7).

    .. math:: \Big(1 + \frac{m_0}{k m_1} e^{\pm z \sqrt{V[\hat u]}}\Big)^{-1}

    with the means :math:`m_g` of the two rates and :math:`V[\hat u]` of Eq. 8.

    Parameters
    ----------
    flagged, passed
        Distribution of the two rates, each with a positive count of positives.
    labels
        Flagged and passed items that the later sample labels, :math:`(n_1, n_0)`.

    Raises
    ------
    CountIsZero
        If a count of positives, or a number of labels, is 0.

    Examples
    --------
    >>> print(recall_predictive(BetaRate(138, 22), BetaRate(108, 4732), 160 / 4840, (160, 4840)))
    0.561 [0.492, 0.628]
    """
    z = normal_quantile(level)
    check_k(k)
    variance = log_ratio_variance(flagged, passed, labels)
    return recall_around(passed.mean / (k * flagged.mean), z * math.sqrt(variance))


def log_ratio_variance(flagged: BetaRate, passed: BetaRate, labels: tuple[int, int]) -> float:
    r"""Predictive variance of the log ratio of the two shares found later (Eq. 8).

    .. math:: V[\hat u] = \sum_{g \in \{0, 1\}} \frac{V[\hat\pi_g]}{E[\hat\pi_g]^2}
        = \sum_g \frac{\zeta_{0,g} (\zeta_{1,g} + \zeta_{0,g} + n_g)}
                      {n_g \zeta_{1,g} (\zeta_{1,g} + \zeta_{0,g} + 1)},
        \quad u = \ln(\pi_0 / \pi_1)

    A first-order (delta) approximation. Parameters and errors are as in :func:`recall_predictive`.

    Examples
    --------
    >>> round(log_ratio_variance(BetaRate(138, 22), BetaRate(108, 4732), (160, 4840)), 9)
    0.020081932
    """
    variance = 0.0
    for name, rate, n in (("flagged", flagged, labels[0]), ("passed", passed, labels[1])):
        if rate.positive == 0:
            what = f"{name}: the prior and the labels hold 0 positives"
            raise CountIsZero(what)
        variance += share_variance(rate, n) / rate.mean**2
    return variance


def share_variance(rate: BetaRate, labels: int) -> float:
    r"""Variance of the share of positives among the next n labels of a class (Eq. 12).

    .. math:: \frac{\zeta_1\zeta_0(\zeta_1+\zeta_0+n)}{n(\zeta_1+\zeta_0)^2(\zeta_1+\zeta_0+1)}

    ``rate`` is the class's distribution. Errors are as in :func:`precision_predictive`.

    Examples
    --------
    >>> share_variance(BetaRate(1, 1), labels=1)
    0.25
    """
    if labels < 1:
        what = f"the later sample holds {labels} labels of the class"
        raise CountIsZero(what)
    mean, total = rate.mean, rate.total
    return mean * (1 - mean) * (total + labels) / (labels * (total + 1))
