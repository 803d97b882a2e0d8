r"""ROC, precision-recall and precision-recall-gain curves with credible bands and areas.

The labeled scores cut each stratum into cells, whose positives and negatives are drawn jointly
(``cells.cell_draws``). Each draw is a whole ROC curve of the window; the other curves, at any
prevalence, and the areas are read from it. A band holds, at each place of the horizontal axis by
itself, the middle ``level`` of the draws. Between two thresholds false positives grow in line
with true ones, as if one mixed the two: in ROC and gain space that is a straight line, in
precision-recall space a curve (Davis & Goadrich, ICML 2006). Precision is read at any prevalence
(Brabec et al., ICCS 2020, Eq. 8), never by sampling negatives down.

.. math:: \mathrm{precision\ gain} = 1 - \frac{\eta}{1-\eta}\frac{FP}{TP}, \qquad
    \mathrm{recall\ gain} = 1 - \frac{\eta}{1-\eta}\frac{FN}{TP}

are linear in 1/TP there, so the area of the gain curve can be summed by trapezoids, unlike the
area of a precision-recall curve (Flach & Kull, "Precision-Recall-Gain Curves: PR Analysis Done
Right", NIPS 2015, Eq. 4, 5 and section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.core.cells import cell_draws, round_prior
from monitor.stats.core.counts import Interval
from monitor.stats.estimation.prevalence import precision_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.sample import ScoredSample


CURVE_DRAWS = 1000
"""Enough for a band that is looked at; its edges err by about .08 standard deviations."""

CURVE_CELLS = 250
"""Most thresholds of a drawn curve; with more labeled scores, evenly spaced ones."""

TOP_PRIOR = 0.25
"""Least prior count of the highest scores. High thresholds flag little else, and a stratum's prior
shared out over all of its cells would call their precision perfect too often."""

_RECALL_END = 0.98
"""Recall at which the gain curve ends; beyond, it falls to 0 within a hair's breadth."""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """A curve and its band over a grid of the horizontal axis, shape ``(G,)`` each.

    ``point`` is the curve of the labeled items, each for N_h/n_h of the window, so that at the
    classifier's own threshold it has the values of its estimates. Where it leaves the band, as it
    does where one label decides, it is moved to the band's edge.
    """

    x: Floats
    point: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class CurveBands:
    """The three curves of a classifier, their areas, and the prevalence they hold for.

    ``roc`` is TPR over FPR, which rises logarithmically; the same at every prevalence. ``gain`` is
    precision gain over recall gain, which comes closer to 1 in logarithmic steps: where positives
    are rare, all that matters is there. Areas are of the weighted items' curves; one outside
    of its interval is moved to its end. ``prevalence`` is the window's, or the one asked for,
    without width; ``level`` the probability of a band at each place, and of each interval.
    """

    roc: Band
    precision_recall: Band
    gain: Band
    roc_area: Interval
    average_precision: Interval
    gain_area: Interval
    prevalence: Interval
    level: float


def curve_bands(
    sample: ScoredSample,
    *,
    prevalence: float | None = None,
    points: int = 41,
    level: float = 0.95,
    rng: np.random.Generator,
    draws: int = CURVE_DRAWS,
) -> CurveBands:
    r"""Curves of a stratified sample with their credible bands, at ``points`` places, 2 or more.

    They hold for a population of the ``prevalence``, in (0, 1); the window's own, with its
    uncertainty, if not given. The negatives are never sampled down to reach it. Average precision
    is :math:`\sum_i (\mathrm{TPR}_i - \mathrm{TPR}_{i-1})\,\mathrm{precision}_i`, without
    interpolation (Davis & Goadrich, ICML 2006), over at most ``CURVE_CELLS`` thresholds.

    Raises
    ------
    ValueError
        If the sample holds no actual positive or no actual negative, or a number is out of range.

    Examples
    --------
    >>> from monitor.stats.core.sample import LabeledSample, ScoredSample
    >>> score = np.arange(1000) / 1000
    >>> items = LabeledSample(
    ...     np.where(score >= 0.8, 0, 1), np.arange(1000) ** 2 % 997 < 900 * score**2,
    ...     size=[2_000, 48_000], flagged=1,
    ... )
    >>> bands = curve_bands(ScoredSample(items, score), points=3, rng=np.random.default_rng(1))
    >>> print(bands.roc_area)
    0.836 [0.803, 0.861]
    """
    if not 0 < level < 1 or not (prevalence is None or 0 < prevalence < 1):
        message = f"level and prevalence lie in (0, 1), got {level!r} and {prevalence!r}"
        raise ValueError(message)
    weighted = _weighted(sample)  # refuses what has no curve
    drawn = _draw(sample, rng, draws)
    eta = drawn.prevalence if prevalence is None else np.full(draws, prevalence)
    own_prevalence = weighted.prevalence if prevalence is None else np.array([prevalence])
    lowest = weighted.fpr[weighted.fpr > 0].min() / 2
    fprs = np.geomspace(lowest, 1.0, points)
    recalls = np.linspace(0.05, 1.0, points)
    odds = float(np.mean(eta / (1 - eta)))
    gains = 1 - np.geomspace(1.0, odds * (1 / _RECALL_END - 1), points)
    # The posterior's curves, and the labels' own.
    both = (
        drawn.read(eta, fprs, recalls, gains),
        weighted.read(own_prevalence, fprs, recalls, gains),
    )
    return CurveBands(
        roc=_band(fprs, [read.tpr for read in both], level),
        precision_recall=_band(recalls, [read.precision for read in both], level),
        gain=_band(gains, [read.precision_gain for read in both], level),
        roc_area=_interval([read.roc_area for read in both], level),
        average_precision=_interval([read.average_precision for read in both], level),
        gain_area=_interval([read.gain_area for read in both], level),
        prevalence=_interval([eta, own_prevalence], level),
        level=level,
    )


class _ReadPoint(NamedTuple):
    """What is read off drawn curves: three over their grids, ``(draws, G)``, and their areas."""

    tpr: Floats
    precision: Floats
    precision_gain: Floats
    roc_area: Floats
    average_precision: Floats
    gain_area: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnCurves:
    """ROC curves, from "nothing flagged" to "all flagged", shape ``(draws, m)``."""

    tpr: Floats
    fpr: Floats
    prevalence: Floats

    def read(self, eta: Floats, fprs: Floats, recalls: Floats, recall_gains: Floats) -> _ReadPoint:
        """Read the curves at a prevalence each draw, shape ``(draws,)``."""
        eta_column = eta[:, np.newaxis]
        of_gains = eta_column / (1 - (1 - eta_column) * recall_gains)  # recalls of these gains
        at_recalls, at_gains, at_start = self._fpr_at(recalls, of_gains, eta_column)
        # Precision gain where recall gain is 0, so where recall is the prevalence.
        start = 1 - at_start / eta_column
        return _ReadPoint(
            tpr=_interpolated(np.broadcast_to(fprs, (len(eta), len(fprs))), self.fpr, self.tpr),
            precision=precision_at(recalls, at_recalls, eta_column),
            precision_gain=1 - at_gains / of_gains,
            roc_area=_areas(self.tpr, self.fpr),
            average_precision=self._average_precision(eta_column),
            gain_area=self._gain_area(eta_column, start),
        )

    def _fpr_at(self, *tprs: Floats) -> list[Floats]:
        """Smallest FPR at several sets of TPRs, ``(G,)`` or of each draw ``(draws, G)``."""
        targets = np.hstack(
            [np.broadcast_to(each, (len(self.tpr), each.shape[-1])) for each in tprs]
        )
        result = _interpolated(-targets, -self.tpr[:, ::-1], self.fpr[:, ::-1])
        return np.split(result, np.cumsum([each.shape[-1] for each in tprs])[:-1], axis=1)

    def _gain_area(self, eta: Floats, start: Floats) -> Floats:
        """Area under precision gain from recall gain 0 on, shape ``(draws,)``."""
        below_prevalence = self.tpr < eta  # these points move to the crossing at gain 0
        safe = np.where(below_prevalence, 1.0, self.tpr)
        recall_gain = np.where(below_prevalence, 0.0, (1 - eta / safe) / (1 - eta))
        return _areas(np.where(below_prevalence, start, 1 - self.fpr / safe), recall_gain)

    def _average_precision(self, eta: Floats) -> Floats:
        """Sum of precision over the steps of recall, shape ``(draws,)``."""
        precision = precision_at(self.tpr, self.fpr, eta)[:, 1:]
        gained = np.diff(self.tpr, axis=1)
        return np.asarray(np.sum(np.where(gained > 0, gained * precision, 0.0), axis=1))


def _weighted(sample: ScoredSample) -> _DrawnCurves:
    """ROC curve of the labeled items, each for N_h/n_h of the window."""
    weight, positive = sample.items.weight, sample.items.positive
    _, index = np.unique(-sample.score, return_inverse=True)
    rates, total = [], []
    for members, name in ((positive, "positive"), (~positive, "negative")):
        items = np.cumsum(np.bincount(index, np.where(members, weight, 0.0)))
        if items[-1] == 0:
            message = f"no labeled item is actually {name}, so there is no curve"
            raise ValueError(message)
        rates.append(np.concatenate([[0.0], np.minimum(items / items[-1], 1.0)])[np.newaxis])
        total.append(items[-1])
    tpr, fpr = rates
    return _DrawnCurves(tpr, fpr, np.array([total[0] / sum(total)]))


def _interpolated(values: Floats, x: Floats, y: Floats) -> Floats:
    """Read the lines of each draw at its own places; ``x`` rises."""
    return np.array([np.interp(*each) for each in zip(values, x, y, strict=True)])


def _draw(sample: ScoredSample, rng: np.random.Generator, draws: int) -> _DrawnCurves:
    """Draw ROC curves over cells between evenly spaced labeled scores."""
    scores = np.unique(sample.score)
    ranks = np.unique(np.linspace(0, len(scores) - 1, CURVE_CELLS).astype(np.int64))
    edges = scores[ranks][1:]  # items under the first edge are the last cell
    cell = len(edges) - np.searchsorted(edges, sample.score, side="right")  # 0: highest scores
    possible = _possible(sample, cell, len(edges) + 1)
    prior = round_prior(sample.items, possible)
    prior[:, possible[:, 0], 0] = np.maximum(prior[:, possible[:, 0], 0], TOP_PRIOR)
    rates = np.zeros((draws, 2, len(edges) + 2))  # the first column: nothing is flagged
    items = rates[:, :, 1:]
    for _, cells, drawn in cell_draws(
        sample.items, cell, possible, prior=prior, rng=rng, draws=draws
    ):
        items[:, :, cells[0] : cells[-1] + 1] += drawn  # all from the first to the last
    total = items.sum(axis=2)
    np.cumsum(items, axis=2, out=items)
    items /= total[:, :, np.newaxis]
    np.minimum(items, 1.0, out=items)
    return _DrawnCurves(rates[:, 1], rates[:, 0], total[:, 1] / total.sum(axis=1))


def _possible(sample: ScoredSample, cell: Ints, cells: int) -> Bools:
    """Cells from a stratum's highest to its lowest labeled score, shape ``(H, cells)``."""
    possible = np.zeros((len(sample.items.size), cells), dtype=np.bool_)
    for h in np.flatnonzero(sample.items.labeled):
        cells_of_stratum = cell[sample.items.stratum == h]
        possible[h, cells_of_stratum.min() : cells_of_stratum.max() + 1] = True
    return possible


def _areas(y: Floats, x: Floats) -> Floats:
    return np.asarray(np.sum(np.diff(x, axis=1) * (y[:, 1:] + y[:, :-1]) / 2, axis=1))


def _band(x: Floats, both: Sequence[Floats], level: float) -> Band:
    return Band(x, *_around_weighted(both, level))


def _interval(both: Sequence[Floats], level: float) -> Interval:
    return Interval(*(float(each) for each in _around_weighted(both, level)))


def _around_weighted(both: Sequence[Floats], level: float) -> tuple[Floats, Floats, Floats]:
    """Return what the weighted items have, and the ends of the middle of what was drawn."""
    drawn, weighted = both
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return np.clip(weighted[0], low, high), low, high
