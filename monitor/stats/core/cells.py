r"""Draws of how a stratum's items divide into cells, where labels are known for a sample.

A cell is a kind of item that the strata do not tell apart: a band of scores, or "flagged by one
classifier and not by the other". Within stratum h, with :math:`y_{hk}` labeled positives and
:math:`x_{hk}` labeled negatives in cell k of :math:`K_h` possible ones,

.. math:: (p_{hk}, q_{hk})_k \sim \mathrm{Dirichlet}\big(y_{hk} + a_h/K_h,\ x_{hk} + a_h/K_h\big)

are the shares of the stratum that are positives, and negatives, of each cell; :math:`a_h` is the
prior of ``draws.round_posterior``, which is of two minds (``beta_mixture.round_priors``). The
positives of all cells together then have exactly that posterior, so a threshold that cuts no
stratum has the intervals of the round itself. With :math:`a_h = 0` it is the Bayesian bootstrap
(Rubin, Annals of Statistics 9, 1981).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.beta_mixture import round_priors
from monitor.stats.core.draws import check_estimand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.draws import Estimand
    from monitor.stats.core.sample import LabeledSample


DRAWS = 2**13
"""Draws of a comparison: an interval's end then errs by about .03 standard deviations."""


def cell_draws(
    sample: LabeledSample,
    cell: Ints,
    possible: Bools,
    *,
    prior: Floats | None = None,
    rng: np.random.Generator,
    draws: int = DRAWS,
    estimand: Estimand = "rate",
) -> Iterator[tuple[int, Ints, Floats]]:
    """Draw the items of the window in each cell, stratum by stratum.

    Yields the position of a stratum that holds items, its possible cells ``(K_h,)``, and the items
    in them, ``(draws, 2, K_h)``: negatives, then positives. Of a ``rate`` these are the shares
    times the stratum's size, of a ``window`` its very items, of which the labeled ones are known.

    ``cell`` is the cell of each labeled item, ``(n,)``, and ``possible`` which cells a stratum may
    hold, labeled or not, ``(H, K)``. ``prior`` is the prior count of positives, and of negatives,
    in each cell, of two minds about a predicted class, half of the draws each: ``(2, H, K)``,
    ``round_prior`` by default. A ValueError if a labeled item is in a cell that is not possible.
    """
    check_estimand(estimand)
    if not np.all(possible[sample.stratum, cell]):
        message = "a labeled item lies in a cell that its stratum cannot hold"
        raise ValueError(message)
    labels = np.zeros((*possible.shape[:1], 2, possible.shape[1]))
    worth, index = labels.copy(), (sample.stratum, sample.positive.astype(np.int64), cell)
    np.add.at(labels, index, 1)
    np.add.at(worth, index, sample.worth)
    prior = round_prior(sample, possible) if prior is None else prior
    minds = np.arange(draws) % 2, np.arange(draws) // 2 % 2  # of the two classes, independent
    for h in np.flatnonzero(sample.size):
        cells = np.flatnonzero(possible[h])
        mind = minds[int(h >= sample.flagged)]
        shares = _dirichlet(worth[h][:, cells] + prior[mind, h][:, np.newaxis, cells], rng)
        if estimand == "rate":
            yield int(h), cells, sample.size[h] * shares
        else:
            yield int(h), cells, labels[h][:, cells] + _rest(sample, int(h), shares, rng)


def two_minds(strata: int) -> Floats:
    """Light and heavy prior count of each of a class's strata or cells, shape ``(2,)``."""
    priors = round_priors(max(1, strata))
    return np.array([priors[0], priors[-1]])


def stratum_priors(sample: LabeledSample) -> Floats:
    """Light and heavy prior count of each stratum, shape ``(2, H)``."""
    holds = sample.size > 0
    is_flagged = np.arange(len(holds)) < sample.flagged
    return np.where(
        is_flagged,
        two_minds(int(holds[is_flagged].sum()))[:, np.newaxis],
        two_minds(int(holds[~is_flagged].sum()))[:, np.newaxis],
    )


def round_prior(sample: LabeledSample, possible: Bools) -> Floats:
    """Share each stratum's prior out over its cells, light and heavy, shape ``(2, H, K)``."""
    cells = np.maximum(possible.sum(axis=1), 1)
    prior = stratum_priors(sample) / cells
    return np.repeat(prior[:, :, np.newaxis], possible.shape[1], axis=2)


def _dirichlet(alpha: Floats, rng: np.random.Generator) -> Floats:
    """Draw shares that sum to 1 over the last two axes, one set for each first place."""
    gammas = rng.standard_gamma(alpha)
    return np.asarray(gammas / gammas.sum(axis=(1, 2), keepdims=True))


def _rest(sample: LabeledSample, h: int, shares: Floats, rng: np.random.Generator) -> Floats:
    """Cells of the items that were not labeled."""
    unlabeled = int(sample.size[h] - sample.labeled[h])
    flat = shares.reshape(len(shares), -1)
    return rng.multinomial(unlabeled, flat).reshape(shares.shape).astype(np.float64)
