"""Draws of the confusion matrix of a round, by score cells (and by bands: ``matrix_draws``).

By cells each class is one stratum of the plain labels that its cells are worth
(``cell_counts``), with Jeffreys' prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.core.beta_mixture import BetaMixture, prior_count
from monitor.stats.core.counts import Counts
from monitor.stats.core.draws import POINTS, Draws, Estimand, JointPosterior, draw, round_posterior
from monitor.stats.core.metrics import Matrix
from monitor.stats.core.quantiles import binomial_quantiles
from monitor.stats.core.sampled_sizes import class_rows, size_variance
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.design.cell_counts import (
    PRIOR,
    RestOfClass,
    cell_counts,
    cells_by_class,
    rest_of_class,
)
from monitor.stats.design.restratify import EffectiveCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Floats, Ints
    from monitor.stats.design.double_sampling import CountedShares

    ClassLaw = Callable[[bool, Floats, EffectiveCounts], BetaMixture]


def cell_posterior(counts: Counts) -> JointPosterior:
    """Posterior of precision and of the false omission rate from a round labeled by cells."""
    return JointPosterior(*(_law(cells.worth()) for cells in _classes(counts)))


def class_counts(
    size: ArrayLike,
    labeled: ArrayLike,
    positive: ArrayLike,
    is_flagged: ArrayLike,
    shares: CountedShares | None = None,
    *,
    prior: float = PRIOR,
    rows: Ints | None = None,
    cell: Ints | None = None,
) -> EffectiveCounts:
    """Count the plain labels that the cells of each class are worth, flagged first, ``(..., 2)``.

    Sizes and classes have the shape ``(H,)``, the cells of a class in order of score; answers
    ``(..., H)``: of one round, or of many at once. ``shares`` is where verdicts cut score cells,
    ``rows`` what the sizes were estimated from, if they were not counted, ``cell`` the score cell
    of each, where verdicts cut them.
    """
    items, n, y = np.asarray(size), np.asarray(labeled), np.asarray(positive)
    spread = size_variance(items, rows, of_window=False)
    up = np.asarray(is_flagged, dtype=np.bool_)
    class_results = [
        cell_counts(
            items[members],
            n[..., members],
            y[..., members],
            shares and shares.taken(members),
            prior=prior,
            spread=spread[members],
            cell=of_class,
        )
        for members, of_class in zip((up, ~up), cells_by_class(cell, up), strict=True)
    ]
    return EffectiveCounts(
        positive=np.concatenate([each.positive for each in class_results], axis=-1),
        labeled=np.concatenate([each.labeled for each in class_results], axis=-1),
    )


def class_sizes(counts: Counts) -> Ints:
    """Items of the flagged and of the passed cells, shape ``(2,)``."""
    return np.array([counts.size[of].sum() for of in (counts.is_flagged, ~counts.is_flagged)])


def cell_matrix(
    counts: Counts,
    estimand: Estimand,
    *,
    seed: int = 0,
    points: int = POINTS,
    law: ClassLaw | None = None,
) -> Matrix:
    r"""Draws of the confusion matrix from a round labeled by cells, each class in order of score.

    For the ``window`` what is labeled is known, :math:`TP = \sum_+ y_h +
    \mathrm{Binomial}(\sum_+ (N_h-n_h), \pi)`, and the rate :math:`\pi` of the rest is that of
    ``rest_of_class``. Where cells are pure, fewer items are left to chance. The variance is then
    that of a sample without replacement.

    ``law`` is the distribution of a class's rate, by whether it is flagged, the items of each cell
    that the rate is of, and the plain labels that its answers are worth; those alone if not given.
    """
    in_window = estimand == "window"
    class_law = _of_answers if law is None else law
    parts = [
        _rest(cells, in_window, partial(class_law, flagged))
        for flagged, cells in zip((True, False), _classes(counts), strict=True)
    ]
    laws = JointPosterior(*(part.law for part in parts))
    drawn = draw(laws, seed=seed, points=points)
    (tp, fp), (fn, tn) = (
        (part.positive + positive, part.negative + part.items - positive)
        for part, positive in zip(parts, _positives(parts, drawn, in_window=in_window), strict=True)
    )
    return Matrix(tp=tp, fp=fp, fn=fn, tn=tn)


def _positives(parts: Sequence[_Rest], drawn: Draws, *, in_window: bool) -> list[Floats]:
    """Draw the positives among the items that are left of each class."""
    if not in_window:
        return [part.items * drawn.rates[:, i] for i, part in enumerate(parts)]
    return [
        np.rint((part.items - part.by_chance) * drawn.rates[:, i])
        + binomial_quantiles(drawn.uniforms[:, i], part.by_chance, drawn.rates[:, i])
        for i, part in enumerate(parts)
    ]


def weighted_matrix(counts: Counts, *, cells: bool = True) -> Matrix:
    """Scale labels up to the window by ``scaled_matrix``: what points are read off.

    Of strata that are ``cells`` one without answers is like the answered ones of its group.
    """
    columns = counts.size, counts.labeled, counts.positive, counts.is_flagged
    if not cells:
        return scaled_matrix(*columns)
    effective = class_counts(*columns, cell=counts.cell)
    return scaled_matrix(class_sizes(counts), effective.labeled, effective.positive, [True, False])


def plain_counts(counts: Counts, *, prior: float = PRIOR) -> Counts:
    """Make of each class one stratum of the whole plain labels that its cells are worth.

    For what needs counts, such as the correction of label errors; ``prior`` as in ``cell_counts``.
    """
    size = class_sizes(counts)
    effective = class_counts(
        counts.size,
        counts.labeled,
        counts.positive,
        counts.is_flagged,
        prior=prior,
        rows=counts.rows,
        cell=counts.cell,
    )
    # Never more labels than items.
    share = np.minimum(1.0, size / np.maximum(effective.labeled, 1.0))
    positive, labeled = EffectiveCounts(
        effective.positive * share, effective.labeled * share
    ).whole()
    return Counts.of_arrays(
        size=size,
        labeled=labeled,
        positive=positive,
        is_flagged=[True, False],
        rows=class_rows(counts),
    )


class _Rest(NamedTuple):
    """What a class holds of known answers, and the items and the rate of what remains.

    ``by_chance`` of a window's items are a whole number.
    """

    positive: float
    negative: float
    items: float
    by_chance: float
    law: BetaMixture


class _CellArrays(NamedTuple):
    """One class's cells: sizes, labels and positives, ``(C,)`` each; and their design effect.

    ``rows`` is None where the sizes were counted, ``cell`` where no verdict cuts score cells.
    """

    size: Floats
    labeled: Floats
    positive: Floats
    rows: Ints | None
    cell: Ints | None
    effect: float

    def worth(self) -> EffectiveCounts:
        """Count the plain labels that know the rate of the class as well."""
        spread = size_variance(self.size, self.rows, of_window=False)
        columns = self.size, self.labeled, self.positive
        counts = cell_counts(*columns, spread=spread, cell=self.cell)
        return counts.over(self.effect)

    def rest(self) -> RestOfClass:
        """Count what the labels are worth for the unlabeled items of a window."""
        spread = None
        if self.rows is not None:
            spread = size_variance(self.size, self.rows, of_window=True)
        unlabeled = self.size - self.labeled
        return rest_of_class(unlabeled, self.labeled, self.positive, spread, self.cell)


def _classes(counts: Counts) -> list[_CellArrays]:
    up = counts.is_flagged
    size, labeled, positive = (
        each.astype(np.float64) for each in (counts.size, counts.labeled, counts.positive)
    )
    return [
        _CellArrays(
            size[members],
            labeled[members],
            positive[members],
            None if counts.rows is None else counts.rows[members],
            of_class,
            effect,
        )
        for members, of_class, effect in zip(
            (up, ~up), cells_by_class(counts.cell, up), counts.group_effects, strict=True
        )
    ]


def _rest(
    cells: _CellArrays, in_window: bool, law: Callable[[Floats, EffectiveCounts], BetaMixture]
) -> _Rest:
    size, labeled, positive, *_ = cells
    if not in_window:
        return _Rest(0.0, 0.0, float(size.sum()), 0.0, law(size, cells.worth()))
    unlabeled = size - labeled
    counted = float(positive.sum()), float((labeled - positive).sum())
    rest = cells.rest()
    by_chance = float(np.ceil(rest.by_chance))
    return _Rest(*counted, float(unlabeled.sum()), by_chance, law(unlabeled, rest.counts))


def _of_answers(flagged: bool, size: Floats, answers: EffectiveCounts) -> BetaMixture:
    del flagged, size
    return _law(answers)


def _law(counts: EffectiveCounts) -> BetaMixture:
    prior = prior_count(1)
    return BetaMixture.single(prior + counts.positive, prior + counts.labeled - counts.positive)


@dataclass(frozen=True, slots=True)
class MatrixDraws:
    """The matrix of each estimand in many draws, and how they were made, in a few words."""

    of: Callable[[Estimand], Matrix]
    method: str


def matrix_draws(
    counts: Counts, *, seed: int, points: int, cells: bool, posterior: JointPosterior | None = None
) -> MatrixDraws:
    """Draw the matrices of a round: see ``posterior.estimates`` for what is given."""
    if cells:
        if posterior is not None:
            message = "score cells have a posterior of their own; leave posterior out"
            raise ValueError(message)
        method = f"Beta posterior by score cells, {points} Sobol points"
        return MatrixDraws(partial(cell_matrix, counts, seed=seed, points=points), method)
    is_grouped = posterior is None and max(counts.group_effects) > 1
    posterior = round_posterior(counts) if posterior is None else posterior
    _check_strata(counts, posterior)
    draws = draw(posterior, seed=seed, points=points, size=counts.size)
    kind = "Beta mixture" if posterior.components > 1 else "Beta"
    method = f"joint {kind} posterior, {points} Sobol points"
    if not is_grouped:
        return MatrixDraws(partial(draws.matrix, counts), method)
    of_rate = draw(round_posterior(counts, grouped=True), seed=seed, points=points)
    return MatrixDraws(
        lambda each: (of_rate if each == "rate" else draws).matrix(counts, each), method
    )


def _check_strata(counts: Counts, posterior: JointPosterior) -> None:
    flagged = int(counts.is_flagged.sum())
    ours = (flagged, len(counts.size) - flagged)
    theirs = (posterior.flagged.strata, posterior.passed.strata)
    if ours != theirs:
        message = (
            f"the counts have {ours[0]} flagged and {ours[1]} passed strata, "
            f"the posterior {theirs[0]} and {theirs[1]}"
        )
        raise ValueError(message)
