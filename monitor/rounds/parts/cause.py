"""Why precision in a round differs from the rounds before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from monitor.domain.report import CauseRow, ReportedEstimate, find_row
from monitor.presentation.alerts import cause_sentence, recall_sentence
from monitor.rounds.estimation.history import cells_to_pool
from monitor.rounds.estimation.label_errors import is_comparable
from monitor.rounds.estimation.tally import Counted, Tally
from monitor.rounds.parts.part import ReportedVersion, ReportPart
from monitor.stats.core.counts import Counts, Interval, side_by_side, summed
from monitor.stats.core.draws import draw, round_posterior
from monitor.stats.drift.attribution import PrecisionChange, Working, precision_change
from monitor.stats.estimation.cell_matrix import cell_posterior, class_sizes, weighted_matrix

POINTS = 2**11  # An explanation shows two digits


class CausePart(ReportPart):
    """Why precision changed; a field of every report, which alerts read."""

    name = "cause"

    def row(self, version: ReportedVersion) -> CauseRow | None:
        """Explain the change; None if the labels do not allow it."""
        round_, tally, estimate = version.round, version.tally, version.estimate
        if not is_comparable(estimate.arrived):
            # Labels that are still to come would look like a change of the classifier.
            return None
        by_class = cells_to_pool(tally.frame, round_.settings.sample) is not None
        return precision_cause(
            tally, version.before, estimate.rows, seed=round_.sobol_seed, cells=by_class
        )


def precision_cause(
    now: Tally,
    earlier: Sequence[Counted],
    rows: Sequence[ReportedEstimate] = (),
    *,
    seed: int,
    cells: bool = False,
) -> CauseRow | None:
    """Explain precision in this round alone against all earlier rounds of its history, pooled.

    None without labels on both sides. ``rows`` are the round's estimates, whose numbers "in this
    round alone" are shown. With ``cells`` each class is one rate (`cells_to_pool`).
    """
    if not earlier:
        return None
    before, after = _together(earlier, now), now.counts
    if not (_is_labeled(before) and _is_labeled(after)):
        return None
    # Separate seeds: with one, both windows would get equal draws, and differ too little.
    works = [
        _working(counts, seed=seed + i, cells=cells) for i, counts in enumerate((before, after))
    ]
    scaled = [Working.of_matrix(weighted_matrix(counts, cells=cells)) for counts in (before, after)]
    change = precision_change(*works, scaled=(scaled[0], scaled[1]))
    own = _own_intervals(rows)
    shown = replace(
        change,
        after=own.get("precision", change.after),
        recall_after=own.get("recall", change.recall_after),
    )
    return _row(shown, len(earlier))


def _own_intervals(rows: Sequence[ReportedEstimate]) -> dict[str, Interval]:
    estimates = (find_row(rows, name, "round") for name in ("precision", "recall"))
    return {
        row.metric: Interval(row.point, row.low, row.high)
        for row in estimates
        if row is not None
        and row.point is not None
        and row.low is not None
        and row.high is not None
    }


def _together(earlier: Sequence[Counted], now: Tally) -> Counts:
    """Return rounds as one window; strata are added up unless a judge cuts them."""
    rounds = [counted.counts for counted in earlier]
    if not now.is_judged:
        return summed(rounds)
    return side_by_side(rounds)


def _working(counts: Counts, *, seed: int, cells: bool) -> Working:
    if cells:
        posterior, size = cell_posterior(counts), class_sizes(counts)
    else:
        posterior, size = round_posterior(counts), counts.size
    drawn = draw(posterior, seed=seed, points=POINTS, size=size)
    return Working.of_matrix(drawn.rate_matrix(size))


def _is_labeled(counts: Counts) -> bool:
    return all(counts.labeled[chosen].any() for chosen in (counts.is_flagged, ~counts.is_flagged))


def _row(change: PrecisionChange, rounds: int) -> CauseRow:
    intervals = {
        name: _triple(interval)
        for name in CauseRow.model_fields
        if isinstance(interval := getattr(change, name, None), Interval)
    }
    return CauseRow(
        rounds=rounds,
        level=change.level,
        sentence=cause_sentence(change, rounds),
        recall_sentence=recall_sentence(change, rounds),
        **intervals,
    )


def _triple(interval: Interval) -> tuple[float, float, float]:
    point, low, high = (round(each, 6) for each in (interval.point, interval.low, interval.high))
    return point, low, high
