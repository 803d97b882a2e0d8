"""How probable it is that a metric keeps a limit, and which limit it would keep.

These read draws that are made once (``draws.draw``) and shared with ``posterior.estimates``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.metrics import metric
from monitor.stats.estimation.posterior import UNDEFINED_LIMIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from monitor.stats.core.draws import Draws

    Values = NDArray[np.float64]


def probability_at_least(draws: Draws, size: NDArray[np.int64], name: str, value: float) -> float:
    """Posterior probability that a metric (``rate`` estimand) is at least ``value``.

    Parameters
    ----------
    draws
        Draws of the rates from ``draws.draw``, flagged strata first.
    size
        Items in each stratum of the window, shape ``(H,)``.
    name, value
        The metric and the limit to compare it with.

    Notes
    -----
    A draw in which the metric is undefined does not count as reaching the value.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.core.draws import draw, round_posterior
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=160, passed_size=4840
    ... )
    >>> draws = draw(round_posterior(counts), seed=0)
    >>> round(probability_at_least(draws, counts.size, "recall", 0.52), 3)
    0.949
    """
    return float(np.mean(_values(draws, size, name) >= value))


def probability_at_most(draws: Draws, size: NDArray[np.int64], name: str, value: float) -> float:
    """Posterior probability that a metric (``rate`` estimand) is at most ``value``.

    Parameters
    ----------
    draws, size, name, value
        As in ``probability_at_least``, in whose example recall is at least .52 with .949.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> from monitor.stats.core.draws import draw, round_posterior
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=160, passed_size=4840
    ... )
    >>> draws = draw(round_posterior(counts), seed=0)
    >>> round(probability_at_most(draws, counts.size, "recall", 0.52), 3)
    0.051
    """
    return float(np.mean(_values(draws, size, name) <= value))


def metric_quantile(draws: Draws, size: NDArray[np.int64], name: str, share: float) -> float | None:
    """Posterior quantile of a metric (``rate`` estimand), for proposing a limit.

    Parameters
    ----------
    draws, size, name
        As in ``probability_at_least``.
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
    if not 0 < share < 1:
        message = f"share must lie strictly between 0 and 1, got {share!r}"
        raise ValueError(message)
    values = _values(draws, size, name)
    if np.isnan(values).mean() > UNDEFINED_LIMIT:
        return None
    return float(np.quantile(values[~np.isnan(values)], share, method="inverted_cdf"))


def _values(draws: Draws, size: NDArray[np.int64], name: str) -> Values:
    """Draws of a metric's rate estimand, NaN where it is undefined."""
    return metric(name)(draws.rate_matrix(size))
