r"""One predicted class from many score cells: how many plain labels its answers are worth.

A class is cut into score cells that are labeled at their own rates, and a cell has 2 to 20
answers. Its rate is the weighted one, :math:`\hat\pi = \sum_h W_h y_h/n_h` with
:math:`W_h = N_h/\sum N`. What an interval needs besides is how many labels of a plain random
sample know it as well.

1. Neighbouring cells form groups of ten answers or more, by the numbers of answers alone. Where
   verdicts cut the cells, a group of flagged items also ends with its verdict if
   ``GROUP_OF_VERDICT`` answers are on both sides. Within group g the labels weigh about the same;
   with one rate in all its cells they are worth

   .. math:: K_g = \frac{(\sum_{h \in g} N_h)^2}{\sum_{h \in g} N_h^2/n_h}

   of them (Kish, *Survey Sampling*, 1965). Where rates differ within a group this takes labels for
   more variable than they are.
2. That no answer of a group was positive does not show that none is. So the class has a prior of
   a few tenths of an answer of each kind, a, spread over its groups by what they are worth.
   It is more where groups end with a verdict: the items of one verdict may then be most of the
   class, with a dozen labels that agree by chance.

   .. math:: \delta = \frac{a}{\sum_g K_g}, \quad
       \tilde\pi_g = \frac{\hat\pi_g + \delta}{1 + 2\delta}, \quad
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

The rate describes the process which the window is a draw of, so the noise of the shares
:math:`W_h` is part of V (``double_sampling``, at the rates :math:`\tilde\pi_g`), but not for the
window's own items.

Of a window the labeled items are known, and the number of positives among the L others is
:math:`\mathrm{Binomial}(L, \pi)`. That varies by :math:`L\pi(1-\pi)`, while strata let it vary by
:math:`\sum_g L_g\pi_g(1-\pi_g)`, a share D of that; so its rate is known as well as by
:math:`1/m' = 1/m - (1-D)/L`, or, where that is less than nothing, fewer items are left to chance
(``rest_of_class``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.design.double_sampling import CountedShares, ShareNoise
from monitor.stats.design.restratify import EffectiveCounts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints

GROUP = 10
"""Answers of a group at least. The variance within one needs a few; more would mix rates that
differ and widen the interval."""

GROUP_OF_VERDICT = 4
"""Answers of a group at least that ends with its verdict (benchmarks/results/fresh_windows.txt)."""

PRIOR = 0.1
"""Answers of each kind that the class's prior is worth when V is estimated."""

PRIOR_OF_VERDICTS = 0.3
"""The same where groups end with a verdict: with .1, precision is covered in .71 of rounds at
worst, and with more a good judge saves less (benchmarks/results/tried.txt)."""

MOST_LABELS = 1e6
"""What the labels of a window are worth at most, where nearly all of it is labeled."""


def cell_counts(
    size: ArrayLike,
    labeled: ArrayLike,
    positive: ArrayLike,
    shares: CountedShares | None = None,
    *,
    prior: float = PRIOR,
    spread: ArrayLike | None = None,
    cell: Ints | None = None,
) -> EffectiveCounts:
    """Count the labels of a plain random sample that know one class's rate as well as its cells.

    One stratum, shape ``(..., 1)``; zeros without an answer. A cell without answers is taken to be
    like the answered ones of its group. Sizes have the shape ``(C,)``, in order of score, answers
    ``(..., C)``: of one round, or of many at once. ``shares`` is where verdicts cut score cells,
    ``prior`` the answers of each kind that the class's prior is worth at least when V is estimated,
    ``spread`` the variance of the sizes where these were not counted (``sampled_sizes``), ``cell``
    the score cell that verdicts cut each stratum from, ``(C,)``.
    """
    noise = ShareNoise.of(shares, size, spread)
    groups = _grouped(size, labeled, positive, noise, cell)
    worth, rate, _ = _plain_labels(groups, max(prior, _prior(cell)))
    return _of_one_stratum(worth, rate)


class RestOfClass(NamedTuple):
    """What is known of one class's unlabeled items.

    ``counts`` are the plain labels that know their rate as well, shape ``(..., 1)``, and
    ``by_chance`` is how many of them have a number of positives that is left to chance, ``(...)``.
    """

    counts: EffectiveCounts
    by_chance: Floats


def rest_of_class(
    unlabeled: ArrayLike,
    labeled: ArrayLike,
    positive: ArrayLike,
    spread: ArrayLike | None = None,
    cell: Ints | None = None,
) -> RestOfClass:
    r"""Count what answers are worth for one class's unlabeled items; otherwise as ``cell_counts``.

    A binomial number of positives at their rate varies as the stratified estimate of the rest does.
    ``MOST_LABELS`` plain labels at most. Of the L items there are left to chance

    .. math:: B = L \min\Big\{1,\ \frac{L}{m} + D\Big\}

    Mostly all L. But where each cell is nearly pure, a binomial number of positives among all of
    them varies by more than the strata let it, however well the rate is known. Then
    :math:`(L-B)\pi + \mathrm{Binomial}(B, \pi)` has the variance of the stratified estimate of
    the rest, :math:`L^2\pi(1-\pi)/m + DL\pi(1-\pi)`, and the window is known at least as well
    as the rate. With ``spread``, the variance of sizes that were not counted, they are a draw too.

    >>> float(rest_of_class([400, 70, 60], [30, 30, 40], [0, 3, 16]).by_chance)
    530.0
    >>> float(rest_of_class([400, 400], [100, 100], [0, 100]).by_chance.round())
    8.0
    """
    noise = None
    if spread is not None:
        noise = ShareNoise.of(None, np.add(unlabeled, labeled), spread)
    groups = _grouped(unlabeled, labeled, positive, noise, cell)
    worth, rate, within = _plain_labels(groups, _prior(cell))
    labels = np.maximum(worth, 1e-9)
    doubt = np.maximum(1 / labels - (1 - within) / max(groups.items, 1.0), 1 / MOST_LABELS)
    share = np.where(worth > 0, groups.items / labels + within, 1.0)
    return RestOfClass(
        counts=_of_one_stratum(np.where(worth > 0, 1 / doubt, 0.0), rate),
        by_chance=np.asarray(groups.items * np.minimum(share, 1.0)),
    )


class Unseen(NamedTuple):
    """What the prior adds to a class: its share of V, and how far one answer moves the rate."""

    share: float
    moves: float


def unseen_answers(
    size: ArrayLike, labeled: ArrayLike, positive: ArrayLike, cell: Ints | None = None
) -> Unseen:
    """Find how much of a class's variance V rests on answers that no group of cells has shown.

    That is the share of V that the prior makes up, 0 without an answer; and how far one label
    moves the class's rate in the group to which the prior adds most. Of one round, ``(C,)``.
    """
    groups = _grouped(size, labeled, positive, cell=cell)
    weight, rate, worth = groups.weight, groups.rate, groups.worth
    doubted = _doubted(rate, worth, _prior(cell))
    variance = float(_variance(groups, doubted))
    if not variance > 0:
        return Unseen(0.0, 0.0)
    term = weight**2 * _unbiased(groups.answers) / np.maximum(worth, 1e-9)
    added = term * (doubted * (1 - doubted) - rate * (1 - rate))
    most = int(np.argmax(added))
    return Unseen(max(0.0, float(added.sum() / variance)), float(weight[most] / worth[most]))


def groups_of_cells(
    labeled: ArrayLike, least: float = GROUP, cell: ArrayLike | None = None
) -> Ints:
    """Group neighbouring cells until each group has enough answers, by their numbers alone.

    Group of each cell, 0, 1, ..., shape ``(..., C)`` as ``labeled``. The remainder joins the last.
    ``cell`` is the score cell that each is cut from: where it does not rise, a verdict begins.

    >>> groups_of_cells([12, 4, 3, 5, 9, 2])
    array([0, 1, 1, 1, 2, 2])
    >>> groups_of_cells([12, 4, 3, 5, 9, 2], cell=[0, 1, 2, 0, 1, 2])
    array([0, 0, 0, 1, 1, 1])
    """
    n = np.asarray(labeled, dtype=np.float64)
    scores = np.arange(n.shape[-1]) if cell is None else np.asarray(cell)
    begins = np.diff(scores, prepend=-1) <= 0
    verdict = np.cumsum(begins)
    labels_from = np.cumsum(np.insert(n, n.shape[-1], 0, axis=-1)[..., ::-1], axis=-1)[..., ::-1]
    remaining = labels_from[..., :-1] - labels_from[..., np.searchsorted(verdict, verdict, "right")]
    group = np.zeros(n.shape, dtype=np.int64)
    now, have = np.zeros(n.shape[:-1], dtype=np.int64), np.zeros(n.shape[:-1])
    for h in range(n.shape[-1]):
        enough = GROUP_OF_VERDICT if begins[h] else least
        is_full = (have >= enough) & (remaining[..., h] >= enough)
        now, have = now + is_full, np.where(is_full, 0.0, have) + n[..., h]
        group[..., h] = now
    return group


def cells_by_class(cell: Ints | None, is_flagged: Bools) -> tuple[Ints | None, Ints | None]:
    """Return the score cells whose groups end with a verdict, of the flagged and the passed strata.

    Groups of passed items run across verdicts: where one positive is expected among the labeled
    items that a good judge calls negative, groups of those alone cover recall too rarely
    (benchmarks/results/judge.txt).
    """
    return (None if cell is None else cell[is_flagged]), None


class _Groups(NamedTuple):
    """Groups of a class's cells, shape ``(..., G)``; zeros beyond the last.

    ``items`` counts all items, ``group`` is the group of each cell, ``shares`` the noise of sizes.
    ``held`` marks the cells with unlabeled items, ``closed`` has the rates of all cells by their
    answers, which count where every item is labeled.
    """

    weight: Floats
    rate: Floats
    worth: Floats
    answers: Floats
    items: float
    group: Ints
    shares: ShareNoise | None
    held: Bools
    closed: Floats | None


def _checked(
    size: ArrayLike, labeled: ArrayLike, positive: ArrayLike
) -> tuple[Floats, Floats, Floats, Bools]:
    """Sizes ``(C,)`` and answers ``(..., C)`` of the cells that hold an item, and which do."""
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
    held = items > 0
    return items[held], n[..., held], y[..., held], held


def _of_one_stratum(worth: Floats, rate: Floats) -> EffectiveCounts:
    return EffectiveCounts(positive=(worth * rate)[..., np.newaxis], labeled=worth[..., np.newaxis])


def _grouped(
    items: ArrayLike,
    answers: ArrayLike,
    positives: ArrayLike,
    shares: ShareNoise | None = None,
    cell: Ints | None = None,
) -> _Groups:
    size, labeled, positive, held = _checked(items, answers, positives)
    closed = None
    if shares is not None:
        n, y = np.broadcast_arrays(np.asarray(answers, float), np.asarray(positives, float))
        closed = np.divide(y, n, out=np.zeros(n.shape), where=n > 0)
    group = groups_of_cells(labeled, cell=None if cell is None else cell[held])
    shape = (*labeled.shape[:-1], int(group.max(initial=0)) + 1)
    index = group + shape[-1] * np.arange(math.prod(shape[:-1])).reshape(*shape[:-1], 1)

    def summed(values: Floats) -> Floats:
        total = np.bincount(index.ravel(), values.ravel(), minlength=math.prod(shape))
        return total.reshape(shape)

    nothing, answered = np.zeros(labeled.shape), labeled > 0
    share = np.divide(positive, labeled, out=nothing.copy(), where=answered)
    squares = summed(np.divide(size**2, labeled, out=nothing.copy(), where=answered))
    seen, sizes = summed(np.where(answered, size, 0.0)), summed(nothing + size)
    is_answered = seen > 0
    weight = np.where(is_answered, sizes, 0.0)
    total = weight.sum(axis=-1, keepdims=True)
    return _Groups(
        weight=np.divide(weight, total, out=np.zeros(shape), where=total > 0),
        rate=np.divide(summed(size * share), seen, out=np.zeros(shape), where=is_answered),
        worth=np.divide(seen**2, squares, out=np.zeros(shape), where=is_answered),
        answers=summed(labeled),
        items=float(size.sum()),
        group=group,
        shares=shares,
        held=held,
        closed=closed,
    )


def _plain_labels(groups: _Groups, prior: float) -> tuple[Floats, Floats, Floats]:
    """Plain labels m that the groups are worth, the weighted rate, and D; shape ``(...)`` each."""
    weight, rate = groups.weight, groups.rate
    doubted = _doubted(rate, groups.worth, prior)
    spread, variance = doubted * (1 - doubted), _variance(groups, doubted)
    mean = (weight * doubted).sum(axis=-1)
    spread_of_mean = mean * (1 - mean)
    plain = spread_of_mean * _unbiased(groups.answers.sum(axis=-1))
    labels = np.divide(plain, variance, out=np.zeros(mean.shape), where=variance > 0)
    strata = (weight * spread).sum(axis=-1)
    within = np.divide(strata, spread_of_mean, out=np.ones(mean.shape), where=spread_of_mean > 0)
    return labels, np.minimum((weight * rate).sum(axis=-1), 1.0), np.minimum(within, 1.0)


def _variance(groups: _Groups, doubted: Floats) -> Floats:
    """V of the class's rate: from its answers, and from the shares where these are a draw."""
    spread = groups.weight**2 * (doubted * (1 - doubted))
    each = spread * _unbiased(groups.answers) / np.maximum(groups.worth, 1e-9)
    variance = np.asarray(each.sum(axis=-1))
    if groups.shares is None or groups.closed is None:
        return variance
    rates = groups.closed.copy()
    rates[..., groups.held] = np.take_along_axis(doubted, groups.group, axis=-1)
    return variance + groups.shares.variance(rates) / max(groups.items, 1.0) ** 2


def _prior(cell: ArrayLike | None) -> float:
    """Answers of each kind that the prior of a class is worth."""
    return PRIOR if cell is None else PRIOR_OF_VERDICTS


def _doubted(rate: Floats, worth: Floats, prior: float) -> Floats:
    """Rates of the groups with the class's prior."""
    per_group = prior / np.maximum(worth.sum(axis=-1, keepdims=True), 1.0)
    return np.asarray((rate + per_group) / (1 + 2 * per_group))


def _unbiased(answers: Floats) -> Floats:
    """Factor n/(n-1) of a variance; 1 where a single answer shows none."""
    return np.asarray(np.where(answers > 1, answers / np.maximum(answers - 1, 1e-9), 1.0))
