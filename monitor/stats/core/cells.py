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
    in them, ``(draws, 2, K_h)``: negatives, then positives.

    Parameters
    ----------
    sample, cell
        The labeled items, n of them in H strata, and the cell of each, shape ``(n,)``.
    possible
        Which cells a stratum may hold, labeled or not, shape ``(H, K)``.
    prior
        Prior count of positives, and of negatives, in each cell, of two minds about a predicted
        class, half of the draws each: shape ``(2, H, K)``. By default ``round_prior``.
    estimand
        ``rate``: the shares behind the window, times its sizes. ``window``: the very items, of
        which the labeled ones are known.

    Raises
    ------
    ValueError
        If a labeled item is in a cell that is not possible, or the estimand is unknown.

    Examples
    --------
    >>> from monitor.stats.core.sample import LabeledSample
    >>> sample = LabeledSample([0, 0, 1, 1], [1, 1, 0, 0], size=[10, 2], flagged=1)
    >>> cell, possible = np.array([1, 1, 0, 0]), np.array([[False, True], [True, True]])
    >>> for _, cells, items in cell_draws(
    ...     sample, cell, possible, rng=np.random.default_rng(1), estimand="window"
    ... ):
    ...     print(cells, items.mean(axis=0).round(1).tolist())
    [1] [[1.3], [8.7]]
    [0 1] [[2.0, 0.0], [0.0, 0.0]]
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
    """Light and heavy prior count of each of a class's strata or cells, shape ``(2,)``.

    >>> two_minds(4), two_minds(1)
    (array([0.025, 0.25 ]), array([0.5, 0.5]))
    """
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
    """Share each stratum's prior out over its cells, light and heavy, shape ``(2, H, K)``.

    >>> from monitor.stats.core.sample import LabeledSample
    >>> sample = LabeledSample([0, 1], [1, 0], size=[10, 20], flagged=1)
    >>> round_prior(sample, np.array([[False, True], [True, True]]))[0].tolist()
    [[0.5, 0.5], [0.25, 0.25]]
    """
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
