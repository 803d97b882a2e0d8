r"""Draws of the strata's rates from the prior of a round, the same for the same prior.

Where strata are score cells the draws start from a line along the score, whose coefficients vary
by their normal law (``recalibration``). No line fits everywhere: misses may lie far below the
threshold, where it expects none. So a class with many labels is cut into groups of neighbouring
cells of ``GROUP_LABELS`` or more, and each group's rate also goes by its own answers,

.. math:: r_g \sim \mathrm{Beta}(y_g + w\bar m_g,\ n_g - y_g + w(1-\bar m_g)), \quad
    \bar m_g = \frac{\sum n_h m_h}{n_g}, \quad
    w = \min\Big\{\frac{2}{\min(\bar m_g, 1-\bar m_g)},\ 50\Big\}

with m the drawn line, worth w labels (a conjugate Beta-binomial update). A group whose rate is
above the line's has the rest spread evenly over its items that the line takes for negative,
:math:`m_h + (1-m_h)(r_g-\bar m_g)/(1-\bar m_g)`; one whose rate is below it is scaled,
:math:`m_h r_g/\bar m_g`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import special
from scipy.stats import qmc

from monitor.stats.design.prior import PriorRates

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Floats
    from monitor.stats.design.prior import JointLogits


POINTS = 256
"""Sobol points: a share of .8 is then right to about .01."""

RARER_WORTH = 2.0
"""Answers of the rarer kind that the line is worth in a group."""

MOST_WORTH = 50.0
"""Labels that the line is worth at most in a group, which has eight times as many of its own."""

_DOUBT = 0.5
"""Jeffreys' half count, added to what rounds found of each stratum. Plans look where positives
were found, so a band in which few were found by chance stays underestimated: without this recall
misses its margin twice as often as asked (benchmarks/assurance.py)."""

_HALF_CELL = 2.0**-31  # the sequence has 30 bits; the middle of a cell is never 0 or 1
_PRECISE = 1e6  # labels from which on a Beta is a normal law, to far more than is needed
_TINY = 1e-12


@lru_cache(maxsize=8)
def _points(columns: int) -> Floats:
    return qmc.Sobol(columns, scramble=True, rng=0).random(POINTS) + _HALF_CELL


def _uniforms(prior_rates: PriorRates) -> Floats:
    """Return Sobol points: columns for the rates, and a last one per stratum for the answers."""
    strata = len(prior_rates.alpha)
    return _points((2 if prior_rates.joint is None else 3) * strata)


def answer_uniforms(prior_rates: PriorRates) -> Floats:
    """Return the points by which the answers of a round follow its rates, ``(POINTS, H)``."""
    return _uniforms(prior_rates)[:, -len(prior_rates.alpha) :]


def drawn_rates(prior_rates: PriorRates) -> Floats:
    """Draw rates, shape ``(POINTS, H)``: together where a line gave them, else from Beta laws."""
    uniforms = _uniforms(prior_rates)
    if prior_rates.joint is not None:
        return _by_the_line(prior_rates.joint, uniforms)
    if prior_rates.source == "rounds":
        prior_rates = PriorRates(
            prior_rates.alpha + _DOUBT, prior_rates.beta + _DOUBT, prior_rates.source
        )
    uniforms = uniforms[:, : len(prior_rates.alpha)]
    both = prior_rates.alpha + prior_rates.beta
    well = both > _PRECISE  # a normal law is quick
    spread = np.sqrt(prior_rates.rate * (1 - prior_rates.rate) / (both + 1))
    rates = prior_rates.rate + spread * special.ndtri(uniforms)
    rates[:, ~well] = special.betaincinv(
        prior_rates.alpha[~well], prior_rates.beta[~well], uniforms[:, ~well]
    )
    return np.clip(rates, 0.0, 1.0)


def _by_the_line(law: JointLogits, uniforms: Floats) -> Floats:
    columns = law.loadings.shape[1]
    rates = special.expit(law.mean + special.ndtri(uniforms[:, :columns]) @ law.loadings.T)
    for i, group in enumerate(law.groups):
        own_items, n = rates[:, group.cells], group.labeled.sum()
        line = np.clip(own_items @ group.labeled / n, _TINY, 1 - _TINY)
        worth = np.minimum(RARER_WORTH / np.minimum(line, 1 - line), MOST_WORTH)
        alpha, beta = group.positive + worth * line, n - group.positive + worth * (1 - line)
        drawn = special.betaincinv(alpha, beta, uniforms[:, columns + i])
        more, less = (np.maximum(drawn - line, 0) / (1 - line), np.minimum(drawn / line, 1.0))
        spread = own_items + (1 - own_items) * more[:, np.newaxis]
        rates[:, group.cells] = np.where((drawn > line)[:, None], spread, own_items * less[:, None])
    return np.clip(rates, _TINY, 1 - _TINY)
