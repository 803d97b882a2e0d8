r"""Macro and micro precision and recall of a classifier with several classes.

Each class c has its own sample, drawn for "predicted as c or not", and is judged by it alone:
:math:`\widehat{TP}_c` and :math:`\widehat{FN}_c` are its labels scaled up to the window.

.. math:: P_{macro} = \frac{1}{C}\sum_c \frac{TP_c}{N_c}, \quad
    R_{macro} = \frac{1}{C}\sum_c \frac{TP_c}{TP_c + FN_c}, \quad
    P_{micro} = \frac{\sum_c TP_c}{\sum_c N_c}, \quad
    R_{micro} = \frac{\sum_c TP_c}{\sum_c (TP_c + FN_c)}

The samples of several classes share items, and one answer counts in all of them: an item of class c
that was taken for d is missed by c and a wrong one of d. So **items are resampled, not counts**
(``class_samples``): draws :math:`\theta^*` of an average have the posterior that each class's own
round shows, and what shared items do to several classes.

A mean over many classes does not leave it at that. The recall of a class falls fastest with its
first missed items. The prior adds half of one, so the draws lie where the curve is lower and
flatter: they are off their place, and too close together. That is small beside the interval of the
class, but it has the same sign in all classes, and the interval of their mean is narrower by the
root of their number. So the draws give the shape, and the jackknife over items the mean and the
spread. With
:math:`\theta_{(hi)}` the average without label i of stratum h, :math:`\theta_{(h)}` their mean over
the stratum, and :math:`f_h = n_h/N_h` in a window (0 for rates),

.. math:: b = \sum_h (1 - f_h)\frac{n_h - 1}{n_h} \sum_i (\theta_{(hi)} - \hat\theta), \quad
    v = \sum_i \Big(\sum_{h \ni i} \sqrt{(1 - f_h)\tfrac{n_h - 1}{n_h}}
    \,(\theta_{(hi)} - \theta_{(h)})\Big)^2

are its bias and its variance (Wolter, *Introduction to Variance Estimation*, 2007, chapter 4). That
variance is not too small in the mean, however curved the average is (Efron & Stein, *Annals of
Statistics* 9, 1981, doi:10.1214/aos/1176345462). With C classes the interval comes from the draws,
moved and stretched to the mean and the variance

.. math:: \Big(1 - \frac{1}{C}\Big)(\hat\theta - b) + \frac{1}{C}\,\overline{\theta^*}, \quad
    \max\Big(w, \frac{w + \mathrm{Var}\,\theta^*}{2}\Big), \quad
    w = \Big(1 - \frac{1}{C}\Big) v + \frac{1}{C} \mathrm{Var}\,\theta^*

One class by itself keeps its posterior; of many, the prior's share is one class's. The larger
variance is for few missed items: the jackknife then varies a lot, and without any it is 0.
The point itself stays the mean of the classes' points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from monitor.stats.core.counts import Interval
from monitor.stats.core.draws import check_estimand
from monitor.stats.core.levels import check_probability
from monitor.stats.core.reasons import Undefined
from monitor.stats.estimation.class_samples import (
    drawn_totals,
    layout,
    leave_one_out,
    open_shares,
    totals,
)
from monitor.stats.estimation.small_counts import small_count_caution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats
    from monitor.stats.core.draws import Estimand
    from monitor.stats.estimation.class_samples import ClassSample, Excluded, Layout, Totals


Average = Literal["macro", "micro"]
_METRICS = ("precision", "recall")

DRAWS = 2**12
"""Draws of the averages: an interval's end then errs by about .04 standard deviations."""

_NONE = 1e-9  # so few items are none: what rounding leaves


@dataclass(frozen=True, slots=True)
class ClassAverage:
    """Precision or recall over all classes.

    ``macro`` is the mean of the classes' values, ``micro`` of all classes' items together.
    ``classes`` have a value in it; ``left_out`` are the names of the others, in order: nothing was
    predicted as them (precision), or they have no known item (recall). Micro averages leave none
    out: these add nothing. ``few_labels`` are the classes whose own value rests on few labels
    (``small_counts``). ``interval`` is ``None`` with the ``reason``, what is 0.
    """

    average: Average
    metric: str
    interval: Interval | None
    classes: int
    left_out: tuple[str, ...]
    few_labels: tuple[str, ...]
    reason: Undefined | None = None

    def __str__(self) -> str:
        return f"{self.average} {self.metric}: {self.interval or f'no value, {self.reason}'}"


@dataclass(frozen=True, slots=True)
class ClassAverages:
    """All averages of one window: macro precision and recall, then micro precision and recall.

    ``labels`` counts all samples together, ``items`` the different ones among them: what one
    answer to an item saves.
    """

    rows: tuple[ClassAverage, ...]
    labels: int
    items: int
    level: float
    estimand: Estimand


def class_averages(
    classes: Sequence[ClassSample],
    *,
    level: float = 0.95,
    estimand: Estimand = "window",
    seed: int = 0,
    draws: int = DRAWS,
) -> ClassAverages:
    """Average precision and recall over classes whose samples may share items.

    Coverage is measured by ``benchmarks/class_averages.py``.

    Parameters
    ----------
    classes
        One sample for each class, all of one window.
    estimand
        ``window``: of the very items of the window; draws of a stratum are narrower by the root of
        1 - n_h/N_h, so what is labeled whole adds no width. ``rate``: of the rates behind them.

    A ValueError if there is no class, or one comes twice.

    Examples
    --------
    >>> from monitor.stats.core.sample import LabeledSample
    >>> from monitor.stats.estimation.class_samples import ClassSample
    >>> cats, dogs = (
    ...     LabeledSample(np.repeat([0, 1], 30), np.arange(60) % 30 < y, size=[100, 900], flagged=1)
    ...     for y in ([27] * 30 + [2] * 30, [24] * 30 + [1] * 30)
    ... )
    >>> items = np.arange(60)
    >>> found = class_averages([ClassSample("cat", cats, items), ClassSample("dog", dogs, items)])
    >>> print(found.rows[0])
    macro precision: 0.850 [0.740, 0.925]
    """
    _check(classes, level, estimand)
    strata = layout(classes)
    window = _ClassWindow(
        strata=strata,
        point=totals(strata, strata.point[:, np.newaxis]),
        drawn=drawn_totals(strata, np.random.default_rng(seed), draws, estimand),
        without=leave_one_out(strata),
        open_share=open_shares(strata, estimand),
    )
    few = {metric: _few_labels(classes, metric, estimand) for metric in _METRICS}
    return ClassAverages(
        rows=tuple(
            _average(average, metric, classes, window, few[metric], level)
            for average in get_args(Average)
            for metric in _METRICS
        ),
        labels=len(strata.item),
        items=strata.items,
        level=level,
        estimand=estimand,
    )


class _ClassWindow(NamedTuple):
    """Totals of each class in the window, as labeled and drawn, and what a label changes."""

    strata: Layout
    point: Totals
    drawn: Totals
    without: Excluded
    open_share: Floats  # of each stratum, (H,)


class _Jackknife(NamedTuple):
    bias: float
    variance: float


def _check(classes: Sequence[ClassSample], level: float, estimand: str) -> None:
    check_probability(level, "level")
    check_estimand(estimand)
    names = [each.name for each in classes]
    if not names or len(set(names)) < len(names):
        message = f"expected one sample for each class, got {', '.join(names) or 'none'}"
        raise ValueError(message)


def _average(
    average: Average,
    metric: str,
    classes: Sequence[ClassSample],
    window: _ClassWindow,
    few: Bools,
    level: float,
) -> ClassAverage:
    has_value = _whole(metric, window.point)[:, 0] > 0
    interval = None
    if has_value.any():
        # what has no value of its own still may be missed: micro averages take all classes
        averaged = has_value if average == "macro" else np.ones(len(has_value), dtype=np.bool_)
        [point] = _value(average, metric, window.point, averaged)
        drawn = _value(average, metric, window.drawn, averaged)
        jackknife = _jackknife(window, _changes(average, metric, window, averaged))
        interval = _interval(float(point), drawn, jackknife, int(has_value.sum()), level)
    nothing = Undefined.NOTHING_FLAGGED if metric == "precision" else Undefined.NO_POSITIVE
    return ClassAverage(
        average=average,
        metric=metric,
        interval=interval,
        classes=int(has_value.sum()),
        left_out=_names(classes, ~has_value),
        few_labels=_names(classes, has_value & few),
        reason=None if interval is not None else nothing,
    )


def _names(classes: Sequence[ClassSample], chosen: Bools) -> tuple[str, ...]:
    return tuple(each.name for each, is_one in zip(classes, chosen, strict=True) if is_one)


def _few_labels(classes: Sequence[ClassSample], metric: str, estimand: Estimand) -> Bools:
    return np.array(
        [
            small_count_caution(each.sample.counts, metric, estimand=estimand) is not None
            for each in classes
        ]
    )


def _whole(metric: str, class_totals: Totals) -> Floats:
    """Items of which the detected ones are the metric, shape ``(C, D)``."""
    return (
        class_totals.flagged
        if metric == "precision"
        else class_totals.detected + class_totals.missed
    )


def _value(average: Average, metric: str, class_totals: Totals, averaged: Bools) -> Floats:
    matched, denominator = class_totals.detected[averaged], _whole(metric, class_totals)[averaged]
    if average == "macro":
        return np.asarray((matched / denominator).mean(axis=0))
    return np.asarray(matched.sum(axis=0) / denominator.sum(axis=0))


def _changes(average: Average, metric: str, window: _ClassWindow, averaged: Bools) -> Floats:
    """Change of the average where a label is left out of its class's sample, shape ``(n,)``."""
    class_index = window.without.of_class
    matched, denominator = window.point.detected[:, 0], _whole(metric, window.point)[:, 0]
    more_matched = window.without.detected
    more = (
        np.zeros(len(class_index))
        if metric == "precision"
        else more_matched + window.without.missed
    )
    if average == "micro":
        return _change(matched.sum(), denominator.sum(), more_matched, more)
    change = _change(matched[class_index], denominator[class_index], more_matched, more)
    return np.asarray(np.where(averaged[class_index], change, 0) / averaged.sum())


def _change(
    matched: Floats | float, denominator: Floats | float, more_matched: Floats, more: Floats
) -> Floats:
    """Change of detected/whole; none if nothing is left of the whole."""
    now, changed = matched / np.maximum(denominator, _NONE), denominator + more
    new = np.where(changed > _NONE, (matched + more_matched) / np.maximum(changed, _NONE), now)
    return np.asarray(new - now)


def _jackknife(window: _ClassWindow, change: Floats) -> _Jackknife:
    """Bias and variance of an average from its changes, the changes of one item together."""
    strata, stratum = window.strata, window.strata.stratum
    labeled = np.maximum(strata.labeled, 1)
    scale = (window.open_share * (labeled - 1) / labeled)[stratum]
    mean = np.bincount(stratum, weights=change, minlength=len(labeled)) / labeled
    spread = np.sqrt(scale) * (change - mean[stratum])
    of_item = np.bincount(strata.item, weights=spread, minlength=strata.items)
    return _Jackknife(bias=float(scale @ change), variance=float(of_item @ of_item))


def _interval(
    point: float, drawn: Floats, jackknife: _Jackknife, classes: int, level: float
) -> Interval:
    """Move and stretch the draws, and read the ends off."""
    own = 1 / classes
    middle, posterior = float(drawn.mean()), float(drawn.var())
    mean = (1 - own) * (point - jackknife.bias) + own * middle
    variance = (1 - own) * jackknife.variance + own * posterior
    variance = max(variance, (variance + posterior) / 2)
    stretch = np.sqrt(variance / posterior) if posterior > 0 else 1.0
    tail = (1 - level) / 2
    low, high = np.quantile(drawn - middle, [tail, 1 - tail], method="inverted_cdf")
    low, high = mean + stretch * float(low), mean + stretch * float(high)
    return Interval(point, max(0.0, min(low, point)), min(1.0, max(high, point)))
