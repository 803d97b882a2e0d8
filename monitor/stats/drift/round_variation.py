r"""How much more a metric moves from round to round than its labels explain, and what that costs.

With points :math:`x_t` of k rounds and sampling variances :math:`v_t`, squared steps have the mean
:math:`v_t + v_{t+1} + 2\tau^2` if the metric varies around a slowly moving level with the standard
deviation :math:`\tau`. Steps, unlike distances from the mean, do not count a lasting change (von
Neumann, Kent, Bellinson & Hart, "The mean square successive difference", *Annals of Mathematical
Statistics* 12, 1941). So

.. math:: \hat\tau^2 = \tfrac12 \Big(\overline{(x_{t+1}-x_t)^2} - \overline{v_t + v_{t+1}}\Big),
    \qquad \text{ratio}^2 = \overline{(x_{t+1}-x_t)^2} / \overline{v_t + v_{t+1}},

and without any variation :math:`\mathrm{ratio}^2` has the mean 1 and the variance
:math:`(3k-4)/(k-1)^2`. Items that belong together are the usual reason for more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.detection.alternatives import ERRORS
from monitor.stats.detection.e_detector import log_mixed, log_threshold, update

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_ROUNDS = 6
_QUANTILE = 2.33  # of the normal distribution: 1 in 100 quiet histories is called varying
_PATHS = 2_000


@dataclass(frozen=True, slots=True)
class RoundVariation:
    """Steps between rounds against sampling: ``ratio`` of standard deviations, and tau, ``spread``.

    ``is_more`` is whether the ratio is beyond chance.
    """

    ratio: float
    spread: float
    is_more: bool


def round_variation(points: Sequence[float], errors: Sequence[float]) -> RoundVariation | None:
    """Compare the steps of a metric with the standard errors of its points, in slot order.

    Returns None with fewer than ``LEAST_ROUNDS`` rounds, or without any sampling error.

    >>> round_variation([0.8, 0.7, 0.86, 0.69, 0.84, 0.72, 0.85], [0.02] * 7)
    RoundVariation(ratio=4.96, spread=0.0973, is_more=True)
    """
    x, v = np.asarray(points, dtype=np.float64), np.asarray(errors, dtype=np.float64) ** 2
    explained = float((v[1:] + v[:-1]).mean()) if len(v) > 1 else 0.0
    if len(x) < LEAST_ROUNDS or explained <= 0:
        return None
    steps = float((np.diff(x) ** 2).mean())
    ratio, k = steps / explained, len(x)
    beyond = 1 + _QUANTILE * math.sqrt(3 * k - 4) / (k - 1)
    spread = math.sqrt(max(steps - explained, 0.0) / 2)
    return RoundVariation(round(math.sqrt(ratio), 2), round(spread, 4), ratio > beyond)


def alarms_of_variation(
    distance: float,
    error: float,
    spread: float,
    *,
    threshold: float,
    rounds: int,
    seed: int = 0,
) -> float:
    """Return the mean number of alarms in ``rounds`` rounds of a metric that varies, by simulation.

    The metric varies normally with ``spread`` around a level that keeps its limit by ``distance``;
    a round's estimate errs by ``error``, of which alone the detector knows. ``threshold`` is the
    detector's (``e_detector.log_threshold``); evidence that fires starts again.

    >>> from monitor.stats.detection.e_detector import log_threshold
    >>> quiet, varying = (
    ...     alarms_of_variation(0.0, 0.02, s, threshold=log_threshold(52, 1), rounds=52)
    ...     for s in (0.0, 0.06)
    ... )
    >>> quiet <= 1, varying > 5
    (True, True)
    """
    rng, away = np.random.default_rng(seed), np.array(ERRORS)
    log_m = np.full((_PATHS, len(ERRORS)), -np.inf)
    alarms = 0
    total = math.hypot(error, spread) / error
    for _ in range(rounds):
        below = -distance / error - total * rng.standard_normal(_PATHS)
        log_e = np.multiply.outer(below, away) - away**2 / 2
        log_m = update(log_m, log_e)
        fires = log_mixed(log_m) >= threshold
        alarms += int(fires.sum())
        log_m[fires] = -np.inf
    return alarms / _PATHS


def alarms_of_effect(effect: float, rounds: int = 52) -> float:
    """Return the mean number of alarms in ``rounds`` where 1 is promised, at the limit itself.

    Labels are worth 1/``effect`` of what the detector takes them for, 1 or more.

    >>> alarms_of_effect(1.0) <= 1, alarms_of_effect(4.0) > 4
    (True, True)
    """
    threshold = log_threshold(rounds, 1)
    return alarms_of_variation(0.0, 1.0, math.sqrt(effect - 1), threshold=threshold, rounds=rounds)
