r"""Every metric of a binary classifier as a function of one confusion matrix.

The matrix holds true positives (TP), false positives (FP), false negatives (FN) and true
negatives (TN), either once or as an array of posterior draws. A metric that would divide by
zero is *undefined*: NaN, and the metric names the reason. It is never 0 and never infinite.

Precision gain and recall gain follow Flach & Kull, "Precision-Recall-Gain Curves: PR
Analysis Done Right", NIPS 2015, Eq. 4 and 5.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from monitor.stats.core.reasons import Undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats


FLAGGED, PASSED = "flagged", "passed"
BOTH = (FLAGGED, PASSED)


@dataclass(frozen=True, slots=True, init=False)
class Matrix:
    """A confusion matrix, or an array of them, in items of the window.

    Cells are counted or scaled up from a sample: numbers, or arrays of draws that broadcast against
    each other. Finite and not negative; a cell of which nothing is known is NaN as a whole, and so
    is every metric that depends on it. A ValueError names a cell that is anything else.

    Examples
    --------
    >>> float(METRICS["precision"](Matrix(tp=138, fp=22, fn=108, tn=4732)))
    0.8625
    """

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats

    def __init__(self, tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike) -> None:
        for name, cell in (("tp", tp), ("fp", fp), ("fn", fn), ("tn", tn)):
            values = np.asarray(cell, dtype=np.float64)
            is_valid = (values >= 0) & (values < np.inf)
            if not is_valid.all() and not np.isnan(values).all():
                message = f"{name} must be a finite number of items, 0 or more, got {cell!r}"
                raise ValueError(message)
            object.__setattr__(self, name, values)

    @property
    def flagged(self) -> Floats:
        """Predicted positives, TP + FP."""
        return self.tp + self.fp

    @property
    def passed(self) -> Floats:
        """Predicted negatives, FN + TN."""
        return self.fn + self.tn

    @property
    def positive(self) -> Floats:
        """Actual positives, TP + FN."""
        return self.tp + self.fn

    @property
    def negative(self) -> Floats:
        """Actual negatives, FP + TN."""
        return self.fp + self.tn

    @property
    def total(self) -> Floats:
        """All items of the window."""
        return self.flagged + self.passed


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its formula and what it needs to have a value.

    Parameters
    ----------
    name
        The word used in settings, tables and reports.
    formula
        From a matrix to values of its shape, NaN where undefined.
    undefined
        What is 0 where the metric has no value.
    uses
        The predicted classes whose rates it depends on. A class that is used and holds no
        label leaves the metric unknown; ``flagged_rate`` uses none, for it is counted.
    by_truth
        Whether it looks within an actual class. With an empty predicted class such a metric
        is 0 or 1 at any rates: true of that window, and no news of the classifier.
    written, meaning
        The formula as text, and in a few words what the metric says.
    """

    name: str
    formula: Callable[[Matrix], Floats]
    undefined: Undefined
    uses: tuple[str, ...] = BOTH
    by_truth: bool = False
    written: str = ""
    meaning: str = ""

    def __call__(self, matrix: Matrix) -> Floats:
        """Values of the metric, NaN where it is undefined; the shape is the matrix's."""
        return self.formula(matrix)


def _finite(values: Floats) -> Floats:
    """Replace infinities, which only overflow makes here, by NaN."""
    return np.where(np.isinf(values), np.nan, values)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """``numerator / denominator``, NaN where the denominator is 0; both are 0 or more."""
    values = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    with np.errstate(over="ignore"):
        np.divide(numerator, denominator, out=values, where=denominator > 0)
    return _finite(values)


def _precision(m: Matrix) -> Floats:
    return _ratio(m.tp, m.flagged)


def _recall(m: Matrix) -> Floats:
    return _ratio(m.tp, m.positive)


def _matthews(m: Matrix) -> Floats:
    r"""Correlation of predicted and actual class, the phi coefficient.

    .. math:: \sqrt{\mathrm{TPR}\,\mathrm{TNR}\,\mathrm{PPV}\,\mathrm{NPV}} -
        \sqrt{\mathrm{FNR}\,\mathrm{FPR}\,\mathrm{FOR}\,\mathrm{FDR}}

    The form with rates, which neither overflows nor leaves [-1, 1].
    """
    right = _recall(m) * _ratio(m.tn, m.negative) * _precision(m) * _ratio(m.tn, m.passed)
    wrong = _ratio(m.fn, m.positive) * _ratio(m.fp, m.negative)
    wrong = wrong * _ratio(m.fn, m.passed) * _ratio(m.fp, m.flagged)
    return np.sqrt(right) - np.sqrt(wrong)


def _gain(errors: Floats, m: Matrix) -> Floats:
    r"""Compute :math:`1 - \frac{\eta}{1-\eta}\,\mathrm{errors}/\mathrm{TP}`, 1 at best."""
    with np.errstate(over="ignore"):
        loss = _ratio(m.positive, m.negative) * _ratio(errors, m.tp)
    return 1 - _finite(loss)


def f_beta(beta: float) -> Metric:
    r"""F measure in which recall weighs ``beta`` times as much as precision.

    .. math:: F_\beta = \frac{(1+\beta^2)\,TP}{(1+\beta^2)\,TP + \beta^2\,FN + FP}

    Parameters
    ----------
    beta
        Positive; the metric is called ``f1``, ``f2``, ``f0.5`` and so on.

    A ValueError if ``beta`` is not a positive finite number.

    Notes
    -----
    Van Rijsbergen, *Information Retrieval*, 2nd ed. 1979, chapter 7.

    Examples
    --------
    >>> half = f_beta(0.5)
    >>> half.name, round(float(half(Matrix(tp=138, fp=22, fn=108, tn=4732))), 4)
    ('f0.5', 0.7788)
    """
    if not 0 < beta < math.inf:
        message = f"beta must be a positive finite number, got {beta!r}"
        raise ValueError(message)
    square = float(beta) ** 2

    def formula(m: Matrix) -> Floats:
        right = (1 + square) * m.tp
        return _ratio(right, right + square * m.fn + m.fp)

    right, missed = f"{1 + square:g} TP", "FN" if square == 1 else f"{square:g} FN"
    return Metric(
        f"f{beta:g}",
        formula,
        Undefined.NOTHING_FLAGGED_OR_POSITIVE,
        by_truth=True,
        written=f"{right} / ({right} + {missed} + FP)",
        meaning="harmonic mean of both; `f2`, `f0.5` and so on are known too",
    )


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric(
                "precision",
                _precision,
                Undefined.NOTHING_FLAGGED,
                (FLAGGED,),
                written="TP / (TP + FP)",
                meaning="right among the flagged",
            ),
            Metric(
                "recall",
                _recall,
                Undefined.NO_POSITIVE,
                by_truth=True,
                written="TP / (TP + FN)",
                meaning="flagged among the positives",
            ),
            f_beta(1),
            Metric(
                "specificity",
                lambda m: _ratio(m.tn, m.negative),
                Undefined.NO_NEGATIVE,
                by_truth=True,
                written="TN / (TN + FP)",
                meaning="passed among the negatives",
            ),
            Metric(
                "npv",
                lambda m: _ratio(m.tn, m.passed),
                Undefined.NOTHING_PASSED,
                (PASSED,),
                written="TN / (TN + FN)",
                meaning="right among the passed",
            ),
            Metric(
                "prevalence",
                lambda m: _ratio(m.positive, m.total),
                Undefined.NO_ITEM,
                written="(TP + FN) / N",
                meaning="share of positives",
            ),
            Metric(
                "accuracy",
                lambda m: _ratio(m.tp + m.tn, m.total),
                Undefined.NO_ITEM,
                written="(TP + TN) / N",
                meaning="share of right decisions",
            ),
            Metric(
                "balanced_accuracy",
                lambda m: (_recall(m) + _ratio(m.tn, m.negative)) / 2,
                Undefined.ONE_ACTUAL_CLASS,
                by_truth=True,
                written="(recall + specificity) / 2",
                meaning="mean over the actual classes",
            ),
            Metric(
                "mcc",
                _matthews,
                Undefined.EMPTY_MARGIN,
                by_truth=True,
                written="phi of the four cells",
                meaning="Matthews' correlation coefficient",
            ),
            Metric(
                "fpr",
                lambda m: _ratio(m.fp, m.negative),
                Undefined.NO_NEGATIVE,
                by_truth=True,
                written="FP / (FP + TN)",
                meaning="flagged among the negatives",
            ),
            Metric(
                "false_omission_rate",
                lambda m: _ratio(m.fn, m.passed),
                Undefined.NOTHING_PASSED,
                (PASSED,),
                written="FN / (FN + TN)",
                meaning="positives among the passed",
            ),
            Metric(
                "flagged_rate",
                lambda m: _ratio(m.flagged, m.total),
                Undefined.NO_ITEM,
                (),
                written="(TP + FP) / N",
                meaning="share that is flagged; counted, not estimated",
            ),
            Metric(
                "precision_gain",
                lambda m: _gain(m.fp, m),
                Undefined.NO_GAIN,
                by_truth=True,
                written="1 - prevalence odds x FP / TP",
                meaning="precision on the scale of Flach and Kull",
            ),
            Metric(
                "recall_gain",
                lambda m: _gain(m.fn, m),
                Undefined.NO_GAIN,
                by_truth=True,
                written="1 - prevalence odds x FN / TP",
                meaning="recall on the scale of Flach and Kull",
            ),
        )
    }
)
"""Every metric by name; ``metric`` also knows ``f2``, ``f0.5`` and ``false_positive_rate``.

A round estimates all of them, and keeps its estimates in this order.
"""


def _youden_j(m: Matrix) -> Floats:
    return _recall(m) + _ratio(m.tn, m.negative) - 1


def _kappa(m: Matrix) -> Floats:
    observed = _ratio(m.tp + m.tn, m.total)
    expected = _ratio(m.flagged * m.positive + m.passed * m.negative, m.total**2)
    return 1 - _ratio(1 - observed, 1 - expected)


AGREEMENT_METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric("youden_j", _youden_j, Undefined.ONE_ACTUAL_CLASS, by_truth=True),
            Metric("kappa", _kappa, Undefined.EMPTY_MARGIN, by_truth=True),
        )
    }
)
"""How a judge agrees with people; rounds do not estimate these of the classifier.

``youden_j`` is recall + specificity - 1 (Youden, *Cancer* 3, 1950), ``kappa`` is
:math:`(p_o - p_e)/(1 - p_e)` with :math:`p_o = (TP+TN)/N` and :math:`p_e = ((TP+FP)(TP+FN) +
(FN+TN)(FP+TN))/N^2` (Cohen, *Educational and Psychological Measurement* 20, 1960).
"""

_OTHER_NAMES = MappingProxyType({"false_positive_rate": "fpr"})


def metric(name: str) -> Metric:
    """Metric of that name, of ``METRICS`` or ``AGREEMENT_METRICS``, or ``f2``, ``f0.5`` and so on.

    Raises
    ------
    ValueError
        If no metric has that name; the message lists the names.

    Examples
    --------
    >>> metric("f2").name, metric("false_positive_rate").name
    ('f2', 'fpr')
    """
    listed = METRICS.get(_OTHER_NAMES.get(name, name)) or AGREEMENT_METRICS.get(name)
    if listed is not None:
        return listed
    f_number = re.fullmatch(r"f(\d+(?:\.\d+)?)", name)
    if f_number and float(f_number[1]) > 0:
        return f_beta(float(f_number[1]))
    close = difflib.get_close_matches(name, METRICS, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    message = f"no metric is called {name!r}{hint} Known: {', '.join(METRICS)}, f0.5, f2, ..."
    raise ValueError(message)
