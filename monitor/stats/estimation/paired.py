r"""Two classifiers, or two thresholds, judged on one labeled sample, item by item.

The sample was drawn for one classifier: by its predicted class and score bands. What the other
says of the same items is known too, so each stratum divides into four cells, "flagged by the first"
times "by the second", with labeled positives and negatives in each (``cells``). Both classifiers'
matrices come from the same draws: what they share cancels, and the difference is known far better
than from two samples. It stays right whatever the strata were made for; they only decide how narrow
it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.cells import DRAWS, cell_draws, two_minds
from monitor.stats.core.counts import Interval
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.estimation.posterior import UNDEFINED_LIMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from monitor.stats.core.draws import Estimand
    from monitor.stats.core.reasons import Undefined
    from monitor.stats.core.sample import LabeledSample, ScoredSample

    Values = NDArray[np.float64]

_FIRST_FLAGS = np.array([False, False, True, True])
_SECOND_FLAGS = np.array([False, True, False, True])
_HALVINGS = 60  # of a bracket of 400: no float is left between its ends


@dataclass(frozen=True, slots=True)
class PairedMetric:
    """One metric of both classifiers, and its difference.

    Parameters
    ----------
    metric
        Which one.
    first, second, difference
        Posterior mean and interval; ``difference`` is second minus first. ``None`` with a
        ``reason`` where too many draws have no value.
    higher
        Posterior probability that the second has the higher value.
    reason
        What is 0 where the metric has no value.
    """

    metric: str
    first: Interval | None
    second: Interval | None
    difference: Interval | None
    higher: float | None
    reason: Undefined | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two classifiers on one sample.

    Parameters
    ----------
    metrics
        In the order asked for.
    first_flagged, second_flagged
        Items of the window that each flags.
    only_first, only_second
        Items that one flags and the other passes.
    prevalence
        At which all of this holds.
    level
        Posterior probability of each interval, by itself.
    estimand
        ``rate`` or ``window``.
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
    first_possible: NDArray[np.bool_] | None = None,
    second_possible: NDArray[np.bool_] | None = None,
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
    sample
        The labeled items, n of them.
    first, second
        Whether each classifier flags each item, shape ``(n,)``.
    first_possible, second_possible
        Whether a stratum may hold items that the classifier passes, and that it flags, shape
        ``(H, 2)``; as in ``ScoredSample.possible_at``. If not given, the first flags just the
        flagged strata, as the one whom the sample was drawn for does, and the second may do
        either anywhere.
    second_flagged
        Items of the window that the second flags, where they were counted; estimated if not
        given.
    metrics
        Names as ``metrics.metric`` knows them.
    level
        Posterior probability of each interval, in (0, 1).
    estimand
        ``rate``: of the classifiers. ``window``: of the window's own items.
    rng
        Source of randomness; the same state gives the same numbers.
    draws
        How many.

    Raises
    ------
    ValueError
        If a decision contradicts what is possible, the level is out of range, or a counted
        number of flagged items cannot be true.

    Notes
    -----
    A cell has the prior of a stratum (``beta_mixture.round_priors``), by the number of cells in its
    predicted class of whichever of the two classifiers has fewer in it: what one of them flags
    from a single band is not less well known for being part of a larger class of the other.

    A counted number of flagged items calibrates each draw: shares of "flagged by the second"
    move on the logit scale, those of stratum h by a common factor times N_h/n_h, until the
    total fits. This is the conditional draw to first order.

    Examples
    --------
    >>> from monitor.stats.core.sample import LabeledSample
    >>> stratum = np.repeat([0, 1], [100, 400])
    >>> positive = np.arange(500) % 10 < np.where(stratum == 0, 8, 1)
    >>> sample = LabeledSample(stratum, positive, size=[1_000, 9_000], flagged=1)
    >>> second = positive & (np.arange(500) % 50 > 0)
    >>> found = compare(
    ...     sample, sample.is_flagged, second, rng=np.random.default_rng(1), level=0.9
    ... )
    >>> print(found.metrics[0].difference)
    0.198 [0.135, 0.267]
    """
    if not 0 < level < 1:
        message = f"level must lie strictly between 0 and 1, got {level!r}"
        raise ValueError(message)
    decisions = [np.asarray(each, dtype=np.bool_) for each in (first, second)]
    if any(decision.shape != sample.stratum.shape for decision in decisions):
        message = f"both classifiers must decide on each of the {len(sample.stratum)} items"
        raise ValueError(message)
    cell = 2 * decisions[0].astype(np.int64) + decisions[1]
    possible = _possible(sample, first_possible, second_possible)
    items = _drawn(sample, cell, possible, rng=rng, draws=draws, estimand=estimand)
    if second_flagged is not None:
        items = _calibrated(items, sample, second_flagged)
    cells = items.sum(axis=1)
    both = _matrix(cells, _FIRST_FLAGS), _matrix(cells, _SECOND_FLAGS)
    return Comparison(
        metrics=tuple(_paired(name, *both, level) for name in metrics),
        first_flagged=_interval(both[0].flagged, level),
        second_flagged=_interval(both[1].flagged, level),
        only_first=_interval(cells[:, :, 2].sum(axis=1), level),
        only_second=_interval(cells[:, :, 1].sum(axis=1), level),
        prevalence=_interval(both[0].positive / both[0].total, level),
        level=level,
        estimand=estimand,
    )


def compare_threshold(
    sample: ScoredSample,
    threshold: float,
    *,
    metrics: Sequence[str] = ("precision", "recall", "f1"),
    level: float = 0.95,
    estimand: Estimand = "rate",
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> Comparison:
    """Compare the classifier as it is (first) with itself at another threshold (second).

    Parameters
    ----------
    sample
        The labeled items with their scores.
    threshold
        Items are flagged at or over it.
    metrics, level, estimand, rng, draws
        As in ``compare``.

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
        metrics=metrics,
        level=level,
        estimand=estimand,
        rng=rng,
        draws=draws,
    )


def _possible(
    sample: LabeledSample,
    first: NDArray[np.bool_] | None,
    second: NDArray[np.bool_] | None,
) -> NDArray[np.bool_]:
    """Which of the four cells a stratum may hold, shape ``(H, 4)``."""
    strata = len(sample.size)
    if first is None:
        is_flagged = np.arange(strata) < sample.flagged
        first = np.column_stack([~is_flagged, is_flagged])
    if second is None:
        second = np.ones((strata, 2), dtype=np.bool_)
    return (first[:, :, np.newaxis] & second[:, np.newaxis, :]).reshape(strata, 4)


def _drawn(
    sample: LabeledSample,
    cell: NDArray[np.int64],
    possible: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
    draws: int,
    estimand: Estimand,
) -> Values:
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


def _prior(sample: LabeledSample, possible: NDArray[np.bool_]) -> Values:
    """Prior of each cell by how many cells its class has, whichever has fewer: ``(2, H, 4)``."""
    cells = possible[sample.size > 0].sum(axis=0)
    least = np.full(4, cells.sum())
    for flags in (_FIRST_FLAGS, _SECOND_FLAGS):
        least = np.minimum(least, np.where(flags, cells[flags].sum(), cells[~flags].sum()))
    of_kind = np.array([two_minds(int(n)) for n in least]).T
    return np.repeat(of_kind[:, np.newaxis], len(possible), axis=1)


def _matrix(cells: Values, flags: NDArray[np.bool_]) -> Matrix:
    """Matrix of one of the classifiers from the cells, ``(draws, 2, 4)``."""
    return Matrix(
        tp=cells[:, 1, flags].sum(axis=1),
        fp=cells[:, 0, flags].sum(axis=1),
        fn=cells[:, 1, ~flags].sum(axis=1),
        tn=cells[:, 0, ~flags].sum(axis=1),
    )


def _paired(name: str, first: Matrix, second: Matrix, level: float) -> PairedMetric:
    wanted = metric(name)
    one, two = wanted(first), wanted(second)
    known = ~np.isnan(one - two)
    if 1 - known.mean() > UNDEFINED_LIMIT:
        return PairedMetric(wanted.name, None, None, None, None, wanted.undefined)
    one, two = one[known], two[known]
    return PairedMetric(
        metric=wanted.name,
        first=_interval(one, level),
        second=_interval(two, level),
        difference=_interval(two - one, level),
        higher=float(np.mean(two > one) + np.mean(two == one) / 2),
    )


def _interval(values: Values, level: float) -> Interval:
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], method="inverted_cdf")
    return Interval(float(values.mean()), float(low), float(high))


def _calibrated(items: Values, sample: LabeledSample, total: int) -> Values:
    """Move each draw to the counted number of items that the second classifier flags."""
    flagged = items[..., _SECOND_FLAGS].sum(axis=(2, 3))
    passed = items[..., ~_SECOND_FLAGS].sum(axis=(2, 3))
    least = np.where(passed == 0, flagged, 0).sum(axis=1).max()
    most = np.where(flagged > 0, flagged + passed, 0).sum(axis=1).min()
    if not least <= total <= most:
        message = (
            f"the second classifier is said to flag {total} items; with these labels it flags "
            f"{least:.0f} to {most:.0f}"
        )
        raise ValueError(message)
    # The fewer of its items are labeled, the less sure a stratum is, and the further it moves.
    pull = sample.size / np.maximum(sample.labeled, 1)
    moved = _tilted(flagged, passed, pull / pull.max(), total)
    scale = np.ones_like(items)
    for now, then, side in (
        (flagged, moved, _SECOND_FLAGS),
        (passed, flagged + passed - moved, ~_SECOND_FLAGS),
    ):
        ratio = np.divide(then, now, out=np.ones_like(now), where=now > 0)
        scale[..., side] = ratio[:, :, np.newaxis, np.newaxis]
    return items * scale


def _tilted(flagged: Values, passed: Values, pull: Values, total: int) -> Values:
    """Tilt the flagged items per stratum until their sum is ``total``, by bisection."""
    size = flagged + passed
    # exp(200) moves any share to 0 or 1 as far as a float can, and does not overflow.
    low, high = np.full(len(flagged), -200.0), np.full(len(flagged), 200.0)

    def at(tilt: Values) -> Values:
        factor = np.exp(np.clip(tilt[:, np.newaxis] * pull, -200, 200))
        top = flagged * factor
        return np.divide(size * top, top + passed, out=np.zeros_like(size), where=size > 0)

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = at(middle).sum(axis=1) < total
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return at((low + high) / 2)
