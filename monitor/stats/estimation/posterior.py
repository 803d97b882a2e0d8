r"""Point and interval of any metric from the joint posterior of the strata's rates.

The default method of the project. The strata's rates are drawn jointly (``draws``), each draw
makes a confusion matrix, each matrix a value of the metric; the interval is between the
equal-tailed quantiles of those values. Where no label of a class had one of the two answers, it
reaches to a class without any (``matrices_at_the_edge``). Against the exact two-stratum posterior
(numerical quadrature) the ends agree to 1e-4 in ordinary cases. The point comes from the labels
scaled up to the window (``scaled_matrix``): the posterior mean of recall lies too low where bands
are many and labels few, round after round.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from monitor.stats.core.counts import Counts, Interval
from monitor.stats.core.draws import ESTIMANDS, POINTS, check_estimand, credible_interval
from monitor.stats.core.levels import check_probability
from monitor.stats.core.metrics import FLAGGED, PASSED, Matrix, Metric, metric
from monitor.stats.core.reasons import EmptyClass, UndefinedDraws, Unlabeled
from monitor.stats.core.sampled_sizes import with_size_noise
from monitor.stats.estimation.cell_matrix import matrix_draws, weighted_matrix
from monitor.stats.estimation.small_counts import SmallCounts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.stats.core.arrays import Bools, Floats, Ints
    from monitor.stats.core.draws import Draws, Estimand, JointPosterior
    from monitor.stats.core.reasons import NoEstimate
    from monitor.stats.estimation.cell_matrix import MatrixDraws
    from monitor.stats.estimation.small_counts import FewLabels


Basis = Literal["round", "pooled"]

UNDEFINED_LIMIT = 0.05
"""Largest share of draws without a value of the metric at which an estimate is still given.

Up to here the interval describes the draws that have a value, and ``undefined_share`` says how
many have none; above, whether the metric exists at all is the open question."""


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """What one round says about one metric.

    Of the rates or of the window's own items (``estimand``), from this round alone (``round``) or
    with its history (``pooled``). ``point``, ``low`` and ``high`` are a point and an equal-tailed
    interval, which holds it, or ``None`` with a ``reason``.

    Parameters
    ----------
    level
        Posterior probability of the interval, for this metric alone. With its history the
        interval is one of calibrated pooling (``robust_mixture``), whose coverage is measured.
    method
        How it was computed, in a few words.
    undefined_share
        Share of the draws in which the metric has no value, in [0, 1].
    caution
        Which few labels decide the value (``small_counts``), ``None`` otherwise; the
        interval may then hold the truth less often than ``level`` says. Basis ``round`` only.
    """

    metric: str
    estimand: Estimand
    basis: Basis
    point: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    undefined_share: float
    reason: NoEstimate | None
    caution: FewLabels | None = None

    @property
    def interval(self) -> Interval | None:
        """Point and ends together, ``None`` if there is no value."""
        if self.point is None or self.low is None or self.high is None:
            return None
        return Interval(self.point, self.low, self.high)

    def __str__(self) -> str:
        answer = self.interval or f"no value, {self.reason}"
        return f"{self.metric} ({self.estimand}, {self.basis}): {answer}"


def estimate(
    counts: Counts,
    *,
    metrics: Sequence[str] = ("precision", "recall"),
    estimand: Estimand = "rate",
    level: float = 0.95,
    seed: int = 0,
    posterior: JointPosterior | None = None,
    basis: Basis = "round",
) -> dict[str, MetricEstimate]:
    """Estimate metrics of one estimand, by name; posterior and basis are as in ``estimates``.

    Examples
    --------
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=160, passed_size=4840
    ... )
    >>> print(estimate(counts)["recall"])
    recall (rate, round): 0.561 [0.512, 0.609]
    """
    rows = estimates(
        counts,
        metrics=metrics,
        estimands=(estimand,),
        level=level,
        seed=seed,
        posterior=posterior,
        basis=basis,
    )
    return {row.metric: row for row in rows}


def estimates(
    counts: Counts,
    *,
    metrics: Sequence[str] = ("precision", "recall"),
    estimands: Sequence[Estimand] = ESTIMANDS,
    level: float = 0.95,
    seed: int = 0,
    posterior: JointPosterior | None = None,
    basis: Basis = "round",
    scaled: Matrix | None = None,
    points: int = POINTS,
    cells: bool = False,
    drawn: MatrixDraws | None = None,
) -> list[MetricEstimate]:
    """Estimate several metrics of several estimands from one set of draws.

    Parameters
    ----------
    estimands
        ``rate``: the rates behind the window, to pool and to compare with limits. The numbers of
        flagged and passed items are taken as counted, so the interval of a prevalence does not
        include how these numbers vary from window to window.
        ``window``: the window's own items, of which the labeled ones are known.
    posterior
        Distribution of the rates; this round's labels alone if not given.
    basis
        Where ``posterior`` comes from.
    scaled
        Matrix that the points are read from. If not given, the one of the counts
        (``weighted_matrix``) where the posterior comes from this
        round's labels alone; where ``posterior`` or ``drawn`` is given, points are posterior means.
    cells
        Whether strata are score cells, of which each class is one rate (``cell_matrix``); then
        there is no ``posterior``.
    drawn
        Draws of the matrices, where they are made already; seed and points then do nothing.

    Returns
    -------
    list of MetricEstimate
        Estimand by estimand, each in the order of ``metrics``.

    Notes
    -----
    No value is given, but the reason, where

    - the metric is undefined in more than ``UNDEFINED_LIMIT`` of the draws (the others are
      left out, and ``undefined_share`` counts them);
    - a class that the metric depends on has items but no label, and nothing was pooled: the
      prior alone is not an estimate;
    - a predicted class is empty and the metric looks within an actual class (``rate`` only):
      with nothing flagged recall is 0 or undefined for every classifier. The
      ``window`` estimate then states that 0.

    The points of all metrics come from one matrix, so they agree: F1 follows from the points of
    precision and recall. Where the matrix has no value of the metric though the posterior has
    (recall without any positive label), the point is the posterior mean. A point outside of the
    interval is moved to its end. Coverage is measured by ``benchmarks/coverage.py``.

    Examples
    --------
    >>> counts = Counts.of_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=1600, passed_size=48_400
    ... )
    >>> for each in estimates(counts, metrics=("recall",)):
    ...     print(each)
    recall (rate, round): 0.561 [0.512, 0.609]
    recall (window, round): 0.561 [0.514, 0.606]
    """
    _check_request(estimands, level, basis)
    chosen = [metric(name) for name in metrics]
    if scaled is None and posterior is None and drawn is None:
        scaled = weighted_matrix(counts, cells=cells)
    if drawn is None:
        drawn = matrix_draws(counts, seed=seed, points=points, cells=cells, posterior=posterior)
    rows: list[MetricEstimate] = []
    for estimand in estimands:
        matrix = with_size_noise(drawn.of(estimand), counts, seed=seed)
        is_round_alone = basis == "round"  # pooled values rest on earlier labels too
        edges = matrices_at_the_edge(counts, matrix) if is_round_alone else []
        labels = SmallCounts(counts, estimand, cells=cells) if is_round_alone else None
        for each in chosen:
            values = each(matrix)
            row = MetricEstimate(
                metric=each.name,
                estimand=estimand,
                basis=basis,
                point=None,
                low=None,
                high=None,
                level=level,
                method=drawn.method,
                undefined_share=float(np.isnan(values).mean()),
                reason=_no_estimate(each, counts, estimand, basis) or _undefined(each, values),
            )
            if row.reason is None:
                point = None if scaled is None else float(each(scaled))
                ends = [each(edge) for edge in edges]
                interval = credible_interval(values, level, point=point, edges=ends)
                caution = None if labels is None else labels.caution(each)
                row = replace(row, **asdict(interval), caution=caution)
            rows.append(row)
    return rows


def metric_quantile(draws: Draws, size: Ints, name: str, share: float) -> float | None:
    """Posterior quantile of a metric (``rate`` estimand), for proposing a limit.

    ``None`` if the metric is undefined in more than ``UNDEFINED_LIMIT`` of the draws. ``share`` is
    the probability below the quantile, in (0, 1): 0.05 for a limit that the classifier, as it has
    been, is very likely to keep.
    """
    check_probability(share, "share")
    values = metric(name)(draws.rate_matrix(size))
    if np.isnan(values).mean() > UNDEFINED_LIMIT:
        return None
    return float(np.quantile(values[~np.isnan(values)], share, method="inverted_cdf"))


def _check_request(estimands: Sequence[str], level: float, basis: str) -> None:
    check_probability(level, "level")
    for estimand in estimands:
        check_estimand(estimand)
    if basis not in get_args(Basis):
        message = f"no basis is called {basis!r}; there are {', '.join(get_args(Basis))}"
        raise ValueError(message)


def _no_estimate(
    metric: Metric, counts: Counts, estimand: Estimand, basis: Basis
) -> NoEstimate | None:
    """Find why the labels do not determine the metric; ``None`` if they do."""
    needs_items = estimand == "rate" and metric.by_truth
    for name, members in ((FLAGGED, counts.is_flagged), (PASSED, ~counts.is_flagged)):
        size = int(counts.size[members].sum())
        if size == 0 and needs_items:
            return EmptyClass(name)
        needs_labels = basis == "round" and name in metric.uses
        if size > 0 and needs_labels and not counts.labeled[members].any():
            return Unlabeled(name, size)
    return None


def _undefined(metric: Metric, values: Floats) -> NoEstimate | None:
    """Find that too many draws have no value; ``None`` if enough have one."""
    share = float(np.isnan(values).mean())
    if share <= UNDEFINED_LIMIT:
        return None
    return UndefinedDraws(metric.undefined, share, UNDEFINED_LIMIT)


SUMMARY_METRICS = ("precision", "recall", "f1", "specificity", "npv", "prevalence")
"""What a reader of a confusion matrix asks first."""


def estimate_matrix(
    *,
    tp: int,
    fp: int,
    fn: int,
    tn: int,
    flagged_size: int,
    passed_size: int,
    metrics: tuple[str, ...] = SUMMARY_METRICS,
    level: float = 0.95,
    seed: int = 0,
) -> list[MetricEstimate]:
    """Estimate metrics from the labels of one window, both the rates and the window's own.

    TP and FP are among the items labeled of the predicted positives, FN and TN among those labeled
    of the predicted negatives; ``flagged_size`` and ``passed_size`` are these classes in the whole
    window, labeled or not.

    Examples
    --------
    >>> found = estimate_matrix(
    ...     tp=138, fp=22, fn=108, tn=4732, flagged_size=1600, passed_size=48400
    ... )
    >>> for each in found[:2]:
    ...     print(each)
    precision (rate, round): 0.863 [0.803, 0.909]
    recall (rate, round): 0.561 [0.512, 0.609]
    """
    _check_matrix(
        {"tp": tp, "fp": fp, "fn": fn, "tn": tn}, flagged_size=flagged_size, passed_size=passed_size
    )
    counts = Counts.of_matrix(
        tp=tp, fp=fp, fn=fn, tn=tn, flagged_size=flagged_size, passed_size=passed_size
    )
    return estimates(counts, metrics=metrics, level=level, seed=seed)


def _check_matrix(cells: dict[str, int], *, flagged_size: int, passed_size: int) -> None:
    """Refuse impossible counts in the words of the caller."""
    for name, count in cells.items():
        if count < 0:
            message = f"{name} is {count}; it counts labeled items, so it is 0 or more"
            raise ValueError(message)
    classes = (("tp", "fp", "flagged", flagged_size), ("fn", "tn", "passed", passed_size))
    for one, other, name, size in classes:
        labeled = cells[one] + cells[other]
        if labeled > size:
            meant = "positives" if name == "flagged" else "negatives"
            message = (
                f"{one} + {other} = {labeled} items are labeled, but {name}_size is {size}; it "
                f"counts all predicted {meant} of the window, labeled or not"
            )
            raise ValueError(message)


def matrices_at_the_edge(counts: Counts, matrix: Matrix) -> list[Matrix]:
    """Matrices in which the answers that no label of a class had are set to none.

    A Beta posterior after no positive label leaves out the rate 0, by a hair, however many labels
    there are; so an equal-tailed interval for recall would leave out 1 although not one missed
    positive was seen, and would hold a nearly perfect recall hardly ever. Brown, Cai & DasGupta,
    "Interval Estimation for a Binomial Proportion", Statistical Science 16 (2001), section 4.1.1,
    let the Jeffreys interval reach 0 there; so do we, for every metric.

    The draws of ``matrix`` with one class changed, with the other, and with both: none to three of
    them. An unlabeled class has no edge. The ends of an interval are taken over
    the draws and all of these; they only move where some count is 0.
    """
    up = counts.is_flagged
    flagged = [(matrix.tp, matrix.fp), *_edge(counts, up, matrix.flagged)]
    passed = [(matrix.fn, matrix.tn), *_edge(counts, ~up, matrix.passed)]
    return [Matrix(*up, *down) for down in passed for up in flagged][1:]


def _edge(counts: Counts, members: Bools, items: Floats) -> list[tuple[Floats, Floats]]:
    """Positives and negatives of a class without the answer never seen; none if both were."""
    labeled, seen = counts.labeled[members].sum(), counts.positive[members].sum()
    if labeled == 0 or 0 < seen < labeled:
        return []
    nothing = np.zeros_like(items)
    return [(nothing, items) if seen == 0 else (items, nothing)]
