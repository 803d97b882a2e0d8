"""Compute estimates from counts; the same counts always give the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.alerting import LEARNING_ROUNDS
from monitor.domain.settings import RoundSettings
from monitor.rounds.estimation.evidence import classifier_evidence, judge_evidence
from monitor.rounds.estimation.history import (
    HistoryState,
    before_launch,
    cells_to_pool,
    is_cut,
    labels_of_classes,
    pooled_matrix,
)
from monitor.rounds.estimation.judge import judge_estimates
from monitor.rounds.estimation.label_errors import (
    CheckedLabels,
    corrected,
    corrected_rows,
    is_comparable,
    reported_rows,
)
from monitor.rounds.estimation.tally import Counted, Tally
from monitor.rounds.estimation.types import RoundEstimate
from monitor.stats.core.beta_mixture import BetaMixture
from monitor.stats.core.counts import Counts, summed
from monitor.stats.core.draws import Draws, JointPosterior, draw, round_posterior
from monitor.stats.core.metrics import METRICS, Matrix
from monitor.stats.core.reasons import LabelsToCome, NoEstimate, Unlabeled
from monitor.stats.estimation.missing import completions
from monitor.stats.estimation.posterior import MetricEstimate, estimates, metric_quantile
from monitor.stats.history.robust_mixture import with_robust_weight
from monitor.stats.labels.audit import ClassAudits

if TYPE_CHECKING:
    from numpy.typing import NDArray


BOUNDED = ("precision", "recall")  # Metrics that get proposed limits: those that people watch

PROPOSED_QUANTILE = 0.05
"""The level of the last rounds lies above this quantile with probability 0.95."""
PROPOSED_MARGIN = 0.05
"""Margin of a proposed limit under that quantile. Five points above its limit, a metric that varies
from week to week with a standard deviation of .03 alerts rarely (benchmarks/promise.py)."""


def estimate_round(
    now: Tally,
    earlier: Sequence[Counted],
    history: HistoryState,
    *,
    evidence: Sequence[Tally],
    evidence_earlier: Sequence[Counted] | None = None,
    reference: Mapping[str, tuple[int, int]] | None,
    settings: RoundSettings,
    seed: int,
    completed: Sequence[HistoryState] = (),
    checked: CheckedLabels | None = None,
    arrived: ClassAudits | None = None,
) -> RoundEstimate:
    """Estimate a round from its own labels and, apart from that, with its history.

    earlier: Estimated rounds of its history in slot order, with the same strata.
    history: The strata's distribution from these rounds and the reference, pooled.
    evidence: This round with its labels as evidence counts them, up to each block.
    evidence_earlier: The earlier rounds as evidence counts them; ``earlier`` if not given.
    reference: Positive and labeled per stratum from before launch, or None.
    completed: ``history`` if all its missing answers were negative, and if all were positive.
    arrived: The share of its positive labels that is known, if the others still count as negative.
    """
    launch = before_launch(now.frame, reference)
    pooled = _with_robust_weight(history, settings)
    scaled = pooled_matrix(history)
    own = _own_estimates(now, settings, seed, arrived)
    unpooled = _unpooled(own[0], arrived)
    with_history = [
        _without_number(row, unpooled[row.metric]) if row.metric in unpooled else row
        for row in _pooled_estimates(history, pooled, seed, scaled)
    ]
    # The missing answers of each class are all negative or all positive, in every way.
    ways = [_with_robust_weight(state, settings) for state in completed]
    corners = [
        _pooled_estimates(history, JointPosterior(up.flagged, down.passed), seed)
        for up in ways
        for down in ways
    ]
    before = earlier if evidence_earlier is None else evidence_earlier
    return RoundEstimate(
        rows=[
            *reported_rows(own[0], own[1:]),
            *judge_estimates(now, settings.limits, seed=seed),
            *corrected_rows(
                now.counts,
                completions(now.counts, now.missing),
                tuple(METRICS),
                settings,
                seed=seed,
                checked=checked,
                arrived=arrived,
            ),
            *reported_rows(with_history, corners),
        ],
        pooled=pooled,
        readings=[
            *classifier_evidence(evidence, before, launch, settings),
            *judge_evidence(evidence[-1], before, settings.limits),
        ],
        proposed_limits={}
        if settings.limits.watched() or not is_comparable(arrived)
        else propose_limits(
            [*earlier, now], launch, cells_to_pool(now.frame, settings.sample), seed=seed
        ),
        proposed_unlabeled=unlabeled_of([*earlier, now]),
        arrived=arrived,
    )


def _own_estimates(
    now: Tally, settings: RoundSettings, seed: int, arrived: ClassAudits | None
) -> list[list[MetricEstimate]]:
    """Estimate from the round alone: as it is, then with its missing answers at each extreme."""
    cells = settings.sample.cells is not None
    samples = [now.counts, *completions(now.counts, now.missing)]
    if arrived is not None:
        return corrected(samples, arrived, metrics=tuple(METRICS), settings=settings, seed=seed)
    return [
        estimates(counts, metrics=tuple(METRICS), seed=seed, basis="round", cells=cells)
        for counts in samples
    ]


def _unpooled(own: Sequence[MetricEstimate], arrived: ClassAudits | None) -> dict[str, NoEstimate]:
    """Return the metrics that get no pooled value, and why.

    A pooled value would use earlier rounds alone, or count labels still to come as negative.
    """
    if arrived is not None and not is_comparable(arrived):
        return {row.metric: LabelsToCome(arrived.least_share) for row in own}
    return {row.metric: row.reason for row in own if isinstance(row.reason, Unlabeled)}


def _without_number(row: MetricEstimate, reason: NoEstimate) -> MetricEstimate:
    return replace(row, point=None, low=None, high=None, reason=reason, caution=None)


def _pooled_estimates(
    history: HistoryState, pooled: JointPosterior, seed: int, scaled: Matrix | None = None
) -> list[MetricEstimate]:
    return estimates(
        history.now.window,
        metrics=tuple(METRICS),
        estimands=("rate",),
        posterior=pooled,
        basis="pooled",
        seed=seed,
        scaled=scaled,
    )


def _with_robust_weight(history: HistoryState, settings: RoundSettings) -> JointPosterior:
    def shared(mixture: BetaMixture, *, flagged: bool) -> BetaMixture:
        if mixture.weight.size == 1:  # nothing was known before: it is the round alone
            return mixture
        return with_robust_weight(
            mixture,
            *history.now.of_class(flagged=flagged),
            share=settings.pooling.robust_weight,
        )

    return JointPosterior(
        flagged=shared(history.after.flagged, flagged=True),
        passed=shared(history.after.passed, flagged=False),
    )


def propose_limits(
    rounds: Sequence[Counted],
    reference: Counts | None,
    cells: NDArray[np.int64] | None,
    *,
    seed: int,
) -> dict[str, float]:
    """Propose limits: a low quantile of the latest rounds, pooled, minus a margin.

    A limit at the level itself would raise alarms about a metric that varies around it from week to
    week. Empty until `LEARNING_ROUNDS` have an estimate.
    """
    if len(rounds) < LEARNING_ROUNDS:
        return {}
    pooled = [counted.counts for counted in rounds[-LEARNING_ROUNDS:]]
    if reference is not None:
        pooled.append(reference)
    draws, size = _drawn_as_one(pooled, rounds[-1].counts, cells, seed)
    result = {metric: metric_quantile(draws, size, metric, PROPOSED_QUANTILE) for metric in BOUNDED}
    return {
        metric: round(value - proposal_margin(value), 3)
        for metric, value in result.items()
        if value is not None
    }


def unlabeled_of(rounds: Sequence[Counted]) -> int:
    """Count the missing answers of the rounds from which limits are proposed."""
    return sum(int(counted.missing.sum()) for counted in rounds[-LEARNING_ROUNDS:])


def proposal_margin(level: float) -> float:
    """Return the margin of a proposed limit under a level, which is smaller near 0 and 1.

    >>> proposal_margin(0.5), round(proposal_margin(0.98), 3)
    (0.05, 0.005)
    """
    return min(PROPOSED_MARGIN, level / 4, (1 - level) / 4)


def _drawn_as_one(
    rounds: Sequence[Counts],
    now: Counts,
    cells: NDArray[np.int64] | None,
    seed: int,
) -> tuple[Draws, NDArray[np.int64]]:
    """Draw rates from the labels of rounds as one sample; returns them and the stratum sizes."""
    if cells is None:
        together = summed(rounds)
        labeled = together.labeled  # a stratum without a label does not count in the prior
        bands = Counts.of_arrays(
            size=labeled,
            labeled=labeled,
            positive=together.positive,
            is_flagged=together.is_flagged,
        )
        return draw(round_posterior(bands), seed=seed), now.size
    # Verdicts may mean something else in each round, so labels of rounds are not added up.
    parts = labels_of_classes(rounds if is_cut(cells) else [summed(rounds)], now, cells)
    labeled, positive = (
        np.sum([getattr(part, name) for part in parts], axis=0) for name in ("labeled", "positive")
    )
    pooled = replace(parts[0], labeled=labeled, positive=positive)
    return draw(pooled.posterior(), seed=seed), pooled.size
