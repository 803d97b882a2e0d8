r"""Counts of windows, and what earlier windows lead one to expect of the next.

Counts of windows differ by more than chance alone (overdispersion) and grow or shrink over time,
and often there are only a few. So the logs of earlier counts are taken for a line with normal
errors, of a variance that these windows show and that is at least Poisson's, and this window is
compared with what that predicts: a Student distribution (Draper and Smith, *Applied Regression
Analysis*, 3rd ed., 1998, section 3.1). The slope has a prior, which few windows need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Floats

FEWEST = 3
"""Earlier windows needed."""

LEAST = 30
"""Expected items from which on a fall is looked for: under it counts tell little, and logs of
them are not normal."""

SLOPE = 0.05
"""Standard deviation of the slope to expect: growth or decline of 5 % a window."""

_ROBUST = 5  # windows from which on one that lies outside of the others is left out
_OUTSIDE = 0.001  # probability, in each tail, that an ordinary history has such a window


@dataclass(frozen=True, slots=True)
class ExpectedCount:
    """What earlier windows lead one to expect of a count: the median of the prediction.

    ``probability`` is how likely an ordinary window holds as few items or fewer.
    """

    count: float
    probability: float


def expected_count(now: float, earlier: Sequence[float]) -> ExpectedCount | None:
    r"""Predict the count ``now`` from earlier windows, oldest first, and how rare so low a one is.

    With :math:`x_t = \ln(y_t + 1/2)`, :math:`k` windows, their mean time :math:`\bar t`,
    :math:`q = \sum (t - \bar t) x_t` and :math:`\lambda = s^2/\tau^2`:

    .. math:: b = \frac{q}{S_{tt} + \lambda}, \quad
        \frac{x - \bar x - b (t - \bar t)}{\hat\sigma
        \sqrt{1 + 1/k + (t - \bar t)^2/(S_{tt} + \lambda)}} \sim t_\nu, \quad
        \nu = k - 1 - \frac{S_{tt}}{S_{tt} + \lambda}, \quad
        \hat\sigma^2 = \frac{S_{xx} - q b}{\nu}

    where :math:`s^2` is the residual variance of least squares, :math:`\tau` is ``SLOPE``, and
    neither variance is taken for less than a Poisson count's. Of five windows or more the one that
    lies furthest outside of what the others predict is left out, such as a holiday. None if there
    are fewer than ``FEWEST`` earlier windows, or ``LEAST`` items or fewer are expected.

    Examples
    --------
    >>> weeks = [6010, 5950, 6080, 5900, 6040]
    >>> found = expected_count(4200, weeks)
    >>> round(found.count), found.probability < 0.005
    (5998, True)
    >>> expected_count(5900, weeks).probability > 0.2
    True
    """
    counts = np.asarray(earlier, dtype=np.float64)
    if len(counts) < FEWEST:
        return None
    time = np.arange(len(counts), dtype=np.float64)
    if len(counts) >= _ROBUST:
        without = [np.arange(len(counts)) != i for i in range(len(counts))]
        below = [_placed(counts[i], i, counts[k], time[k])[1] for i, k in enumerate(without)]
        tails = [min(each, 1 - each) for each in below]
        worst = int(np.argmin(tails))
        if tails[worst] < _OUTSIDE / len(counts):
            counts, time = counts[without[worst]], time[without[worst]]
    expected, probability = _placed(now, len(earlier), counts, time)
    return None if expected < LEAST else ExpectedCount(expected, probability)


def _placed(now: float, at: int, counts: Floats, time: Floats) -> tuple[float, float]:
    """Return the predicted count at a time, and the probability of a count or fewer there."""
    logs, windows = np.log(counts + 0.5), len(counts)
    centred, by_chance = time - time.mean(), 1 / (float(counts.mean()) + 0.5)
    squares, product = float(centred @ centred), float(centred @ logs)
    total_squares = float(((logs - logs.mean()) ** 2).sum())
    spread = max((total_squares - product**2 / squares) / (windows - 2), by_chance)
    shrunk = squares + spread / SLOPE**2
    freedom = windows - 1 - squares / shrunk
    scale = max((total_squares - product**2 / shrunk) / freedom, by_chance)
    offset = at - float(time.mean())
    predicted = float(logs.mean()) + product / shrunk * offset
    error = math.sqrt(scale * (1 + 1 / windows + offset**2 / shrunk))
    below = float(special.stdtr(freedom, (math.log(now + 0.5) - predicted) / error))
    return math.exp(predicted) - 0.5, below
