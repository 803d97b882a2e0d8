r"""Whether a metric rests on a handful of labels, for then no interval keeps its level exactly.

An interval from a binomial count holds the truth more or less often than it says, by as much as
the count is small: with three expected positives any 95 % interval swings between about 91 and
98 %. Bands blur this, so counts are not read off a table: each predicted class gets the size of
the plain random sample that would know its rate as well.

A class can be worth many labels and yet rest on few: where most of its items are in one stratum
with few labels, each of the rarer answers found there has the leverage of many found elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from monitor.stats.core.draws import round_posterior
from monitor.stats.core.metrics import FLAGGED, PASSED, Matrix, Metric, metric
from monitor.stats.design.cell_counts import cells_by_class, unseen_answers
from monitor.stats.estimation.cell_matrix import cell_posterior

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.beta_mixture import BetaMixture
    from monitor.stats.core.counts import Counts
    from monitor.stats.core.draws import Estimand
    from monitor.stats.design.cell_counts import Unseen


FEW_LABELS = 5.0
"""Fewer of the rarer answer than this decide a metric with few labels. Where three are expected,
four labeled rounds in five find fewer; where ten are, one in thirty."""

FEW_OF_VERDICT = 8.0
"""The same of passed items where a judge's verdict holds most of them and its labels show no
positive. A judge that shares the classifier's mistakes may hide most missed items there: without
this, recall is missed in a seventh of such rounds (benchmarks/results/tried.txt)."""

LEVERAGE = 0.7
"""Share of a metric's variance from which on the few rarer answers of one stratum decide it. Chosen
by simulation (benchmarks/results/tried.txt): with .5 four times as many ordinary rounds warn by
it, for about as many of those whose misses lie in the lowest band."""

UNSEEN = 0.5
"""Share of a metric's variance from which on answers that no score cell has shown decide it. In
ordinary rounds the prior of the cells makes up a tenth and less (benchmarks/coverage.py)."""

_PRIOR = 0.5  # the prior's share of the worth, which no label brought
_DECIDES = 0.1  # share of the metric's variance from which on a class decides it


Answer = Literal["positive", "negative"]


@dataclass(frozen=True, slots=True)
class DecidingClass:
    """A predicted class that decides a metric and whose labels are worth few of its rarer answer.

    ``worth`` is how many labels with that answer its labels are worth; those found, where it is one
    stratum that decides. ``moves`` is how far one such label more or less moves the metric, where
    the class's other labels are worth enough and one stratum's few decide by their leverage; else
    ``None``.
    """

    predicted: str
    answer: Answer
    worth: float
    moves: float | None = None


@dataclass(frozen=True, slots=True)
class FewLabels:
    """Few labels that decide a metric, of one class or of both."""

    classes: tuple[DecidingClass, ...]


def small_count_caution(
    counts: Counts, name: str, *, estimand: Estimand = "rate", cells: bool = False
) -> FewLabels | None:
    r"""Which few labels decide a metric, or ``None``.

    Of each predicted class the posterior mean m and variance V of its rate
    :math:`\sum_h N_h \pi_h / \sum_h N_h` give the Beta with these moments,

    .. math:: a = m\Big(\frac{m(1-m)}{V} - 1\Big), \quad b = (1-m)\Big(\frac{m(1-m)}{V} - 1\Big)

    and :math:`\min(a, b) - \tfrac12` is how many labels with the rarer answer the class's labels
    are worth; fewer than ``FEW_LABELS`` decide. A class decides the metric if it makes up a tenth
    or more of the metric's variance (delta method, with the finite-population term in a window).
    Fewer than ``FEW_OF_VERDICT`` decide where a judge's verdict holds most passed items and no
    label of those is positive.

    A class that is worth enough is looked at stratum by stratum. Turning one label of stratum h
    moves the metric by :math:`\delta_h = |\partial m/\partial N_h\pi_h|\, N_h/n_h`. Where one to
    four of the rarer answer were found in a stratum that makes up seven tenths of the variance
    :math:`\sum_h \delta_h^2 n_h \pi_h(1-\pi_h)`, these decide the metric.

    Score cells are many, and those that hold most items may all be without one of the rarer answer.
    Where half of the variance comes from the prior that stands for those (``cell_counts``), the
    answers not found decide: the class is named with none found. m and V come from
    ``cell_posterior``.

    Examples
    --------
    >>> from monitor.stats.core.counts import Counts
    >>> counts = Counts.of_matrix(
    ...     tp=90, fp=10, fn=2, tn=898, flagged_size=1000, passed_size=99_000
    ... )
    >>> [few] = small_count_caution(counts, "recall").classes
    >>> few.predicted, few.answer, round(few.worth, 1)
    ('passed', 'positive', 2.0)
    """
    return SmallCounts(counts, estimand, cells=cells).caution(metric(name))


@dataclass(frozen=True)
class SmallCounts:
    """The labels of a round as they decide metrics: what does not depend on which, found once."""

    counts: Counts
    estimand: Estimand
    cells: bool

    def caution(self, metric: Metric) -> FewLabels | None:
        """Find which few labels decide a metric, as ``small_count_caution`` says."""
        moved = self._moved(metric)
        parts = [each**2 / 4 for each in moved]  # of the metric's variance
        few = tuple(
            class_.deciding
            for class_, part in zip(self._classes, parts, strict=True)
            if part > 0 and part >= _DECIDES * sum(parts) and class_.worth < class_.few
        )
        if few:
            return FewLabels(few)
        slopes = [class_.slope(change) for class_, change in zip(self._classes, moved, strict=True)]
        heavy = self._undecided(parts, slopes) if self.cells else None
        heavy = heavy or self._heavy_stratum(slopes)
        return None if heavy is None else FewLabels((heavy,))

    @cached_property
    def _classes(self) -> list[_ClassCounts]:
        counts = self.counts
        posterior = cell_posterior(counts) if self.cells else round_posterior(counts)
        class_counts = []
        for name, mixture, members in (
            (FLAGGED, posterior.flagged, counts.is_flagged),
            (PASSED, posterior.passed, ~counts.is_flagged),
        ):
            size, labeled = counts.size[members], counts.labeled[members]
            few = FEW_OF_VERDICT if name == PASSED and _is_blank(counts, members) else FEW_LABELS
            if self.cells:  # one rate for the whole class
                size, labeled = (each.sum(keepdims=True) for each in (size, labeled))
            class_counts.append(_class_of(name, mixture, size, labeled, self.estimand, few))
        return class_counts

    @cached_property
    def _shifted(self) -> Matrix:
        """Matrices with the rate of either class a deviation below, and above, its mean."""
        flagged, passed = self._classes
        tp, fp = flagged.cells(np.array([-1.0, 1.0, 0.0, 0.0]))
        fn, tn = passed.cells(np.array([0.0, 0.0, -1.0, 1.0]))
        return Matrix(tp, fp, fn, tn)

    @cached_property
    def _unseen(self) -> list[Unseen]:
        counts, up = self.counts, self.counts.is_flagged
        size, labeled, positive = counts.size, counts.labeled, counts.positive
        return [
            unseen_answers(
                size[members],
                labeled[members],
                positive[members],
                of_class,
            )
            for members, of_class in zip((up, ~up), cells_by_class(counts.cell, up), strict=True)
        ]

    @cached_property
    def _spread(self) -> Floats:
        """Variance of the positive labels of each stratum."""
        counts, rates = self.counts, round_posterior(self.counts).mean()
        variance = counts.labeled * rates * (1 - rates)
        return np.asarray(variance * _open_share(counts.size, counts.labeled, self.estimand))

    def _moved(self, metric: Metric) -> list[float]:
        """Change of the metric with each class's rate, 0 where it has no value."""
        below_flagged, above_flagged, below_passed, above_passed = metric(self._shifted)
        changes = above_flagged - below_flagged, above_passed - below_passed
        return [0.0 if math.isnan(change) else float(change) for change in changes]

    def _undecided(self, parts: list[float], slopes: list[float]) -> DecidingClass | None:
        """Find the class whose score cells leave open whether they hold the rarer answer."""
        for class_, part, slope, unseen in zip(
            self._classes, parts, slopes, self._unseen, strict=True
        ):
            if part * unseen.share > 0 and part * unseen.share >= UNSEEN * sum(parts):
                moves = slope * class_.size * unseen.moves
                return replace(class_.deciding, worth=0.0, moves=moves)
        return None

    def _heavy_stratum(self, slopes: list[float]) -> DecidingClass | None:
        """Find the stratum whose few rarer answers make up most of the metric's variance."""
        counts = self.counts
        size, labeled, positive = counts.size, counts.labeled, counts.positive
        moves = np.where(counts.is_flagged, *slopes) * size / np.maximum(labeled, 1)
        variance = moves**2 * self._spread
        heaviest = int(np.argmax(variance))
        rarer = int(min(positive[heaviest], labeled[heaviest] - positive[heaviest]))
        decides = 0 < variance[heaviest] >= LEVERAGE * float(variance.sum())
        if not decides or not 1 <= rarer < FEW_LABELS:
            return None
        answer: Answer = "negative" if positive[heaviest] > rarer else "positive"
        predicted = FLAGGED if counts.is_flagged[heaviest] else PASSED
        return DecidingClass(predicted, answer, float(rarer), float(moves[heaviest]))


@dataclass(frozen=True, slots=True)
class _ClassCounts:
    """One predicted class: items, mean rate, its standard deviation, worth of its labels.

    A worth of less than ``few`` is a caution.
    """

    name: str
    size: int
    mean: float
    deviation: float
    worth: float
    few: float

    @property
    def deciding(self) -> DecidingClass:
        answer: Answer = "negative" if self.mean > 0.5 else "positive"  # noqa: PLR2004
        return DecidingClass(self.name, answer, self.worth)

    def cells(self, shift: Floats) -> tuple[Floats, Floats]:
        """Positives and negatives of the class at its mean plus ``shift`` deviations."""
        rate = np.clip(self.mean + shift * self.deviation, 0.0, 1.0)
        return self.size * rate, self.size * (1 - rate)

    def slope(self, change: float) -> float:
        """How far one item that turns positive moves a metric, without its sign."""
        items = 2 * self.deviation * self.size
        return abs(change) / items if items > 0 else 0.0


def _is_blank(counts: Counts, members: Bools) -> bool:
    """Whether the verdict that holds most items of a class has no label that is positive."""
    if counts.cell is None or not members.any():
        return False
    verdict = np.cumsum(np.diff(counts.cell[members], prepend=-1) <= 0)
    largest = verdict == np.argmax(np.bincount(verdict, counts.size[members]))
    return not counts.positive[members][largest].any()


def _class_of(
    name: str, mixture: BetaMixture, size: Ints, labeled: Ints, estimand: Estimand, few: float
) -> _ClassCounts:
    total = int(size.sum())
    if total == 0:
        return _ClassCounts(name, 0, 0.0, 0.0, math.inf, few)
    share, alpha, beta = size / total, mixture.alpha, mixture.beta
    mean = float(share @ mixture.mean())
    means = (alpha / (alpha + beta)) @ share
    between = float(mixture.weight @ (means - mean) ** 2)
    parts = alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1)) * share**2
    within = mixture.weight @ parts
    both = mean * (1 - mean) / (float(within.sum()) + between) - 1
    worth = max(0.0, both * min(mean, 1 - mean) - _PRIOR)
    open_variance = float(np.sum(within * _open_share(size, labeled, estimand)))
    deviation = math.sqrt(open_variance + (between if open_variance > 0 else 0.0))
    return _ClassCounts(name, total, mean, deviation, worth, few)


def _open_share(size: Ints, labeled: Ints, estimand: Estimand) -> Floats | float:
    """Share of each stratum that the labels leave open: all of it, but in a window the rest."""
    if estimand == "rate":
        return 1.0
    return np.asarray((size - labeled) / np.maximum(size, 1))
