"""Which limit a metric would keep, read off draws of the rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.levels import check_probability
from monitor.stats.core.metrics import metric
from monitor.stats.estimation.posterior import UNDEFINED_LIMIT

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Ints
    from monitor.stats.core.draws import Draws


def metric_quantile(draws: Draws, size: Ints, name: str, share: float) -> float | None:
    """Posterior quantile of a metric (``rate`` estimand), for proposing a limit.

    Parameters
    ----------
    draws
        Draws of the rates from ``draws.draw``, flagged strata first.
    size
        Items in each stratum of the window, shape ``(H,)``.
    name
        The metric.
    share
        Probability below the quantile, in (0, 1): 0.05 for a limit that the classifier, as it
        has been, is very likely to keep.

    Returns
    -------
    float or None
        ``None`` if the metric is undefined in more than ``UNDEFINED_LIMIT`` of the draws.

    Raises
    ------
    ValueError
        If ``share`` is not inside (0, 1).

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.core.draws import draw, round_posterior
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=160, passed_size=4840
    ... )
    >>> draws = draw(round_posterior(counts), seed=0)
    >>> round(metric_quantile(draws, counts.size, "recall", 0.05), 3)
    0.52
    """
    check_probability(share, "share")
    values = metric(name)(draws.rate_matrix(size))
    if np.isnan(values).mean() > UNDEFINED_LIMIT:
        return None
    return float(np.quantile(values[~np.isnan(values)], share, method="inverted_cdf"))
