r"""How far annotators agree: kappa, alpha, and the share of items they would disagree on.

Chance-corrected coefficients describe the sample at hand, in which predicted positives are far
too many; ``disagreement`` weighs the strata and describes the window. Answers are whole numbers
from 0 on, each a category without order (1 and 0 here), and NaN without one.

Cohen, "A coefficient of agreement for nominal scales", 1960; its standard error: Fleiss, Cohen &
Everitt, "Large sample standard errors of kappa and weighted kappa", 1969. Fleiss, "Measuring
nominal scale agreement among many raters", 1971. Krippendorff, "Content Analysis", 3rd ed. 2013,
section 12.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from monitor.fixed_text import fixed_texts
from monitor.stats.core.counts import Counts
from monitor.stats.core.levels import LEVEL, normal_quantile
from monitor.stats.estimation.posterior import estimates

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats
    from monitor.stats.core.counts import Interval


RESAMPLES = 2000  # an interval's end then errs by about .06 standard deviations

TENTATIVE_ALPHA = 2 / 3
"""Krippendorff's lowest alpha for even tentative conclusions (section 12.3.4)."""


class NoAgreement(StrEnum):
    """Why a coefficient of agreement has no value."""

    NO_PAIR = "no_pair"
    """No item was answered by two annotators."""

    ALL_EQUAL = "all_alike"
    """All answers are the same, so agreement by chance cannot be told apart."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient of agreement with its interval, or ``None`` and the reason.

    1 at perfect agreement, 0 where chance would do as well. ``items`` are those that two annotators
    or more answered.
    """

    value: float | None
    low: float | None
    high: float | None
    items: int
    reason: NoAgreement | None = None

    def __str__(self) -> str:
        if self.value is None or self.low is None or self.high is None:
            return f"no value, {self.reason}"
        value, low, high = fixed_texts((self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


_NO_PAIR = Agreement(None, None, None, 0, NoAgreement.NO_PAIR)


def cohen_kappa(first: ArrayLike, second: ArrayLike) -> Agreement:
    r"""Cohen's kappa of two annotators, with its large-sample interval.

    .. math:: \kappa = \frac{p_o - p_e}{1 - p_e}, \quad p_e = \sum_k p_{k\cdot} p_{\cdot k}

    Without a value where no item has two answers, or all answers are the same: then chance alone
    would agree as well. The interval is cut to [-1, 1]; with fewer than about 30 items it is a
    guide. Answers of the ``first`` and the ``second``, ``(n,)``, with a NaN are left out.

    Examples
    --------
    >>> first = [1] * 25 + [0] * 25
    >>> second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    >>> print(cohen_kappa(first, second))
    0.400 [0.151, 0.649]
    """
    pairs = np.column_stack([np.ravel(each) for each in (first, second)])
    answers = _answers(pairs.astype(np.float64))
    both = answers[~np.isnan(answers).any(axis=1)].astype(np.int64)
    if len(both) == 0:
        return _NO_PAIR
    categories = int(both.max()) + 1
    cells = np.zeros((categories, categories))
    np.add.at(cells, (both[:, 0], both[:, 1]), 1 / len(both))
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    observed, expected = float(np.trace(cells)), float(rows @ columns)
    if math.isclose(expected, 1):
        return _all_equal(len(both))
    kappa = (observed - expected) / (1 - expected)
    error = math.sqrt(max(0.0, _kappa_variance(cells, kappa) / len(both)))
    half = normal_quantile(LEVEL) * error
    return Agreement(kappa, max(-1.0, kappa - half), min(1.0, kappa + half), len(both))


def _kappa_variance(cells: Floats, kappa: float) -> float:
    """Variance of kappa times n (Fleiss, Cohen & Everitt 1969, Eq. 13)."""
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    expected = float(rows @ columns)
    agree = float(np.diag(cells) @ (1 - (rows + columns) * (1 - kappa)) ** 2)
    swapped = (rows[np.newaxis, :] + columns[:, np.newaxis]) ** 2
    differ = (1 - kappa) ** 2 * float((cells * swapped)[~np.eye(len(cells), dtype=bool)].sum())
    correction = (kappa - expected * (1 - kappa)) ** 2
    return (agree + differ - correction) / (1 - expected) ** 2


def fleiss_kappa(answers: ArrayLike, *, seed: int = 0) -> Agreement:
    r"""Fleiss' kappa of items that the same number of annotators answered.

    .. math:: \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \quad
        P_i = \frac{\sum_k n_{ik}(n_{ik}-1)}{m(m-1)}, \quad \bar P_e = \sum_k p_k^2

    Answers have the shape ``(n, m)``, NaN without one; every item needs the same number of them, 2
    or more. The interval comes from the bootstrap over items (percentiles).

    Raises
    ------
    ValueError
        If items have different numbers of answers, or a value is out of range.

    Examples
    --------
    >>> answers = [[1, 1, 1]] * 12 + [[1, 1, 0]] * 3 + [[0, 0, 1]] * 4 + [[0, 0, 0]] * 21
    >>> print(fleiss_kappa(answers))
    0.753 [0.565, 0.899]
    """
    table = _answers(np.atleast_2d(np.asarray(answers, dtype=np.float64)))
    per_item = np.unique((~np.isnan(table)).sum(axis=1)) if len(table) else np.array([2])
    if len(per_item) != 1 or per_item[0] < 2:  # noqa: PLR2004
        message = (
            f"every item needs the same number of answers, 2 or more; found {per_item.tolist()}"
        )
        raise ValueError(message)
    return _with_bootstrap(table, _fleiss, seed)


def krippendorff_alpha(answers: ArrayLike, *, seed: int = 0) -> Agreement:
    r"""Krippendorff's alpha for nominal answers, any number of annotators, any answers missing.

    .. math:: \alpha = 1 - \frac{D_o}{D_e}, \quad
        D_o = \frac1n \sum_u \frac{1}{m_u-1} \sum_{c \ne k} n_{uc} n_{uk}, \quad
        D_e = \frac{1}{n(n-1)} \sum_{c \ne k} n_c n_k

    with :math:`n_{uc}` answers c about item u, :math:`m_u` answers about it, and all sums over
    items with two answers or more. Answers have the shape ``(n, m)``, NaN without one; the interval
    comes from the bootstrap over items (percentiles).

    Examples
    --------
    >>> nan = float("nan")
    >>> print(krippendorff_alpha([[1, 1, nan]] * 9 + [[1, 0, 0]] * 2 + [[0, nan, 0]] * 15))
    0.844 [0.588, 1.000]
    """
    table = _answers(np.atleast_2d(np.asarray(answers, dtype=np.float64)))
    return _with_bootstrap(table, _alpha, seed)


def disagreement(
    size: ArrayLike,
    doubled: ArrayLike,
    disagreed: ArrayLike,
    *,
    seed: int = 0,
    cells: bool = False,
) -> Interval | None:
    r"""Share of the window's items on which two annotators would disagree; None if no item has two.

    .. math:: D = \sum_h N_h d_h \Big/ \sum_h N_h

    with :math:`d_h` the rate behind :math:`x_h` of :math:`m_h` doubly answered items disagreed
    upon: the prevalence of "disagreed", estimated as ``posterior.estimates`` does. Score cells are
    neighbours in the order given. Items ``doubled`` have two answers or more and are drawn
    uniformly; on the ``disagreed`` ones among them the answers differ, ``(H,)`` each.

    Examples
    --------
    >>> print(disagreement([1000, 9000], [40, 40], [8, 1]))
    0.043 [0.016, 0.111]
    """
    # All strata as passed, beside a flagged one without items: the split makes no difference here.
    counts = Counts.of_arrays(
        size=np.append(np.asarray(size, dtype=np.int64), 0),
        labeled=np.append(np.asarray(doubled, dtype=np.int64), 0),
        positive=np.append(np.asarray(disagreed, dtype=np.int64), 0),
        is_flagged=[False] * len(np.atleast_1d(size)) + [True],
    )
    if not counts.labeled.any():
        return None
    [estimate] = estimates(
        counts, metrics=("prevalence",), estimands=("rate",), seed=seed, cells=cells
    )
    return estimate.interval


def _with_bootstrap(
    table: Floats, coefficient: Callable[[Floats, Floats], Floats], seed: int
) -> Agreement:
    """Compute a coefficient from how often each pattern of answers occurs, and its percentiles."""
    categories = np.unique(table[~np.isnan(table)])
    counted = (table[:, :, np.newaxis] == categories).sum(axis=1).astype(np.float64)
    usable = counted[counted.sum(axis=1) > 1]
    items = len(usable)
    if items == 0:
        return _NO_PAIR
    patterns, times = np.unique(usable, axis=0, return_counts=True)
    value = float(coefficient(patterns, times[np.newaxis].astype(np.float64))[0])
    if math.isnan(value):
        return _all_equal(items)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(items, times / items, size=RESAMPLES).astype(np.float64)
    values = coefficient(patterns, drawn)
    values = np.where(np.isnan(values), 1.0, values)  # all alike: nobody disagreed
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Agreement(value, float(low), float(high), items)


def _fleiss(patterns: Floats, times: Floats) -> Floats:
    """Fleiss' kappa of each row of ``times``; NaN where all answers are the same."""
    raters = patterns.sum(axis=1)
    agree = (patterns * (patterns - 1)).sum(axis=1) / (raters * (raters - 1))
    observed = times @ agree / times.sum(axis=1)
    share = times @ patterns / (times @ raters)[:, np.newaxis]
    return _corrected(1 - observed, 1 - (share**2).sum(axis=1))


def _alpha(patterns: Floats, times: Floats) -> Floats:
    """Krippendorff's alpha of each row of ``times``; NaN where all answers are the same."""
    raters = patterns.sum(axis=1)
    differ = (raters**2 - (patterns**2).sum(axis=1)) / (raters - 1)
    answers = times @ raters
    totals = times @ patterns
    expected = (answers**2 - (totals**2).sum(axis=1)) / (answers * (answers - 1))
    return _corrected(times @ differ / answers, expected)


def _corrected(observed: Floats, expected: Floats) -> Floats:
    """One minus observed over expected disagreement, NaN where none is expected."""
    ratio = np.full(observed.shape, np.nan)
    np.divide(observed, expected, out=ratio, where=expected > 0)
    return 1 - ratio


def _all_equal(items: int) -> Agreement:
    return Agreement(None, None, None, items, NoAgreement.ALL_EQUAL)


def _answers(table: Floats) -> Floats:
    answers = table[~np.isnan(table)]
    wrong = answers[(answers < 0) | (answers != np.floor(answers)) | np.isinf(answers)]
    if wrong.size:
        message = f"answers are whole numbers from 0 on, or NaN for none; got {wrong[0]:g}"
        raise ValueError(message)
    return table
