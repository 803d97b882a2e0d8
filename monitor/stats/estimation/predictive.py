r"""Where the estimate of the next round will fall: the ``next`` estimand.

A credible interval says where a rate is. A *predictive* range says where the next sample's
estimate of it may land, so it holds the sampling error of that round too and is wider. It is what
a round is compared with when people ask "was this one unusual?". For two strata it is Algorithm 2
of Shang et al. (AISTATS 2023), of which Eq. 6 to 8 are the normal approximation; here the strata
may be any number and the prior any posterior, a pooled one included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.draws import POINTS, credible_interval, draw
from monitor.stats.core.levels import check_probability
from monitor.stats.core.metrics import metric
from monitor.stats.core.quantiles import binomial_quantiles
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.estimation.posterior import UNDEFINED_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.core.counts import Interval
    from monitor.stats.core.draws import JointPosterior


@dataclass(frozen=True, slots=True, eq=False)
class NextEstimate:
    """The predictive distribution of one metric's next estimate.

    ``values`` are draws of it, shape ``(points,)``, NaN where it has no value.
    """

    metric: str
    values: Floats

    @property
    def undefined_share(self) -> float:
        """Share of the draws in which the next estimate has no value."""
        return float(np.isnan(self.values).mean())

    def interval(self, *, level: float = 0.95) -> Interval | None:
        """Equal-tailed range of the next estimate around its mean.

        ``None`` where more than ``UNDEFINED_LIMIT`` of the draws have no value. The estimate is
        a share of whole labels, so with few of them the range holds more than ``level``.
        """
        check_probability(level, "level")
        if self.undefined_share > UNDEFINED_LIMIT:
            return None
        return credible_interval(self.values, level)


def next_estimates(
    posterior: JointPosterior,
    size: Ints,
    labeled: Ints,
    *,
    metrics: Sequence[str] = ("precision", "recall"),
    seed: int = 0,
    points: int = POINTS,
) -> dict[str, NextEstimate]:
    r"""Predict the stratified estimates of a round from a posterior before it, by metric.

    .. math:: \pi_h \sim \text{posterior}, \quad y_h^* \sim \mathrm{Bin}(n_h, \pi_h), \quad
        \widehat{TP}^* = \sum_+ N_h\, y_h^* / n_h, \ \ldots

    and the metric of the matrix so found (``scaled_matrix``). Each draw is one possible next round,
    with ``labeled`` labeled items, ``(H,)``; a stratum without labels follows the others of its
    class.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.core.draws import round_posterior
    >>> earlier = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=1600, passed_size=48_400
    ... )
    >>> found = next_estimates(round_posterior(earlier), earlier.size, earlier.labeled, seed=1)
    >>> print(found["recall"].interval())
    0.561 [0.494, 0.631]
    """
    _check_plan(posterior.strata, size, labeled)
    chosen = [metric(name) for name in metrics]
    counted = np.where(labeled > 0, size, 0)
    draws = draw(posterior, seed=seed, points=points, size=counted)
    positive = np.zeros_like(draws.rates)
    for h in np.flatnonzero(labeled):
        # By quantiles of the same Sobol points: plain binomial draws would lose their evenness.
        positive[:, h] = binomial_quantiles(draws.uniforms[:, h], labeled[h], draws.rates[:, h])
    is_flagged = np.arange(posterior.strata) < posterior.flagged.strata
    matrix = scaled_matrix(size, labeled, positive, is_flagged)
    return {metric.name: NextEstimate(metric.name, metric(matrix)) for metric in chosen}


def _check_plan(strata: int, size: Ints, labeled: Ints) -> None:
    if not size.shape == labeled.shape == (strata,):
        message = (
            f"the posterior has {strata} strata, but size has the shape {size.shape} and labeled "
            f"{labeled.shape}"
        )
        raise ValueError(message)
    if np.any((labeled < 0) | (labeled > size)):
        message = (
            f"need 0 <= labeled <= size, got labeled={labeled.tolist()} of size={size.tolist()}"
        )
        raise ValueError(message)
