r"""True rates of one predicted class behind labels of known errors, on a grid.

The prior of a rate is that of a round and piles up at 0 and 1, so the grid is even in the log odds
and holds the prior's exact mass in each cell; the likelihood is taken in the cell's middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Floats
    from monitor.stats.core.beta_mixture import BetaMixture


CELLS = 400
"""Cells of the grid of a rate, even in its log odds from -12 to 12; what is beyond counts as 0 or
1."""

_FARTHEST = 12.0  # a rate of 6 in a million
_BLOCK = 2**11  # proposals at a time, 7 MB an array


def class_rates(
    mixture: BetaMixture,
    positive: Floats,
    labeled: Floats,
    s: Floats,
    t: Floats,
    *,
    weight: Floats,
    uniforms: Floats,
    pick: Floats,
) -> tuple[Floats, Floats]:
    """Likelihood of each proposed s and t by one class's labels, and true rates given it.

    The likelihood, shape ``(points,)``, has the mean 1 over ``weight`` for each component of the
    prior by itself; the rates have the shape ``(points, H)``. ``mixture`` is what the labels would
    say of the rates if they did not err; ``s``, ``t`` and ``weight`` are proposed sensitivity and
    specificity and their weight without these labels, ``(points,)``. ``uniforms``, ``(points, H)``,
    choose the rates and ``pick``, ``(points,)``, the component; in (0, 1).
    """
    components, strata = mixture.alpha.shape
    log_likely = np.zeros((components, len(s)))
    drawn = np.empty((components, len(s), strata))
    for h in range(strata):
        likelihoods, rates = _stratum_rates(
            mixture.alpha[:, h] - positive[h], positive[h], labeled[h], s, t, uniforms[:, h]
        )
        log_likely += likelihoods
        drawn[:, :, h] = rates
    likely = np.exp(log_likely - log_likely.max(axis=1, keepdims=True))
    # 1e-300 keeps a component without any weight at 0 instead of 0/0.
    likely /= np.maximum(likely @ weight / weight.sum(), 1e-300)[:, np.newaxis]
    shares = mixture.weight[:, np.newaxis] * likely
    total = shares.sum(axis=0)
    below = np.cumsum(shares, axis=0)[:-1] / np.maximum(total, 1e-300)
    chosen = (below < pick).sum(axis=0)
    return total, drawn[chosen, np.arange(len(s))]


def _stratum_rates(
    prior: Floats, positive: float, labeled: float, s: Floats, t: Floats, uniforms: Floats
) -> tuple[Floats, Floats]:
    """Log likelihood of s and t by one stratum's labels, and its rate drawn given them.

    Shapes ``(J, points)``, for each prior count of ``prior``, shape ``(J,)``.
    """
    edges = np.concatenate(
        [[0.0], special.expit(np.linspace(-_FARTHEST, _FARTHEST, CELLS + 1)), [1.0]]
    )
    middle = np.concatenate([[0.0], special.expit(_middles()), [1.0]])
    mass = np.diff(special.betainc(prior[:, np.newaxis], prior[:, np.newaxis], edges), axis=1)
    log_likely = np.empty((len(prior), len(s)))
    rates = np.empty((len(prior), len(s)))
    for start in range(0, len(s), _BLOCK):
        block = slice(start, start + _BLOCK)
        q = middle * (s[block] + t[block] - 1)[:, np.newaxis] + (1 - t[block])[:, np.newaxis]
        logs = special.xlogy(positive, q) + special.xlog1py(labeled - positive, -q)
        highest = logs.max(axis=1, keepdims=True)  # thousands of labels would underflow
        likely = np.exp(logs - highest)
        for j, cell_mass in enumerate(mass):
            below = np.cumsum(likely * cell_mass, axis=1)
            log_likely[j, block] = highest[:, 0] + np.log(below[:, -1])
            rates[j, block] = _placed(below, uniforms[block])
    return log_likely, rates


def _middles() -> Floats:
    """Log odds in the middle of each cell."""
    return (np.arange(CELLS) + 0.5) / CELLS * 2 * _FARTHEST - _FARTHEST


def _placed(below: Floats, uniforms: Floats) -> Floats:
    """Rates at these shares of the mass, evenly in the log odds within a cell."""
    target = uniforms * below[:, -1]
    cell = (below < target[:, np.newaxis]).sum(axis=1)
    rows = np.arange(len(cell))
    mass_below = np.where(cell > 0, below[rows, cell - 1], 0.0)
    inside = (target - mass_below) / np.maximum(below[rows, cell] - mass_below, 1e-300)
    log_odds = (cell - 1 + np.clip(inside, 0, 1)) / CELLS * 2 * _FARTHEST - _FARTHEST
    rates = np.where(cell == 0, 0.0, special.expit(log_odds))
    return np.asarray(np.where(cell > CELLS, 1.0, rates))
