r"""One predicted class from many score cells: how many plain labels its answers are worth.

A class is cut into score cells that are labeled at rates of their own, and a cell has 2 to 20
answers. Its rate is the weighted one, :math:`\hat\pi = \sum_h W_h y_h/n_h` with
:math:`W_h = N_h/\sum N`. What an interval needs besides is how many labels of a plain random
sample know it as well.

1. Neighbouring cells form groups of ten answers or more, by the numbers of answers alone. Within
   group g the labels weigh about the same; with one rate in all its cells they are worth

   .. math:: K_g = \frac{(\sum_{h \in g} N_h)^2}{\sum_{h \in g} N_h^2/n_h}

   of them (Kish, *Survey Sampling*, 1965). Where rates differ within a group this takes labels for
   more variable than they are.
2. With a light prior in each of the G groups, :math:`a = 0.1/G`, so that a group without one
   positive is not taken to be free of them,

   .. math:: \tilde\pi_g = \frac{K_g \hat\pi_g + a}{K_g + 2a}, \quad
       \tilde\pi = \sum_g W_g \tilde\pi_g, \quad
       V = \sum_g W_g^2 \frac{\tilde\pi_g (1-\tilde\pi_g)}{K_g} \frac{n_g}{n_g - 1},

   and a plain sample of :math:`m = \tilde\pi(1-\tilde\pi) \frac{n}{n-1} / V` labels would have
   that variance (the effective sample size of Korn & Graubard, "Confidence intervals for
   proportions with small expected number of positive counts estimated from survey data", *Survey
   Methodology* 24, 1998).
3. The class is then one stratum of m labels, :math:`m\hat\pi` of them positive, with Jeffreys'
   prior, :math:`\pi \sim \mathrm{Beta}(\tfrac12 + m\hat\pi, \tfrac12 + m(1-\hat\pi))`: one of the
   intervals compared by Franco, Little, Louis & Slud, "Comparative study of confidence intervals
   for proportions in complex sample surveys", *Journal of Survey Statistics and Methodology* 7,
   2019.

With one cell m is its number of labels, and all is as without cells. Earlier rounds are counted
with the *present* sizes, so a window whose scores moved does not change the rate that is pooled
(direct standardisation).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.core.beta_mixture import LIGHT, BetaMixture, prior_count
from monitor.stats.core.draws import POINTS, Estimand, JointPosterior, draw
from monitor.stats.core.metrics import Matrix
from monitor.stats.design.restratify import EffectiveCounts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from monitor.stats.core.counts import Counts, StratumCounts

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

GROUP = 10
"""Answers of a group at least. The variance within one needs a few; more would mix rates that
differ and widen the interval."""


def cell_counts(size: ArrayLike, labeled: ArrayLike, positive: ArrayLike) -> EffectiveCounts:
    """Count the labels of a plain random sample that know one class's rate as well as its cells.

    Parameters
    ----------
    size
        Items of each cell of the class, shape ``(C,)``, in order of score.
    labeled, positive
        Answers of each cell, shape ``(..., C)``: of one round, or of many at once.

    Returns
    -------
    EffectiveCounts
        One stratum, shape ``(..., 1)``; zeros without an answer.

    Raises
    ------
    ValueError
        If the shapes disagree or not ``0 <= positive <= labeled``.

    Notes
    -----
    A cell without answers is taken to be like the answered ones of its group.

    Examples
    --------
    >>> found = cell_counts([9000, 900, 100], [30, 30, 40], [0, 3, 16])
    >>> print(found.labeled.round(1), (found.positive / found.labeled).round(3))
    [246.5] [0.013]
    >>> cell_counts([900], [40], [10]).labeled
    array([40.])
    """
    items, n, y = (np.asarray(each, dtype=np.float64) for each in (size, labeled, positive))
    if items.ndim != 1 or not items.shape == n.shape[-1:] == y.shape[-1:]:
        message = (
            f"size {items.shape} and the last axis of labeled {n.shape} and positive {y.shape} "
            "must have the shape (C,)"
        )
        raise ValueError(message)
    if not np.all((y >= 0) & (y <= n)):
        message = "every cell needs 0 <= positive <= labeled"
        raise ValueError(message)
    n, y = np.broadcast_arrays(n, y)
    groups = _grouped(items, n, y)
    worth, rate = _plain_labels(groups)
    return EffectiveCounts(positive=(worth * rate)[..., np.newaxis], labeled=worth[..., np.newaxis])


def groups_of_cells(labeled: ArrayLike) -> Whole:
    """Group neighbouring cells until each group has ``GROUP`` answers, by their numbers alone.

    Parameters
    ----------
    labeled
        Answers of each cell of a class, shape ``(..., C)``.

    Returns
    -------
    Group of each cell, 0, 1, ..., shape ``(..., C)``. What is left over joins the last group.

    Examples
    --------
    >>> groups_of_cells([12, 4, 3, 5, 9, 2])
    array([0, 1, 1, 1, 2, 2])
    """
    n = np.asarray(labeled, dtype=np.float64)
    left = np.cumsum(n[..., ::-1], axis=-1)[..., ::-1]
    group = np.zeros(n.shape, dtype=np.int64)
    now, have = np.zeros(n.shape[:-1], dtype=np.int64), np.zeros(n.shape[:-1])
    for h in range(n.shape[-1]):
        is_full = (have >= GROUP) & (left[..., h] >= GROUP)
        now, have = now + is_full, np.where(is_full, 0.0, have) + n[..., h]
        group[..., h] = now
    return group


def cell_posterior(counts: Counts) -> JointPosterior:
    """Posterior of precision and of the false omission rate from a round labeled by cells.

    Parameters
    ----------
    counts
        Strata are the cells of each class, in order of score.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> counts = Counts.of_arrays(
    ...     size=[60, 100, 9000, 840], labeled=[26, 19, 65, 90], positive=[16, 18, 0, 9],
    ...     is_flagged=[True, True, False, False],
    ... )
    >>> posterior = cell_posterior(counts)
    >>> posterior.flagged.mean().round(3), posterior.passed.mean().round(4)
    (array([0.818]), array([0.0095]))
    """
    return JointPosterior(
        *(_posterior(*_arrays(cells)) for cells in (counts.flagged, counts.passed))
    )


def cell_matrix(
    counts: Counts, estimand: Estimand, *, seed: int = 0, points: int = POINTS
) -> Matrix:
    r"""Draws of the confusion matrix from a round labeled by cells.

    For the ``window`` what is labeled is known, :math:`TP = \sum_+ y_h + \pi\sum_+ (N_h-n_h)` in
    whole items, and the rate :math:`\pi` of the rest is that of cells of :math:`N_h - n_h` items
    and :math:`n_h (1 - n_h/N_h)` labels. Its variance is then that of a sample without replacement.

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
    >>> from monitor.stats.core.counts import Counts
    >>> counts = Counts.of_arrays(
    ...     size=[60, 100, 9000, 840], labeled=[60, 100, 65, 90], positive=[33, 95, 0, 9],
    ...     is_flagged=[True, True, False, False],
    ... )
    >>> np.unique(cell_matrix(counts, "window", points=2**10).tp)  # the flagged are all labeled
    array([128.])
    """
    in_window = estimand == "window"
    parts = [_rest(*_arrays(cells), in_window) for cells in (counts.flagged, counts.passed)]
    laws = JointPosterior(*(part.law for part in parts))
    rates = draw(laws, seed=seed, points=points).rates
    open_positive = [part.items * rates[:, i] for i, part in enumerate(parts)]
    if in_window:
        open_positive = [np.rint(each) for each in open_positive]
    (tp, fp), (fn, tn) = (
        (part.positive + found, part.negative + part.items - found)
        for part, found in zip(parts, open_positive, strict=True)
    )
    return Matrix(tp=tp, fp=fp, fn=fn, tn=tn)


class _Rest(NamedTuple):
    """What a class holds of known answers, and the items and the rate of what is left."""

    positive: float
    negative: float
    items: float
    law: BetaMixture


def _rest(size: Values, labeled: Values, positive: Values, in_window: bool) -> _Rest:
    if not in_window:
        return _Rest(0.0, 0.0, float(size.sum()), _posterior(size, labeled, positive))
    left = size - labeled
    part = np.divide(left, size, out=np.zeros(len(size)), where=size > 0)
    law = _posterior(left, labeled * part, positive * part)
    known = float(positive.sum()), float((labeled - positive).sum())
    return _Rest(*known, float(left.sum()), law)


class _Groups(NamedTuple):
    """Groups of a class's cells, shape ``(..., G)``; zeros beyond the last."""

    weight: Values
    rate: Values
    worth: Values
    answers: Values


def _grouped(size: Values, labeled: Values, positive: Values) -> _Groups:
    group = groups_of_cells(labeled)
    shape = (*labeled.shape[:-1], int(group.max(initial=0)) + 1)

    def summed(values: Values) -> Values:
        total = np.zeros(shape)
        for h in range(len(size)):
            place = group[..., h, np.newaxis]
            here = np.take_along_axis(total, place, axis=-1) + values[..., h, np.newaxis]
            np.put_along_axis(total, place, here, axis=-1)
        return total

    nothing, answered = np.zeros(labeled.shape), labeled > 0
    share = np.divide(positive, labeled, out=nothing.copy(), where=answered)
    squares = summed(np.divide(size**2, labeled, out=nothing.copy(), where=answered))
    seen, whole = summed(np.where(answered, size, 0.0)), summed(nothing + size)
    there = seen > 0
    weight = np.where(there, whole, 0.0)
    total = weight.sum(axis=-1, keepdims=True)
    return _Groups(
        weight=np.divide(weight, total, out=np.zeros(shape), where=total > 0),
        rate=np.divide(summed(size * share), seen, out=np.zeros(shape), where=there),
        worth=np.divide(seen**2, squares, out=np.ones(shape), where=there),
        answers=summed(labeled),
    )


def _plain_labels(groups: _Groups) -> tuple[Values, Values]:
    """Plain labels m that the groups are worth, and the weighted rate; shape ``(...)``."""
    weight, rate, worth, answers = groups
    prior = LIGHT / np.maximum((weight > 0).sum(axis=-1, keepdims=True), 1)
    doubted = (worth * rate + prior) / (worth + 2 * prior)
    spread = doubted * (1 - doubted) / worth * _unbiased(answers)
    variance = (weight**2 * spread).sum(axis=-1)
    mean = (weight * doubted).sum(axis=-1)
    plain = mean * (1 - mean) * _unbiased(answers.sum(axis=-1))
    labels = np.divide(plain, variance, out=np.zeros(mean.shape), where=variance > 0)
    return labels, np.minimum((weight * rate).sum(axis=-1), 1.0)


def _unbiased(answers: Values) -> Values:
    """Factor n/(n-1) of a variance; 1 where a single answer shows none."""
    return np.asarray(np.where(answers > 1, answers / np.maximum(answers - 1, 1e-9), 1.0))


def _posterior(size: Values, labeled: Values, positive: Values) -> BetaMixture:
    found = cell_counts(size, labeled, positive)
    prior = prior_count(1)
    return BetaMixture.single(prior + found.positive, prior + found.labeled - found.positive)


def _arrays(cells: tuple[StratumCounts, ...]) -> tuple[Values, Values, Values]:
    """Sizes, labels and positives of one class's cells, shape ``(C,)`` each."""
    rows = [(cell.size, cell.labeled, cell.positive) for cell in cells]
    size, labeled, positive = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return size, labeled, positive
