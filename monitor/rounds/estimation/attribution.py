"""Why precision is not what it was: rarer positives, a worse classifier, or only noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitor.domain.report import CauseRow
from monitor.presentation.causes import cause_sentence
from monitor.stats.core.counts import Counts, Interval, side_by_side, summed
from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.core.scaled_matrix import scaled_matrix
from monitor.stats.drift.attribution import PrecisionChange, Working, precision_change
from monitor.stats.estimation.cell_matrix import cell_posterior, class_sizes, weighted_matrix

if TYPE_CHECKING:
    from monitor.rounds.estimation.tally import Counted, Tally
    from monitor.stats.core.metrics import Matrix

POINTS = 2**11  # An explanation needs two digits


def precision_cause(
    now: Tally, earlier: Sequence[Counted], *, seed: int, cells: bool = False
) -> CauseRow | None:
    """Explain precision in this round alone against all earlier rounds of its history, pooled.

    None if there is no earlier round, or a predicted class is empty or without a label on
    either side. ``cells`` says that each class is one rate (`cells_to_pool`).
    """
    if not earlier:
        return None
    before, after = _together(earlier, now), now.counts
    if not (_is_labeled(before) and _is_labeled(after)):
        return None
    # Seeds of their own: from one both windows would draw alike, and differ too little.
    works = [
        _working(counts, seed=seed + i, cells=cells) for i, counts in enumerate((before, after))
    ]
    scale = weighted_matrix if cells else _scaled
    scaled = Working.of_matrix(scale(before)), Working.of_matrix(scale(after))
    return _row(precision_change(*works, scaled=scaled), len(earlier))


def _together(earlier: Sequence[Counted], now: Tally) -> Counts:
    """Return rounds as one window; where a judge cut them, no strata are added up."""
    rounds = [counted.counts for counted in earlier]
    if not now.is_judged:
        return summed(rounds)
    joined = side_by_side(rounds)
    return Counts.of_arrays(
        size=joined.size,
        labeled=joined.labeled,
        positive=joined.positive,
        is_flagged=joined.is_flagged,
        first_phase=joined.first_phase,
    )


def _working(counts: Counts, *, seed: int, cells: bool) -> Working:
    if cells:
        posterior, size = cell_posterior(counts), class_sizes(counts)
    else:
        posterior, size = round_posterior(counts), counts.size
    drawn = draw(posterior, seed=seed, points=POINTS, size=size)
    return Working.of_matrix(drawn.rate_matrix(size))


def _scaled(counts: Counts) -> Matrix:
    return scaled_matrix(counts.size, counts.labeled, counts.positive, counts.is_flagged)


def _is_labeled(counts: Counts) -> bool:
    return all(counts.labeled[chosen].any() for chosen in (counts.is_flagged, ~counts.is_flagged))


def _row(change: PrecisionChange, rounds: int) -> CauseRow:
    return CauseRow(
        rounds=rounds,
        before=_triple(change.before),
        after=_triple(change.after),
        prevalence_before=_triple(change.prevalence_before),
        prevalence_after=_triple(change.prevalence_after),
        change=_triple(change.change),
        by_prevalence=_triple(change.by_prevalence),
        by_classifier=_triple(change.by_classifier),
        level=change.level,
        sentence=cause_sentence(change, rounds),
    )


def _triple(interval: Interval) -> tuple[float, float, float]:
    point, low, high = (round(each, 6) for each in (interval.point, interval.low, interval.high))
    return point, low, high
