r"""Counts of windows, and what earlier windows lead one to expect of the next.

Counts of windows differ by more than chance alone (overdispersion) and grow or shrink over time,
and often there are only a few. So the logs of earlier counts are taken for a line with normal
errors, with a prior on the slope and the error that a few windows need, and this window is compared
with what that predicts: a Student distribution (Gelman et al., *Bayesian Data Analysis*, 3rd ed.,
2013, sections 14.2 and 14.8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FEWEST = 3
"""Earlier windows needed."""

LEAST = 30
"""Expected items from which on a fall is looked for: under it counts tell little, and logs of
them are not normal."""

SPREAD, SPREAD_WEIGHT = 0.08, 3.0
"""Error of a log count to expect before any window, beyond chance, and for how many windows it
stands."""

SLOPE = 0.05
"""Standard deviation of the slope to expect: growth or decline of 5 % a window."""

_ROBUST = 5  # windows from which on one that lies outside of the others is left out
_OUTSIDE = 0.9995


@dataclass(frozen=True, slots=True)
class ExpectedCount:
    """What earlier windows lead one to expect of a count.

    Parameters
    ----------
    count
        The median of the prediction.
    probability
        That an ordinary window holds as few items or fewer.
    """

    count: float
    probability: float


def expected_count(now: float, earlier: Sequence[float]) -> ExpectedCount | None:
    r"""Predict a count from those of earlier windows, oldest first, and place this one in it.

    With :math:`x_t = \ln(y_t + 1/2)`, :math:`k` windows, their mean time :math:`\bar t` and
    :math:`\lambda = s^2/\tau^2`:

    .. math:: b = \frac{\sum (t - \bar t) x_t}{S_{tt} + \lambda}, \quad
        \frac{x - \bar x - b (t - \bar t)}{\hat\sigma
        \sqrt{1 + 1/k + (t - \bar t)^2/(S_{tt} + \lambda)}} \sim t_{\nu_0 + k - 1}, \quad
        \hat\sigma^2 = \frac{\nu_0 s^2 + \sum r_t^2 + \lambda b^2}{\nu_0 + k - 1}

    where :math:`s^2` is ``SPREAD`` squared plus the Poisson variance of a log count, :math:`\tau`
    is ``SLOPE``. Of five windows or more the one that lies furthest outside of what the others
    predict is left out, such as a holiday.

    Returns
    -------
    ExpectedCount or None
        None where there are fewer than ``FEWEST`` earlier windows, or ``LEAST`` items or fewer are
        expected.

    Examples
    --------
    >>> weeks = [6010, 5950, 6080, 5900, 6040]
    >>> found = expected_count(4200, weeks)
    >>> round(found.count), found.probability < 0.005
    (5998, True)
    >>> expected_count(5800, weeks).probability > 0.2
    True
    """
    counts = np.asarray(earlier, dtype=np.float64)
    if len(counts) < FEWEST:
        return None
    time = np.arange(len(counts), dtype=np.float64)
    if len(counts) >= _ROBUST:
        retained = np.array([np.arange(len(counts)) != i for i in range(len(counts))])
        odds = [abs(_t_value(counts[i], i, counts[k], time[k])[1]) for i, k in enumerate(retained)]
        worst = int(np.argmax(odds))
        if odds[worst] > special.stdtrit(SPREAD_WEIGHT + len(counts) - 2, _OUTSIDE):
            counts, time = counts[retained[worst]], time[retained[worst]]
    expected, t = _t_value(now, len(earlier), counts, time)
    if expected < LEAST:
        return None
    freedom = SPREAD_WEIGHT + len(counts) - 1
    return ExpectedCount(expected, float(special.stdtr(freedom, t)))


def _t_value(
    now: float, at: int, counts: NDArray[np.float64], time: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the predicted count at a time, and how far a count lies from it in its t units."""
    logs, windows = np.log(counts + 0.5), len(counts)
    spread = SPREAD**2 + 1 / (float(counts.mean()) + 0.5)
    centred, shrunk = time - time.mean(), spread / SLOPE**2
    squares = float(centred @ centred) + shrunk
    slope = float(centred @ logs) / squares
    rest = logs - logs.mean() - slope * centred
    total = SPREAD_WEIGHT * spread + float(rest @ rest) + shrunk * slope**2
    scale = total / (SPREAD_WEIGHT + windows - 1)
    prefetcher = at - float(time.mean())
    predicted = float(logs.mean()) + slope * prefetcher
    error = math.sqrt(scale * (1 + 1 / windows + prefetcher**2 / squares))
    return math.exp(predicted) - 0.5, (math.log(now + 0.5) - predicted) / error
