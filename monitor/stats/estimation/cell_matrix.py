"""Precision, recall and all else of a round labeled by score cells: its posterior and its draws.

Each class is one stratum of the plain labels that its cells are worth (``cell_counts``), with
Jeffreys' prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from monitor.stats.core.beta_mixture import HEAVY, BetaMixture, prior_count
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import POINTS, Draws, Estimand, JointPosterior, draw
from monitor.stats.core.metrics import Matrix
from monitor.stats.design.cell_counts import cell_counts, counts_of_the_rest
from monitor.stats.design.restratify import EffectiveCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]


def cell_posterior(counts: Counts) -> JointPosterior:
    """Posterior of precision and of the false omission rate from a round labeled by cells.

    Parameters
    ----------
    counts
        Strata are the cells of each class, in order of score.

    Examples
    --------
    >>> counts = Counts.of_arrays(
    ...     size=[60, 100, 9000, 840], labeled=[26, 19, 65, 90], positive=[16, 18, 0, 9],
    ...     is_flagged=[True, True, False, False],
    ... )
    >>> posterior = cell_posterior(counts)
    >>> posterior.flagged.mean().round(3), posterior.passed.mean().round(4)
    (array([0.818]), array([0.0094]))
    """
    return JointPosterior(*(_law(cell_counts(*cells)) for cells in _classes(counts)))


def cell_matrix(
    counts: Counts, estimand: Estimand, *, seed: int = 0, points: int = POINTS
) -> Matrix:
    r"""Draws of the confusion matrix from a round labeled by cells.

    For the ``window`` what is labeled is known, :math:`TP = \sum_+ y_h +
    \mathrm{Binomial}(\sum_+ (N_h-n_h), \pi)`, and the rate :math:`\pi` of the rest is that of
    ``counts_of_the_rest``. The variance is then that of a sample without replacement.

    Parameters
    ----------
    counts
        Strata are the cells of each class, in order of score.
    estimand
        ``rate`` or ``window``.
    seed, points
        As in ``draws.draw``.

    Examples
    --------
    >>> counts = Counts.of_arrays(
    ...     size=[60, 100, 9000, 840], labeled=[60, 100, 65, 90], positive=[33, 95, 0, 9],
    ...     is_flagged=[True, True, False, False],
    ... )
    >>> np.unique(cell_matrix(counts, "window", points=2**10).tp)  # the flagged are all labeled
    array([128.])
    """
    in_window = estimand == "window"
    parts = [_rest(cells, in_window=in_window) for cells in _classes(counts)]
    laws = JointPosterior(*(part.law for part in parts))
    drawn = draw(laws, seed=seed, points=points)
    (tp, fp), (fn, tn) = (
        (part.positive + found, part.negative + part.items - found)
        for part, found in zip(parts, _found(parts, drawn, in_window=in_window), strict=True)
    )
    return Matrix(tp=tp, fp=fp, fn=fn, tn=tn)


def _found(parts: Sequence[_Rest], drawn: Draws, *, in_window: bool) -> list[Values]:
    """Draw the positives among the items that are left of each class."""
    if not in_window:
        return [part.items * drawn.rates[:, i] for i, part in enumerate(parts)]
    return [
        np.asarray(stats.binom.ppf(drawn.uniforms[:, i], part.items, drawn.rates[:, i]))
        for i, part in enumerate(parts)
    ]


def plain_counts(counts: Counts) -> Counts:
    """Make of each class one stratum of the whole plain labels that its cells are worth.

    For the correction of label errors, which needs counts. Wrong labels leave no cell pure, and one
    of most items may show none of those it has. So the prior of the cells is the heavy one, as in
    the correction of bands.

    Parameters
    ----------
    counts
        Strata are the cells of each class, in order of score.

    Examples
    --------
    >>> plain = plain_counts(Counts.of_arrays(
    ...     size=[60, 100, 9000, 840], labeled=[26, 19, 65, 90], positive=[16, 18, 0, 9],
    ...     is_flagged=[True, True, False, False],
    ... ))
    >>> plain.size, plain.labeled, plain.positive
    (array([ 160, 9840]), array([ 59, 235]), array([49,  2]))
    """
    classes = _classes(counts)
    size = np.array([cells.size.sum() for cells in classes])
    found = [cell_counts(*each, prior=HEAVY) for each in classes]
    worth = np.concatenate([each.labeled for each in found])
    share = np.minimum(1.0, size / np.maximum(worth, 1.0))  # never more labels than items
    positive, labeled = EffectiveCounts(
        np.concatenate([each.positive for each in found]) * share, worth * share
    ).whole()
    return Counts.of_arrays(
        size=size.astype(np.int64), labeled=labeled, positive=positive, is_flagged=[True, False]
    )


class _Rest(NamedTuple):
    """What a class holds of known answers, and the items and the rate of what is left."""

    positive: float
    negative: float
    items: float
    law: BetaMixture


class _Cells(NamedTuple):
    """One class's cells: sizes, labels and positives, ``(C,)`` each."""

    size: Values
    labeled: Values
    positive: Values


def _classes(counts: Counts) -> list[_Cells]:
    up = counts.is_flagged
    columns = [each.astype(np.float64) for each in (counts.size, counts.labeled, counts.positive)]
    return [_Cells(*(column[members] for column in columns)) for members in (up, ~up)]


def _rest(cells: _Cells, *, in_window: bool) -> _Rest:
    size, labeled, positive = cells
    if not in_window:
        return _Rest(0.0, 0.0, float(size.sum()), _law(cell_counts(*cells)))
    left = size - labeled
    known = float(positive.sum()), float((labeled - positive).sum())
    law = _law(counts_of_the_rest(left, labeled, positive))
    return _Rest(*known, float(left.sum()), law)


def _law(found: EffectiveCounts) -> BetaMixture:
    prior = prior_count(1)
    return BetaMixture.single(prior + found.positive, prior + found.labeled - found.positive)
