"""From counts to estimates: the same counts give the same numbers, whatever came in between."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.model import Stratum
from monitor.domain.report import EstimateRow, NoticeRow
from monitor.rounds.corrected import corrected_rows
from monitor.stats.alternatives import guess
from monitor.stats.carryover import carry, carry_steps
from monitor.stats.counts import Counts, StratumCounts
from monitor.stats.detector import log_e_factor
from monitor.stats.draws import Draws, JointPosterior, draw, round_posterior
from monitor.stats.missing import missing_bounds
from monitor.stats.own_share import with_own_share
from monitor.stats.posterior import estimates
from monitor.stats.probability import metric_quantile, probability_at_least, probability_at_most

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from monitor.domain.settings import Matrix, RoundSettings
    from monitor.rounds.pictures import Pictures
    from monitor.stats.carryover import CarryStep
    from monitor.stats.half_space import Limit
    from monitor.stats.mixture import BetaMixture
    from monitor.stats.posterior import MetricEstimate
    from monitor.storage.estimate_store import StratumTally

METRICS = (
    "precision",
    "recall",
    "f1",
    "specificity",
    "npv",
    "prevalence",
    "accuracy",
    "balanced_accuracy",
    "mcc",
    "fpr",
    "false_omission_rate",
    "flagged_rate",
    "precision_gain",
    "recall_gain",
)
BOUNDED = ("precision", "recall")
LEARNING_ROUNDS = 6
PROPOSED_QUANTILE = 0.05


@dataclass(frozen=True, slots=True)
class Tally:
    """The labeled confusion matrix of one version of a round, stratum by stratum."""

    strata: tuple[StratumTally, ...]

    @property
    def frame(self) -> list[Stratum]:
        """Names and classes of the strata."""
        return [Stratum(s.stratum, flagged=s.flagged) for s in self.strata]

    @property
    def counts(self) -> Counts:
        """The same as the statistics take it."""
        return Counts.of_arrays(
            size=[s.size for s in self.strata],
            labeled=[s.labeled for s in self.strata],
            positive=[s.positive for s in self.strata],
            is_flagged=[s.flagged for s in self.strata],
        )

    @property
    def missing(self) -> NDArray[np.int64]:
        """Items handed out that have no usable answer, per stratum."""
        return np.array([s.planned - s.labeled for s in self.strata], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class LimitReading:
    """One round against one limit: log e per alternative, and P(the metric keeps the limit)."""

    limit: Limit
    log_e: tuple[float, ...]
    recovered: float


@dataclass(frozen=True, slots=True)
class RoundEstimate:
    """All that one version of a round says."""

    rows: list[EstimateRow]
    carried: JointPosterior
    readings: list[LimitReading]
    proposed_limits: dict[str, float] = field(default_factory=dict)
    notices: list[NoticeRow] = field(default_factory=list)
    distances: dict[str, float] = field(default_factory=dict)
    pictures: Pictures | None = None


def estimate_round(
    now: Tally,
    earlier: Sequence[Tally],
    *,
    reference: Mapping[str, tuple[int, int]] | None,
    settings: RoundSettings,
    seed: int,
) -> RoundEstimate:
    """Estimate a round from its own labels and, apart from that, with its history.

    Parameters
    ----------
    now, earlier
        This round and the earlier estimated rounds of its history in slot order, all with the
        same strata.
    reference
        Positive and labeled per stratum from before launch, or None.
    settings
        As frozen when the round opened.
    seed
        Fixes the Sobol points.
    """
    counts = now.counts
    before = _reference_counts(now.frame, reference)
    carried = _carried([*(tally.counts for tally in earlier), counts], before, settings)
    carried = _with_own_share(carried, counts, settings)
    draws = draw(carried, seed=seed, size=counts.size)
    return RoundEstimate(
        rows=_rows(now, carried, draws, settings, seed),
        carried=carried,
        readings=_readings(counts, earlier, before, draws, settings),
        proposed_limits={}
        if settings.limits.bounds
        else propose_limits([*earlier, now], reference, seed=seed),
    )


def _rows(
    now: Tally, carried: JointPosterior, draws: Draws, settings: RoundSettings, seed: int
) -> list[EstimateRow]:
    counts = now.counts
    level = settings.level
    own = estimates(counts, metrics=METRICS, level=level, seed=seed, basis="round")
    with_history = estimates(
        counts,
        metrics=METRICS,
        estimands=("rate",),
        level=level,
        posterior=carried,
        basis="carried",
        draws=draws,
    )
    corrected = corrected_rows(counts, METRICS, settings, seed=seed)
    return [*(_row(each, now, seed) for each in (*own, *with_history)), *corrected]


def _row(each: MetricEstimate, now: Tally, seed: int) -> EstimateRow:
    bounds = None
    if each.basis == "round" and each.metric in BOUNDED and now.missing.any():
        bounds = missing_bounds(
            now.counts,
            now.missing,
            each.metric,
            estimand=each.estimand,
            level=each.level,
            seed=seed,
        )
    return EstimateRow(
        metric=each.metric,
        estimand=each.estimand,
        basis=each.basis,
        point=each.point,
        low=each.low,
        high=each.high,
        level=each.level,
        method=each.method,
        reason=each.reason,
        bound_low=None if bounds is None else bounds.low,
        bound_high=None if bounds is None else bounds.high,
    )


def carried_before(
    earlier: Sequence[Tally],
    strata: Sequence[Stratum],
    reference: Mapping[str, tuple[int, int]] | None,
    settings: RoundSettings,
) -> JointPosterior | None:
    """Say what is known of the strata before a round is labeled; None where nothing is."""
    known = _reference_counts(strata, reference)
    if known is None and not earlier:
        return None
    return _carried([tally.counts for tally in earlier], known, settings)


def class_steps(
    rounds: Sequence[Tally],
    strata: Sequence[Stratum],
    reference: Mapping[str, tuple[int, int]] | None,
    settings: RoundSettings,
) -> dict[str, tuple[CarryStep, ...]]:
    """Carry each predicted class round by round, as `carried_before` does in one go."""
    known = _reference_counts(strata, reference)
    return {
        name: carry_steps(
            [_of_class(tally.counts, flagged=name == "flagged") for tally in rounds],
            reference=None if known is None else _of_class(known, flagged=name == "flagged"),
            hazard=settings.carry.hazard,
            restart=settings.carry.restart,
        )
        for name in ("flagged", "passed")
    }


def _carried(
    rounds: Sequence[Counts], reference: Counts | None, settings: RoundSettings
) -> JointPosterior:
    flagged, passed = (
        carry(
            [_of_class(counts, flagged=flagged) for counts in rounds],
            reference=None if reference is None else _of_class(reference, flagged=flagged),
            hazard=settings.carry.hazard,
            restart=settings.carry.restart,
        )
        for flagged in (True, False)
    )
    return JointPosterior(flagged=flagged, passed=passed)


def _with_own_share(
    carried: JointPosterior, counts: Counts, settings: RoundSettings
) -> JointPosterior:
    """Reserve weight for the round alone: it leans down where flagged, up where passed."""
    share, lean = settings.carry.own_share, settings.carry.lean

    def of_class(mixture: BetaMixture, lean: float, *, flagged: bool) -> BetaMixture:
        if mixture.weight.size == 1:  # nothing was known before: it is the round alone
            return mixture
        return with_own_share(mixture, *_of_class(counts, flagged=flagged), share=share, lean=lean)

    return JointPosterior(
        flagged=of_class(carried.flagged, -lean, flagged=True),
        passed=of_class(carried.passed, lean, flagged=False),
    )


def _of_class(counts: Counts, *, flagged: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    chosen = counts.is_flagged == flagged
    return counts.positive[chosen], counts.labeled[chosen]


def _readings(
    counts: Counts,
    earlier: Sequence[Tally],
    reference: Counts | None,
    draws: Draws,
    settings: RoundSettings,
) -> list[LimitReading]:
    rates = guess([tally.counts for tally in earlier], reference)
    if rates is None and settings.reference is not None:
        rates = _guess_of_matrix(settings.reference, counts)
    found = []
    for limit in settings.limits.watched():
        keeps = probability_at_least if limit.side == "at_least" else probability_at_most
        found.append(
            LimitReading(
                limit=limit,
                log_e=tuple(float(v) for v in log_e_factor(limit, counts, rates)),
                recovered=keeps(draws, counts.size, limit.metric, limit.value),
            )
        )
    return found


def _guess_of_matrix(matrix: Matrix, counts: Counts) -> NDArray[np.float64] | None:
    """First guess from four counts: every band of a class at the class's rate.

    Bands differ, but a guess only steers the power of the detector, never its promise.
    """
    classes = Counts.of_matrix(
        **matrix.model_dump(),
        flagged_size=matrix.tp + matrix.fp,
        passed_size=matrix.fn + matrix.tn,
    )
    rates = guess([], classes)
    return None if rates is None else np.where(counts.is_flagged, rates[0], rates[1])


def _reference_counts(
    strata: Sequence[Stratum], reference: Mapping[str, tuple[int, int]] | None
) -> Counts | None:
    if reference is None:
        return None
    pairs = [reference.get(stratum.name, (0, 0)) for stratum in strata]
    return Counts.of_arrays(
        size=[labeled for _, labeled in pairs],
        labeled=[labeled for _, labeled in pairs],
        positive=[positive for positive, _ in pairs],
        is_flagged=[stratum.flagged for stratum in strata],
    )


def propose_limits(
    rounds: Sequence[Tally], reference: Mapping[str, tuple[int, int]] | None, *, seed: int
) -> dict[str, float]:
    """Propose limits: a low quantile of what the reference and the first rounds, pooled, found.

    Nothing until `LEARNING_ROUNDS` have an estimate. The true level may already be under a
    proposed limit; it counts from its acceptance in the config on.
    """
    if len(rounds) < LEARNING_ROUNDS:
        return {}
    first, sizes = rounds[:LEARNING_ROUNDS], rounds[-1].counts
    known = [tally.counts for tally in first]
    before = _reference_counts(first[0].frame, reference)
    known += [] if before is None else [before]
    labeled = np.sum([c.labeled for c in known], axis=0)
    positive = np.sum([c.positive for c in known], axis=0)
    pooled = Counts(
        flagged=_pooled(sizes.is_flagged, labeled, positive),
        passed=_pooled(~sizes.is_flagged, labeled, positive),
    )
    draws = draw(round_posterior(pooled), seed=seed)
    found = {
        metric: metric_quantile(draws, sizes.size, metric, PROPOSED_QUANTILE) for metric in BOUNDED
    }
    return {metric: round(value, 3) for metric, value in found.items() if value is not None}


def _pooled(
    chosen: NDArray[np.bool_],
    labeled: NDArray[np.int64],
    positive: NDArray[np.int64],
) -> tuple[StratumCounts, ...]:
    return tuple(
        StratumCounts(size=int(n), labeled=int(n), positive=int(y))
        for n, y in zip(labeled[chosen], positive[chosen], strict=True)
    )
