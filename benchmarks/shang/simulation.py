r"""Algorithms 1 and 2 of Shang et al. (AISTATS 2023): precision and recall by simulation.

Algorithm 1 redraws the labeled matrix (a bootstrap; its quantiles are confidence intervals).
Algorithm 2 draws the rates and then a later sample (Monte Carlo; its quantiles are predictive
ranges, the counterpart of Eq. 6 and 7). :mod:`monitor.stats.estimation.predictive` is the same for
any number of strata and from any posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.shang.intervals import CountIsZero, check_k, size_ratio
from monitor.stats.core.counts import Interval
from monitor.stats.core.levels import check_probability

if TYPE_CHECKING:
    from benchmarks.shang.predictive import BetaRate
    from monitor.stats.core.arrays import Floats
    from monitor.stats.core.counts import StratumCounts


REPLICAS = 1000
"""The paper's Q, both for the bootstrap and for the Monte Carlo draws."""


@dataclass(frozen=True, slots=True, eq=False)
class Replicas:
    """Precision and recall of simulated samples, shape ``(Q,)`` each.

    Recall is NaN where a sample holds no actual positive at all.
    """

    precision: Floats
    recall: Floats

    @property
    def undefined_share(self) -> float:
        """Share of the samples that have no recall."""
        return float(np.isnan(self.recall).mean())

    def intervals(self, *, level: float = 0.95) -> tuple[Interval, Interval]:
        """Equal-tailed ranges of precision and of recall around their means.

        Samples without a recall are left out of its range; ``undefined_share`` counts them.

        Raises
        ------
        CountIsZero
            If no sample has a recall.

        Examples
        --------
        >>> found = Replicas(np.arange(5) / 4, np.full(5, 0.5))
        >>> print(*found.intervals(level=0.5))
        0.500 [0.250, 0.750] 0.500 [0.500, 0.500]
        """
        check_probability(level, "level")
        if self.undefined_share == 1:
            what = "0 of the simulated samples hold an actual positive"
            raise CountIsZero(what)
        precision, recall = (
            _equal_tailed(values[~np.isnan(values)], level)
            for values in (self.precision, self.recall)
        )
        return precision, recall


def bootstrap(
    flagged: StratumCounts,
    passed: StratumCounts,
    *,
    rng: np.random.Generator,
    replicas: int = REPLICAS,
) -> Replicas:
    r"""Redraw the labeled matrix with its own rates (Algorithm 1, BS-SAMPLER).

    .. math:: y_g^* \sim \mathrm{Bin}(n_g, y_g / n_g), \quad g \in \{1, 0\}

    Parameters
    ----------
    flagged, passed
        Predicted positives and negatives, one labeled item or more each.

    Raises
    ------
    CountIsZero
        If a class has no item or no label.

    Examples
    --------
    >>> from monitor.stats.core.counts import StratumCounts
    >>> flagged = StratumCounts(size=1600, labeled=160, positive=138)
    >>> passed = StratumCounts(size=48_400, labeled=4840, positive=108)
    >>> found = bootstrap(flagged, passed, rng=np.random.default_rng(1), replicas=100_000)
    >>> print(found.intervals()[1])
    0.562 [0.515, 0.612]
    """
    shares = []
    for name, stratum in (("flagged", flagged), ("passed", passed)):
        if stratum.labeled == 0:
            what = f"{name}: 0 of {stratum.size} items are labeled"
            raise CountIsZero(what)
        rate = stratum.positive / stratum.labeled
        shares.append(rng.binomial(stratum.labeled, rate, _checked(replicas)) / stratum.labeled)
    return _replicas(shares[0], shares[1], size_ratio(flagged, passed))


def monte_carlo(
    flagged: BetaRate,
    passed: BetaRate,
    k: float,
    labels: tuple[int, int],
    *,
    rng: np.random.Generator,
    replicas: int = REPLICAS,
) -> Replicas:
    r"""Draw rates and then a later sample from each (Algorithm 2, MC-SAMPLER).

    .. math:: \tilde\pi_g \sim \mathrm{Beta}(\zeta_{1,g}, \zeta_{0,g}), \quad
        y_g^* \sim \mathrm{Bin}(n_g, \tilde\pi_g)

    ``k`` is as in ``intervals``. The paper takes the labeled counts themselves for :math:`\zeta`, a
    prior of 0; then each of the four must hold an item.

    Parameters
    ----------
    flagged, passed
        Distribution of the two rates; all four counts positive.
    labels
        Flagged and passed items that the later sample labels, :math:`(n_1, n_0)`.

    Raises
    ------
    CountIsZero
        If one of the four counts, or a number of labels, is 0.

    Examples
    --------
    >>> from benchmarks.shang.predictive import BetaRate
    >>> found = monte_carlo(
    ...     BetaRate(138, 22), BetaRate(108, 4732), 160 / 4840, (160, 4840),
    ...     rng=np.random.default_rng(1), replicas=100_000,
    ... )
    >>> print(found.intervals()[1])
    0.563 [0.496, 0.633]
    """
    check_k(k)
    shares = []
    for name, rate, n in (("flagged", flagged, labels[0]), ("passed", passed, labels[1])):
        if rate.positive == 0 or rate.negative == 0:
            what = f"{name}: a cell of prior plus labels is 0"
            raise CountIsZero(what)
        if n < 1:
            what = f"{name}: the later sample holds {n} labels of the class"
            raise CountIsZero(what)
        drawn = rng.beta(rate.positive, rate.negative, _checked(replicas))
        shares.append(rng.binomial(n, drawn) / n)
    return _replicas(shares[0], shares[1], k)


def _checked(replicas: int) -> int:
    if replicas < 1:
        message = f"replicas must be 1 or more, got {replicas!r}"
        raise ValueError(message)
    return replicas


def _replicas(flagged: Floats, passed: Floats, k: float) -> Replicas:
    """Precision, and recall by Eq. 2, of each simulated pair of shares."""
    flagged_positives = k * flagged
    positive = flagged_positives + passed
    recall = np.full(flagged_positives.shape, np.nan)
    np.divide(flagged_positives, positive, out=recall, where=positive > 0)
    return Replicas(flagged, recall)


def _equal_tailed(values: Floats, level: float) -> Interval:
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(values.mean()), float(low), float(high))
