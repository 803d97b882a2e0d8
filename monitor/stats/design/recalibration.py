r"""What earlier rounds say of each score cell: its rate, smoothed along the score.

A cell has few labels, so its own share of positives says little. In each predicted class a line,

.. math:: \mathrm{logit}\,m_h = a + b z_h,

is fitted to the labels of all its cells, :math:`z_h` the normal score of the cell's middle rank in
the window; it has a weak prior, half a count of each answer shared out over the cells and
:math:`b \sim N(0, 10)`. Where the cells' own labels differ from it they take over,

.. math:: g_h = \frac{y_h + \kappa_h m_h}{n_h + \kappa_h}, \quad
    \kappa_h = \min\Big\{\frac{2}{\min(m_h, 1-m_h)},\ 200\Big\}:

the line is worth two answers of the rarer kind, and 200 labels at most, so that misses appearing
where it expects none are believed soon. Items without a score have no rank, so their cell stays
out of the line, and the rate of the whole class takes its place. What cuts the cells of a score
further, such as a judge's verdict v, adds its own term to the line, :math:`c\,v_h` with
:math:`c \sim N(0, 10)`: exact where, given the truth, the verdict and the score are independent.
These rates steer where labels go, and what the detector looks for. No estimate and no promise
rests on them, so a line that fits badly costs labels only.

The half-widths to come (``assurance``) are drawn at the line's own rates, its coefficients from
their normal law by Laplace's method, and those of groups of cells with many labels by their own
answers besides (``assurance``). At the rates g they would come out too narrow: labels go where
:math:`g_h` is large, and it is so by chance in part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import special

from monitor.stats.design.cell_counts import groups_of_cells
from monitor.stats.design.logit_fit import SLOPE_PRECISION, fitted_covariance, fitted_log_odds
from monitor.stats.design.prior import AnswersOfGroup, JointLogits, PriorRates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


RARER_WORTH = 2.0
"""Answers of the rarer kind that the line is worth in each cell."""

MOST_WORTH = 200.0
"""Labels that the line is worth at most in a cell."""

GROUP_LABELS = 400.0
"""Labels of a group whose own answers count beside the line. A class with fewer than two groups
has none: its line knows as much (benchmarks/assurance.py)."""


class Cut(NamedTuple):
    """What cuts the strata of each class besides the score, such as a judge's verdict.

    ``position`` is where each stratum lies along the score, shape ``(H,)``: whole numbers that rise
    with it, the same for strata of the same scores. ``terms`` are added to the line, shape
    ``(H, Q)``; 0 where nothing is known.
    """

    position: Ints
    terms: Floats


def recalibrated_rates(
    size: ArrayLike,
    is_flagged: ArrayLike,
    labeled: ArrayLike,
    positive: ArrayLike,
    unscored: ArrayLike | None = None,
    cut: Cut | None = None,
) -> Floats:
    """Rate of each cell by the labels of earlier rounds, strictly between 0 and 1, ``(..., H)``.

    The cells of a class are in rising order of score, the flagged ones above the others. Labels are
    sums, ``(..., H)``, which may be weighted. ``unscored`` marks the cells of items without a
    score, ``cut`` is what cuts the cells of a score further.

    >>> recalibrated_rates(
    ...     [50, 50, 9000, 900, 100], [True, True, False, False, False],
    ...     [40, 40, 60, 60, 60], [26, 38, 0, 1, 12],
    ... ).round(4).tolist()
    [0.6536, 0.9372, 0.0003, 0.0256, 0.1982]
    """
    y, n, line, worth = _smoothed(size, is_flagged, labeled, positive, unscored, cut)
    return np.asarray((y + worth * line) / (n + worth))


def recalibrated_prior(
    size: ArrayLike,
    is_flagged: ArrayLike,
    labeled: ArrayLike,
    positive: ArrayLike,
    unscored: ArrayLike | None = None,
    cut: Cut | None = None,
) -> PriorRates:
    """Knowledge of each cell's rate, for a plan: ``recalibrated_rates``, and how sure they are.

    Each is a Beta with the cell's own labels and those that the line is worth; together they vary
    as the line does. Labels are of shape ``(H,)``.
    """
    y, n, line, worth = _smoothed(size, is_flagged, labeled, positive, unscored, cut)
    sizes, up = np.asarray(size, dtype=np.float64), np.asarray(is_flagged, dtype=np.bool_)
    ranked = _ranked(sizes, unscored)
    joint = JointLogits(
        special.logit(line),
        _loadings(_columns(sizes, up, ranked, cut), up, ranked, n, line),
        tuple(_groups(up, ranked, n, y)),
    )
    return PriorRates(y + worth * line, n - y + worth * (1 - line), "cells", joint)


def labels_by_rank(labels: ArrayLike, size: ArrayLike, new_size: ArrayLike) -> Floats:
    """Share out the labels of cells to other cells of the same ranks, shape ``(H',)``.

    Both kinds of cells are of one class and in rising order of score, which may be on another scale
    now. ``labels`` and ``size`` have the shape ``(H,)``, ``new_size`` the shape ``(H',)``.

    >>> labels_by_rank([8.0, 2.0], [75, 25], [500, 250, 250]).round(2).tolist()
    [5.33, 2.67, 2.0]
    """
    ends, new_ends = (
        np.concatenate([[0.0], np.cumsum(each)]) / max(float(np.sum(each)), 1.0)
        for each in (size, new_size)
    )
    running = np.concatenate([[0.0], np.cumsum(labels)])
    return np.asarray(np.diff(np.interp(new_ends, ends, running)))


def _loadings(columns: Floats, up: Bools, ranked: Bools, labeled: Floats, line: Floats) -> Floats:
    """Give the columns by which log odds vary: several for a line, one for each unscored cell."""
    results = []
    for members in (up, ~up):
        here = members & ranked
        if here.any():
            x, half = _regressors(columns[here]), _half(int(here.sum()))
            covariance = fitted_covariance(x, labeled[here] + 2 * half, line[here], _penalty(x))
            column = np.zeros((len(up), min(x.shape)))  # one cell has no slope
            column[here] = (x @ np.linalg.cholesky(covariance))[:, : min(x.shape)]
            results.append(column)
        for cell in np.flatnonzero(members & ~ranked):
            column = np.zeros((len(up), 1))
            answers = labeled[members].sum() + 1
            column[cell] = (answers * line[cell] * (1 - line[cell])) ** -0.5
            results.append(column)
    return np.concatenate(results, axis=1)


def _groups(
    up: Bools, ranked: Bools, labeled: Floats, positive: Floats
) -> Iterator[AnswersOfGroup]:
    """Give the groups of cells of each class that has two or more."""
    for members in (up, ~up):
        cells = np.flatnonzero(members & ranked)
        group = groups_of_cells(labeled[cells], GROUP_LABELS)
        if group.any():
            for i in range(int(group[-1]) + 1):
                own = cells[group == i]
                yield AnswersOfGroup(own, labeled[own], float(positive[own].sum()))


def _smoothed(
    size: ArrayLike,
    is_flagged: ArrayLike,
    labeled: ArrayLike,
    positive: ArrayLike,
    unscored: ArrayLike | None,
    cut: Cut | None,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Positives and labels of each cell, its rate by the line, and the labels that is worth."""
    sizes, up = np.asarray(size, dtype=np.float64), np.asarray(is_flagged, dtype=np.bool_)
    n, y = np.asarray(labeled, dtype=np.float64), np.asarray(positive, dtype=np.float64)
    if not sizes.shape == up.shape == n.shape[-1:] == y.shape[-1:] or sizes.ndim != 1:
        message = (
            f"size {sizes.shape}, is_flagged {up.shape} and the last axis of labeled {n.shape} "
            f"and positive {y.shape} must have the shape (H,)"
        )
        raise ValueError(message)
    n, y = np.broadcast_arrays(n, y)
    ranked = _ranked(sizes, unscored)
    columns = _columns(sizes, up, ranked, cut)
    line = np.empty(n.shape)
    for members in (up, ~up):
        here, others = members & ranked, members & ~ranked
        if here.any():
            line[..., here] = _line(columns[here], n[..., here], y[..., here])
        if others.any():
            whole = (each[..., members].sum(axis=-1, keepdims=True) for each in (y, n))
            line[..., others] = _share(*whole)
    worth = np.minimum(RARER_WORTH / np.minimum(line, 1 - line), MOST_WORTH)
    return y, n, line, worth


def _ranked(size: Floats, unscored: ArrayLike | None) -> Bools:
    """Which cells have a place along the score."""
    without = np.asarray(False if unscored is None else unscored, dtype=np.bool_)
    return ~np.broadcast_to(without, size.shape)


def _share(positive: Floats, labeled: Floats) -> Floats:
    """Rate of a class as a whole, with half a count of each answer."""
    return np.asarray((positive + 0.5) / (labeled + 1))


def _columns(size: Floats, up: Bools, ranked: Bools, cut: Cut | None) -> Floats:
    """Give what the line of a class is a line in: the place along the score, and other terms."""
    if cut is None:
        cut = Cut(np.arange(len(size)), np.zeros((len(size), 0)))
    location = np.full(len(size), np.nan)
    location[ranked] = _positions(size[ranked], up[ranked], cut.position[ranked])
    return np.column_stack([location, cut.terms])


def _positions(size: Floats, is_flagged: Bools, position: Ints) -> Floats:
    """Give the normal score of each cell's middle rank, the passed cells under the flagged ones."""
    _, cell = np.unique(np.stack([is_flagged, position]), axis=1, return_inverse=True)
    ranked = np.bincount(cell.ravel(), weights=size)
    middle = (np.cumsum(ranked) - ranked / 2) / ranked.sum()
    return np.asarray(special.ndtri(np.clip(middle, 1e-9, 1 - 1e-9))[cell.ravel()])


def _line(columns: Floats, labeled: Floats, positive: Floats) -> Floats:
    """Fit one line through the cells of a class; rates of shape ``(..., H)``."""
    x, half = _regressors(columns), _half(len(columns))
    n, y = labeled + 2 * half, positive + half
    at = np.zeros((*y.shape[:-1], x.shape[1]))
    at[..., 0] = special.logit(y.sum(axis=-1) / n.sum(axis=-1))
    log_odds = fitted_log_odds(x, n, y, at, _penalty(x))
    return np.asarray(special.expit(np.clip(log_odds, -30, 30)))


def _regressors(columns: Floats) -> Floats:
    """Add the constant; the place along the score is centred, other terms stay as they are."""
    location = columns[:, 0]
    return np.column_stack([np.ones_like(location), location - location.mean(), columns[:, 1:]])


def _penalty(x: Floats) -> Floats:
    """Prior precision of each coefficient; the constant has 0."""
    return np.array([0.0, *[SLOPE_PRECISION] * (x.shape[1] - 1)])


def _half(cells: int) -> float:
    """Count of each answer that is added to each of a class's cells."""
    return 1 / (2 * cells)
