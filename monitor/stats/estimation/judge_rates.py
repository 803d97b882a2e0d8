r"""How good a judge's verdicts are, by the labels of people alone.

Where a verdict cuts the strata, it is the same for all items of a stratum. So the judge is a
classifier whose "flagged" strata are the strata of a yes, and its rates follow from the labels as
the monitored classifier's do (``cell_matrix``). Agreement is Youden's J and Cohen's kappa over the
window (``metrics.AGREEMENT_METRICS``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monitor.stats.core.counts import Counts, Interval
from monitor.stats.core.draws import credible_interval
from monitor.stats.core.metrics import Matrix, metric
from monitor.stats.core.quantiles import beta_quantiles
from monitor.stats.core.sampled_sizes import with_size_noise
from monitor.stats.estimation.cell_matrix import cell_matrix, weighted_matrix

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from monitor.stats.core.arrays import Bools, Floats, Ints


class JudgeRates(NamedTuple):
    """Shares of the positives and of the negatives that a judge says yes to, and agreement.

    None if undefined, as kappa is where the judge says the same of all items. ``youden_j`` is
    TPR - FPR.
    """

    tpr: Interval | None
    fpr: Interval | None
    youden_j: Interval | None
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
    drawn = with_size_noise(cell_matrix(of_judge, "rate", seed=seed), of_judge, seed=seed)
    draws = _with_noise_of_verdicts(drawn, seed)
    points = weighted_matrix(of_judge)
    tpr, fpr, youden_j, kappa = (
        _interval(of(draws), float(of(points)), level)
        for of in map(metric, ("recall", "fpr", "youden_j", "kappa"))
    )
    says_both = (
        of_judge.size[of_judge.is_flagged].any() and of_judge.size[~of_judge.is_flagged].any()
    )
    return JudgeRates(tpr, fpr, youden_j, kappa if says_both else None)


def _with_noise_of_verdicts(drawn: Matrix, seed: int) -> Matrix:
    """Draw the share of a yes too: windows of one process differ in it, by its Beta posterior.

    A rate is of the process. Where few negatives have a yes, their number says much of the FPR.
    """
    yes, no = (float(np.max(each)) for each in (drawn.flagged, drawn.passed))
    u = (np.arange(np.size(drawn.tp)) + 0.5) / np.size(drawn.tp)
    share = beta_quantiles(yes + 0.5, no + 0.5, np.random.default_rng(seed).permutation(u))
    of_yes, of_no = share * (yes + no) / max(yes, 1.0), (1 - share) * (yes + no) / max(no, 1.0)
    return Matrix(of_yes * drawn.tp, of_yes * drawn.fp, of_no * drawn.fn, of_no * drawn.tn)


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
    rows = None if counts.rows is None else counts.rows[order]
    flags = np.asarray(says_yes, dtype=np.bool_)[order]
    return Counts.of_arrays(**columns, is_flagged=flags, rows=rows)


def _interval(draws: Floats, point: float, level: float) -> Interval | None:
    if np.isnan(draws).all():
        return None
    return credible_interval(draws, level, point=point)
