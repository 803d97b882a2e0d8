r"""Samples of several classes that share items: the totals that they make, drawn and jackknifed.

The strata of all classes lie below each other, H of them, and so do the n labels. One item may have
a label in the samples of several classes; ``item`` has the same index for labels of one item.

In each draw an item i has one weight :math:`g_i \sim \mathrm{Exp}(1)` in all samples that hold it,

.. math:: \pi_h = \frac{\sum_i v_i x_i g_i + G_1}{\sum_i v_i g_i + G_1 + G_0},
    \quad G_1, G_0 \sim \mathrm{Gamma}(a_h)

over the labeled items of stratum h, with :math:`x_i` whether the item is of the class,
:math:`v_i` what it is worth (1, but for score cells) and :math:`a_h` the prior count of
``draws.round_posterior``. This is the Bayesian bootstrap (Rubin, *Annals of Statistics* 9, 1981)
with that prior: the rates of a class by itself have just the posterior that its own round shows,
:math:`\mathrm{Beta}(a_h + y_h, a_h + n_h - y_h)`, and what shared items do to several of them is
in the draws as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from monitor.stats.core.cells import stratum_priors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.draws import Estimand
    from monitor.stats.core.sample import LabeledSample


_AT_ONCE = 512  # draws whose weights are in memory together: 20 MB for 5,000 items,
_WEIGHTS = 2**23  # fewer of many items: 64 MB at most
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class ClassSample:
    """The labeled items of the sample of one class.

    Of the n items of ``sample``, ``positive`` is whether an item is of this class; its flagged
    strata hold the items that were predicted as it. ``item`` is which each is, ``(n,)``: the same
    number in two samples is the same item. A ValueError if there is not one number for each labeled
    item, or a number comes twice.
    """

    name: str
    sample: LabeledSample
    item: Ints

    def __init__(self, name: str, sample: LabeledSample, item: ArrayLike) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "sample", sample)
        object.__setattr__(self, "item", np.asarray(item, dtype=np.int64))
        if self.item.shape != sample.stratum.shape:
            message = f"class {name}: {len(sample.stratum)} labels for {len(self.item)} items"
            raise ValueError(message)
        if len(np.unique(self.item)) < len(self.item):
            message = f"class {name}: an item is there twice; a sample holds each once"
            raise ValueError(message)


class Layout(NamedTuple):
    """Strata of all classes below each other, H of them, and the n labels that they hold."""

    of_class: Ints  # (H,)
    flagged: Bools  # (H,)
    size: Floats  # (H,)
    labeled: Floats  # (H,)
    priors: Floats  # light and heavy, (2, H)
    point: Floats  # share of the class among the labels, weighted, (H,)
    stratum: Ints  # (n,)
    item: Ints  # of the item among all different ones, (n,)
    worth: Floats  # (n,)
    positive: Bools  # (n,)
    items: int


class Totals(NamedTuple):
    """Items of C classes in the window, shape ``(C, D)`` each."""

    detected: Floats
    missed: Floats
    flagged: Floats


class Excluded(NamedTuple):
    """Class of each label, and how its totals change without that label, shape ``(n,)`` each."""

    of_class: Ints
    detected: Floats
    missed: Floats


def layout(classes: Sequence[ClassSample]) -> Layout:
    """Lay the samples of all classes below each other."""
    samples = [each.sample for each in classes]
    strata = [len(sample.size) for sample in samples]
    first = np.concatenate([[0], np.cumsum(strata)[:-1]])
    stratum = np.concatenate(
        [sample.stratum + start for sample, start in zip(samples, first, strict=True)]
    )
    size = np.concatenate([sample.size for sample in samples]).astype(np.float64)
    worth = np.concatenate([sample.worth for sample in samples])
    positive = np.concatenate([sample.positive for sample in samples])
    different, index = np.unique(
        np.concatenate([each.item for each in classes]), return_inverse=True
    )
    total = np.bincount(stratum, weights=worth, minlength=len(size))
    positive_total = np.bincount(stratum, weights=worth * positive, minlength=len(size))
    return Layout(
        of_class=np.repeat(np.arange(len(samples)), strata),
        flagged=np.concatenate([np.arange(len(s.size)) < s.flagged for s in samples]),
        size=size,
        labeled=np.bincount(stratum, minlength=len(size)).astype(np.float64),
        priors=np.concatenate([stratum_priors(sample) for sample in samples], axis=1),
        point=np.divide(positive_total, total, out=np.zeros(len(size)), where=total > 0),
        stratum=stratum,
        item=index.reshape(-1),
        worth=worth,
        positive=positive,
        items=len(different),
    )


def totals(strata: Layout, shares: Floats) -> Totals:
    """Scale shares of the class in each stratum, shape ``(H, D)``, up to the window."""
    count = int(strata.of_class.max()) + 1
    items = strata.size[:, np.newaxis] * shares
    per_class = sparse.csr_array(
        (np.ones(len(strata.size)), (strata.of_class, np.arange(len(strata.size))))
    )
    up = strata.flagged[:, np.newaxis]
    flagged = np.bincount(strata.of_class, weights=strata.size * strata.flagged, minlength=count)
    return Totals(
        detected=per_class @ np.where(up, items, 0),
        missed=per_class @ np.where(up, 0, items),
        flagged=np.broadcast_to(flagged[:, np.newaxis], (count, shares.shape[1])),
    )


def open_shares(strata: Layout, estimand: Estimand) -> Floats:
    """Share of each stratum that its labels leave open, ``(H,)``: of a rate all of it."""
    if estimand == "rate":
        return np.ones(len(strata.size))
    return np.maximum(1 - strata.labeled / np.maximum(strata.size, 1), 0)


def drawn_totals(
    strata: Layout, rng: np.random.Generator, draws: int, estimand: Estimand
) -> Totals:
    """Draw the totals of each class.

    In the window the labeled items of a stratum are as they are, and the draws of the others are
    closer together by the root of their share. Totals are linear in the shares, so these, several
    for each class, are never in memory for all draws.
    """
    open_share = open_shares(strata, estimand)[:, np.newaxis]
    width, labeled_share = np.sqrt(open_share), (1 - open_share) * strata.point[:, np.newaxis]
    parts, total = [], np.zeros_like(open_share)
    for shares in _shares(strata, rng, draws):
        total += shares.sum(axis=1, keepdims=True)
        parts.append(totals(strata, width * shares))
    fixed = totals(strata, labeled_share + (open_share - width) * total / draws)
    return Totals(
        detected=np.concatenate([part.detected for part in parts], axis=1) + fixed.detected,
        missed=np.concatenate([part.missed for part in parts], axis=1) + fixed.missed,
        flagged=np.broadcast_to(fixed.flagged, (len(fixed.flagged), draws)),
    )


def _shares(strata: Layout, rng: np.random.Generator, draws: int) -> Iterator[Floats]:
    """Draw the share of the class in each stratum, shape ``(H, some)``, ``draws`` of them."""
    shape = (len(strata.size), strata.items)
    where = strata.stratum, strata.item
    positives = sparse.csr_array((strata.worth * strata.positive, where), shape=shape)
    negatives = sparse.csr_array((strata.worth * ~strata.positive, where), shape=shape)
    at_once = min(_AT_ONCE, max(1, _WEIGHTS // max(strata.items, 1)))
    for start in range(0, draws, at_once):
        some = min(at_once, draws - start)
        weight = rng.standard_exponential((strata.items, some))
        prior = _drawn_priors(strata, rng, some)
        yes = positives @ weight + rng.standard_gamma(prior)
        no = negatives @ weight + rng.standard_gamma(prior)
        yield np.asarray(yes / np.maximum(yes + no, _TINY), dtype=np.float64)


def _drawn_priors(strata: Layout, rng: np.random.Generator, draws: int) -> Floats:
    """Choose light or heavy for each class and side of it by itself, shape ``(H, D)``."""
    side = 2 * strata.of_class + strata.flagged
    mind = rng.integers(0, 2, (int(side.max()) + 1, draws))[side]
    return np.asarray(
        np.where(mind == 0, strata.priors[0][:, np.newaxis], strata.priors[1][:, np.newaxis])
    )


def leave_one_out(strata: Layout) -> Excluded:
    """Leave each label out by itself, and scale the others of its stratum up.

    A stratum's only label stays, since nothing is known without it: it adds no variance.
    """
    stratum, count = strata.stratum, len(strata.size)
    total = np.bincount(stratum, weights=strata.worth, minlength=count)[stratum]
    without = np.where(strata.labeled[stratum] > 1, total - strata.worth, 0)
    positive = strata.point[stratum] * total - strata.worth * strata.positive
    share = np.divide(positive, without, out=strata.point[stratum], where=without > 0)
    change = strata.size[stratum] * (share - strata.point[stratum])
    flagged = strata.flagged[stratum]
    return Excluded(
        strata.of_class[stratum],
        detected=np.where(flagged, change, 0),
        missed=np.where(flagged, 0, change),
    )
