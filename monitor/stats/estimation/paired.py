r"""Two classifiers, or two thresholds, judged on one labeled sample, item by item.

The sample was drawn for one classifier: by its predicted class and score bands. What the other
says of the same items is known too, so each stratum divides into four cells, "flagged by the first"
times "by the second", with labeled positives and negatives in each (``cells``). Both classifiers'
matrices come from the same draws: what they share cancels, and the difference is known far better
than from two samples. It stays right for any strata; they only decide how narrow
it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.cells import DRAWS, cell_draws, two_minds
from monitor.stats.core.draws import credible_interval
from monitor.stats.core.levels import check_probability
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.estimation.posterior import UNDEFINED_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.counts import Interval
    from monitor.stats.core.draws import Estimand
    from monitor.stats.core.reasons import Undefined
    from monitor.stats.core.sample import LabeledSample, ScoredSample

    _Matrices = tuple[Matrix, Matrix]

UNKNOWN = 0.5
"""Prior count of positives, and of negatives, in a stratum without a label: Jeffreys'."""

LEAST_POSSIBLE = 1 / 16
"""Share of draws under which a counted number of flagged items contradicts the labels."""

_HALVINGS = 60  # of a bracket of 400: no float is left between its ends
_FIRST_FLAGS = np.array([False, False, True, True])
_SECOND_FLAGS = np.array([False, True, False, True])


@dataclass(frozen=True, slots=True)
class PairedMetric:
    """One metric of both classifiers, and its difference, second minus first.

    ``None`` with a ``reason`` where too many draws have no value. ``higher`` is the posterior
    probability that the second has the higher value.
    """

    metric: str
    first: Interval | None
    second: Interval | None
    difference: Interval | None
    higher: float | None
    reason: Undefined | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two classifiers on one sample, the metrics in the order asked for.

    ``first_flagged`` and ``second_flagged`` are the items of the window that each flags,
    ``only_first`` and ``only_second`` those that one flags and the other passes; all of it holds at
    ``prevalence``.
    """

    metrics: tuple[PairedMetric, ...]
    first_flagged: Interval
    second_flagged: Interval
    only_first: Interval
    only_second: Interval
    prevalence: Interval
    level: float
    estimand: Estimand


def compare(
    sample: LabeledSample,
    first: ArrayLike,
    second: ArrayLike,
    *,
    second_possible: Bools | None = None,
    second_flagged: int | None = None,
    metrics: Sequence[str] = ("precision", "recall", "f1"),
    level: float = 0.95,
    estimand: Estimand = "rate",
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Comparison:
    """Compare what two classifiers make of the window, from one labeled sample.

    Parameters
    ----------
    first, second
        Whether each classifier flags each item of the ``sample``, shape ``(n,)``.
    second_possible
        Whether a stratum may hold items that the second passes, and that it flags, shape
        ``(H, 2)``; as in ``ScoredSample.possible_at``. If not given, it may do either anywhere. The
        first flags just the flagged strata: the sample was drawn for it.
    second_flagged
        Items of the window that the second flags, where they were counted; estimated if not
        given.

    Raises
    ------
    ValueError
        If a decision contradicts what is possible, or a counted number of flagged items cannot be
        true.

    Notes
    -----
    A counted number of flagged items calibrates each draw: shares of
    "flagged by the second" move on the logit scale, in stratum h by a common factor times
    :math:`N_h/n_h`, until the total fits, the conditional draw to first order. Draws that it rules
    out, such as those without any item of a cell that must hold some, are left out.

    Points come from the labeled items, each for N_h/n_h of the window, so the first
    classifier's equal ``posterior.estimates``; with a counted number of flagged items they
    are calibrated like a draw. Where that cannot be, or one of a metric's two values does not
    exist, they are posterior means. A point outside of its interval is moved to its end.

    Examples
    --------
    >>> from monitor.stats.core.sample import LabeledSample
    >>> stratum = np.repeat([0, 1], [100, 400])
    >>> positive = np.arange(500) % 10 < np.where(stratum == 0, 8, 1)
    >>> sample = LabeledSample(stratum, positive, size=[1_000, 9_000], flagged=1)
    >>> second = positive & (np.arange(500) % 50 > 0)
    >>> found = compare(sample, sample.is_flagged, second, rng=np.random.default_rng(1), level=0.9)
    >>> print(found.metrics[0].difference)
    0.200 [0.135, 0.267]
    """
    check_probability(level, "level")
    decisions = [np.asarray(each, dtype=np.bool_) for each in (first, second)]
    if any(decision.shape != sample.stratum.shape for decision in decisions):
        message = f"both classifiers must decide on each of the {len(sample.stratum)} items"
        raise ValueError(message)
    cell = 2 * decisions[0].astype(np.int64) + decisions[1]
    possible = _possible(sample, second_possible)
    items = _drawn(sample, cell, possible, rng=rng, draws=draws, estimand=estimand)
    if second_flagged is not None:
        items = _possible_draws(items, second_flagged)
        items = _calibrated(items, sample, second_flagged)
    drawn = items.sum(axis=1)
    scaled = _scaled(sample, cell, possible, second_flagged)
    both = _matrices(drawn)
    matrices = None if scaled is None else _matrices(scaled)
    return Comparison(
        metrics=tuple(_paired(name, both, matrices, level) for name in metrics),
        **{
            name: credible_interval(
                of_cells(drawn), level, point=None if scaled is None else float(of_cells(scaled)[0])
            )
            for name, of_cells in _COUNTED.items()
        },
        level=level,
        estimand=estimand,
    )


def compare_threshold(
    sample: ScoredSample, threshold: float, *, estimand: Estimand = "rate", rng: np.random.Generator
) -> Comparison:
    """Compare the classifier as it is (first) with itself at another threshold (second).

    Items are flagged at or over it; otherwise as ``compare``.

    Examples
    --------
    >>> from monitor.stats.core.sample import LabeledSample, ScoredSample
    >>> score = np.arange(1000) / 1000
    >>> items = LabeledSample(
    ...     np.where(score >= 0.8, 0, 1), np.arange(1000) ** 2 % 997 < 900 * score**2,
    ...     size=[2_000, 48_000], flagged=1,
    ... )
    >>> sample = ScoredSample(items, score, low=[0.8, -np.inf], high=[np.inf, 0.8])
    >>> found = compare_threshold(sample, 0.9, rng=np.random.default_rng(1))
    >>> print(found.metrics[1].difference)
    -0.060 [-0.075, -0.047]
    """
    return compare(
        sample.items,
        sample.items.is_flagged,
        sample.score >= threshold,
        second_possible=sample.possible_at(threshold),
        estimand=estimand,
        rng=rng,
    )


def _possible(sample: LabeledSample, second: Bools | None) -> Bools:
    """Which of the four cells a stratum may hold, shape ``(H, 4)``."""
    strata = len(sample.size)
    is_flagged = np.arange(strata) < sample.flagged
    first = np.column_stack([~is_flagged, is_flagged])
    if second is None:
        second = np.ones((strata, 2), dtype=np.bool_)
    return (first[:, :, np.newaxis] & second[:, np.newaxis, :]).reshape(strata, 4)


def _drawn(
    sample: LabeledSample,
    cell: Ints,
    possible: Bools,
    *,
    rng: np.random.Generator,
    draws: int,
    estimand: Estimand,
) -> Floats:
    """Items in each stratum, actual class and cell, shape ``(draws, H, 2, 4)``."""
    items = np.zeros((draws, len(sample.size), 2, 4))
    parts = cell_draws(
        sample,
        cell,
        possible,
        prior=_prior(sample, possible),
        rng=rng,
        draws=draws,
        estimand=estimand,
    )
    for h, cells, drawn in parts:
        items[:, h, :, cells] = np.moveaxis(drawn, 2, 0)
    return items


def _prior(sample: LabeledSample, possible: Bools) -> Floats:
    """Prior of each cell by how many cells its class has, the smaller of both: ``(2, H, 4)``.

    What one classifier flags from a single band is not less well known for being part of a larger
    class of the other.
    """
    cells = possible[sample.size > 0].sum(axis=0)
    least = np.full(4, cells.sum())
    for flags in (_FIRST_FLAGS, _SECOND_FLAGS):
        least = np.minimum(least, np.where(flags, cells[flags].sum(), cells[~flags].sum()))
    of_kind = np.array([two_minds(int(n)) for n in least]).T
    prior = np.repeat(of_kind[:, np.newaxis], len(possible), axis=1)
    prior[:, sample.labeled == 0] = UNKNOWN
    return prior


def _matrix(cells: Floats, flags: Bools) -> Matrix:
    """Matrix of one of the classifiers from the cells, ``(draws, 2, 4)``."""
    return Matrix(
        tp=cells[:, 1, flags].sum(axis=1),
        fp=cells[:, 0, flags].sum(axis=1),
        fn=cells[:, 1, ~flags].sum(axis=1),
        tn=cells[:, 0, ~flags].sum(axis=1),
    )


def _matrices(cells: Floats) -> _Matrices:
    return _matrix(cells, _FIRST_FLAGS), _matrix(cells, _SECOND_FLAGS)


def _prevalence(cells: Floats) -> Floats:
    matrix = _matrix(cells, _FIRST_FLAGS)
    return matrix.positive / matrix.total


_COUNTED: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "first_flagged": lambda cells: _matrix(cells, _FIRST_FLAGS).flagged,
        "second_flagged": lambda cells: _matrix(cells, _SECOND_FLAGS).flagged,
        "only_first": lambda cells: np.asarray(cells[:, :, 2].sum(axis=1)),
        "only_second": lambda cells: np.asarray(cells[:, :, 1].sum(axis=1)),
        "prevalence": _prevalence,
    }
)


def _paired(name: str, both: _Matrices, scaled: _Matrices | None, level: float) -> PairedMetric:
    chosen = metric(name)
    first, second = (chosen(matrix) for matrix in both)
    defined = ~np.isnan(first - second)
    if 1 - defined.mean() > UNDEFINED_LIMIT:
        return PairedMetric(chosen.name, None, None, None, None, chosen.undefined)
    first, second = first[defined], second[defined]
    first_point, second_point = (
        (np.nan, np.nan) if scaled is None else (float(chosen(m)[0]) for m in scaled)
    )
    if np.isnan(first_point - second_point):
        # Both or none, so that they make up the difference.
        first_point, second_point = first.mean(), second.mean()
    return PairedMetric(
        metric=chosen.name,
        first=credible_interval(first, level, point=first_point),
        second=credible_interval(second, level, point=second_point),
        difference=credible_interval(second - first, level, point=second_point - first_point),
        higher=float(np.mean(second > first) + np.mean(second == first) / 2),
    )


def _scaled(
    sample: LabeledSample, cell: Ints, possible: Bools, second_flagged: int | None
) -> Floats | None:
    """Items in each actual class and cell, ``(1, 2, 4)``: each labeled one for N_h/n_h of them.

    None if they cannot be moved to the counted number of items that the second flags.
    """
    items = np.zeros((1, len(sample.size), 2, 4))
    np.add.at(items[0], (sample.stratum, sample.positive.astype(np.int64), cell), sample.weight)
    items[0] += _unlabeled(sample, possible)
    if second_flagged is not None:
        least, most = _flagged_range(items)
        if not least[0] <= second_flagged <= most[0]:
            return None
        items = _calibrated(items, sample, second_flagged)
    return np.asarray(items.sum(axis=1))


def _unlabeled(sample: LabeledSample, possible: Bools) -> Floats:
    """Share the items of strata without a label out evenly, ``(H, 2, 4)``."""
    size = np.where(sample.labeled == 0, sample.size, 0)
    per_cell = size / np.maximum(2 * possible.sum(axis=1), 1)
    return np.repeat((per_cell[:, np.newaxis] * possible)[:, np.newaxis], 2, axis=1)


def _possible_draws(items: Floats, total: int) -> Floats:
    """Keep the draws that allow the count of flagged items."""
    least, most = _flagged_range(items)
    possible = (least <= total) & (total <= most)
    if possible.mean() < LEAST_POSSIBLE:
        message = (
            f"the second classifier is said to flag {total} items; with these labels it flags "
            f"{least.min():.0f} to {most.max():.0f}"
        )
        raise ValueError(message)
    return items[possible]


def _flagged_range(items: Floats) -> tuple[Floats, Floats]:
    """Fewest and most items that can be flagged in each draw: strata that do both may move."""
    flags = _SECOND_FLAGS
    flagged, passed = (items[..., side].sum(axis=(2, 3)) for side in (flags, ~flags))
    least = np.where(passed == 0, flagged, 0).sum(axis=1)
    most = np.where(flagged > 0, flagged + passed, 0).sum(axis=1)
    return least, most


def _calibrated(items: Floats, sample: LabeledSample, total: int) -> Floats:
    """Move each draw to the counted number of flagged items, one in its range."""
    flags = _SECOND_FLAGS
    flagged, passed = (items[..., side].sum(axis=(2, 3)) for side in (flags, ~flags))
    # The fewer of its items are labeled, the less sure a stratum is, and the further it moves.
    pull = sample.size / np.maximum(sample.labeled, 1)
    moved = _tilted(flagged, passed, pull / pull.max(), total)
    scale = np.ones_like(items)
    for now, then, side in ((flagged, moved, flags), (passed, flagged + passed - moved, ~flags)):
        ratio = np.divide(then, now, out=np.ones_like(now), where=now > 0)
        scale[..., side] = ratio[:, :, np.newaxis, np.newaxis]
    return items * scale


def _tilted(flagged: Floats, passed: Floats, pull: Floats, total: int) -> Floats:
    """Tilt the flagged items per stratum until their sum is ``total``, by bisection."""
    size = flagged + passed
    # exp(200) moves any share to 0 or 1 as far as a float can, and does not overflow.
    low, high = np.full(len(flagged), -200.0), np.full(len(flagged), 200.0)

    def at(tilt: Floats) -> Floats:
        factor = np.exp(np.clip(tilt[:, np.newaxis] * pull, -200, 200))
        top = flagged * factor
        return np.divide(size * top, top + passed, out=np.zeros_like(size), where=size > 0)

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = at(middle).sum(axis=1) < total
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return at((low + high) / 2)
