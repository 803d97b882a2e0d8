r"""How good a judge's verdicts are, by the labels of people alone.

Where a verdict cuts the strata, it is the same for all items of a stratum. So the judge is a
classifier whose "flagged" strata are the strata of a yes, and its rates follow from the labels as
the monitored classifier's do (``cell_matrix``). Agreement is Cohen's kappa over the window,

.. math:: \kappa = \frac{p_o - p_e}{1 - p_e}, \qquad
    p_e = \frac{(TP+FP)(TP+FN) + (FN+TN)(FP+TN)}{N^2}

with :math:`p_o = (TP+TN)/N` (Cohen, *Educational and Psychological Measurement* 20, 1960).

Where the judge was asked about a sample only, how often it says yes is itself an estimate. The four
cells then also get the noise of its shares: jointly normal, with the covariance of
``double_sampling.share_covariance`` at the rates that labels found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.core.counts import Counts, FirstPhase, Interval
from monitor.stats.core.draws import Estimand, credible_interval
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.design.double_sampling import share_covariance
from monitor.stats.estimation.cell_matrix import MatrixDraws, cell_matrix, weighted_matrix
from monitor.stats.estimation.posterior import MetricEstimate, estimates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


class JudgeRates(NamedTuple):
    """Shares of the positives and of the negatives that a judge says yes to, and kappa.

    None if undefined, as kappa is where the judge says the same of all items.
    """

    tpr: Interval | None
    fpr: Interval | None
    kappa: Interval | None


def judge_rates(
    counts: Counts, says_yes: ArrayLike, judged: ArrayLike, *, seed: int = 0, level: float = 0.95
) -> JudgeRates:
    """Estimate a judge's rates on the items that it has a verdict on.

    The strata of a verdict are in order of score; several windows come one after the other.
    ``says_yes`` are the strata that hold the items of a yes, ``judged`` those with a verdict,
    ``(H,)``.
    """
    order = judged_order(counts.is_flagged, says_yes, judged)
    of_judge = counts_of_judge(counts, says_yes, order)
    draws, points = cell_matrix(of_judge, "rate", seed=seed), weighted_matrix(of_judge)
    if counts.first_phase is not None:
        draws = _with_share_noise(
            draws, counts, counts.first_phase, np.asarray(says_yes), np.asarray(judged), seed
        )
    tpr, fpr, kappa = (
        _interval(of(draws), float(of(points)), level)
        for of in (metric("recall"), metric("fpr"), _kappa)
    )
    says_both = (
        of_judge.size[of_judge.is_flagged].any() and of_judge.size[~of_judge.is_flagged].any()
    )
    return JudgeRates(tpr, fpr, kappa if says_both else None)


def judged_order(is_flagged: Bools, says_yes: ArrayLike, judged: ArrayLike) -> Ints:
    """Order the strata that have a verdict as a judge's own strata: a yes comes first.

    Within a verdict they go from the rarer to the likelier positives: passed before flagged, each
    by score.
    """
    yes, there = np.asarray(says_yes, dtype=np.bool_), np.asarray(judged, dtype=np.bool_)
    order = np.lexsort((np.arange(yes.size), is_flagged, ~yes))
    return np.asarray(order[there[order]])


def counts_of_judge(counts: Counts, says_yes: ArrayLike, order: Ints) -> Counts:
    """Count for the judge as for a classifier that flags what it says yes to, in an ``order``."""
    columns = {name: getattr(counts, name)[order] for name in ("size", "labeled", "positive")}
    return Counts.of_arrays(**columns, is_flagged=np.asarray(says_yes, dtype=np.bool_)[order])


def estimates_of_judge(
    counts: Counts, metrics: Sequence[str], *, seed: int = 0
) -> list[MetricEstimate]:
    """Estimate metrics of a judge as a classifier from one round (``posterior.estimates``).

    ``counts`` are the round counted for its judge; where that was asked about a sample, with its
    ``first_phase`` and the strata without a verdict.
    """
    sample = counts.first_phase
    if sample is None or sample.has_verdict is None:
        return estimates(counts, metrics=metrics, seed=seed, cells=True)
    up, there = counts.is_flagged, sample.has_verdict
    judged = counts_of_judge(counts, up, np.flatnonzero(there))

    def draws(estimand: Estimand) -> Matrix:
        matrix = cell_matrix(judged, estimand, seed=seed)
        in_window = estimand == "window"
        return _with_share_noise(matrix, counts, sample, up, there, seed, in_window=in_window)

    drawn = MatrixDraws(draws, "Beta posterior by score cells, shares of verdicts estimated")
    return estimates(judged, metrics=metrics, scaled=weighted_matrix(judged), drawn=drawn)


def _with_share_noise(
    draws: Matrix,
    counts: Counts,
    first_phase: FirstPhase,
    says_yes: Bools,
    judged: Bools,
    seed: int,
    *,
    in_window: bool = False,
) -> Matrix:
    """Move draws of the four cells by what the shares of the verdicts may be off."""
    rates = np.zeros(len(judged))
    for of in (judged & says_yes, judged & ~says_yes):
        y, n = counts.positive[of], counts.labeled[of]
        rates[of] = (y + (y.sum() + 0.5) / (n.sum() + 1)) / (n + 1)
    both = np.stack([rates, 1 - rates], axis=1)
    of_item = np.hstack([both * says_yes[:, np.newaxis], both * ~says_yes[:, np.newaxis]])
    of_item[~judged] = 0
    covariance = share_covariance(first_phase, counts.size, of_item, in_window=in_window)
    moved = np.random.default_rng(seed).multivariate_normal(
        np.zeros(4), covariance, size=len(draws.tp), method="eigh", check_valid="ignore"
    )
    cells = (draws.tp, draws.fp, draws.fn, draws.tn)
    return Matrix(*(np.maximum(of + by, 0.0) for of, by in zip(cells, moved.T, strict=True)))


def _kappa(matrix: Matrix) -> Floats:
    observed = (matrix.tp + matrix.tn) / matrix.total
    by_chance = matrix.flagged * matrix.positive + matrix.passed * matrix.negative
    expected = by_chance / matrix.total**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected < 1, (observed - expected) / (1 - expected), np.nan))


def _interval(draws: Floats, point: float, level: float) -> Interval | None:
    if np.isnan(draws).all():
        return None
    return credible_interval(draws, level, point=point)
