"""Precision and recall of each segment, from the labels of one round alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from monitor.domain.report import SegmentRow
from monitor.presentation.reasons import no_estimate_reason
from monitor.stats.core.counts import Counts
from monitor.stats.estimation.posterior import MetricEstimate, estimates
from monitor.stats.estimation.segment_labels import more_labels
from monitor.stats.estimation.segments import SEGMENT_POINTS, segment_estimates

if TYPE_CHECKING:
    from monitor.domain.settings import RoundSettings
    from monitor.storage.results.segment_store import SegmentCell
    from monitor.storage.samples.frame_store import StratumTally

METRICS = ("precision", "recall")
MARGIN = 0.1
"""Half-width that the labels still needed are counted for, where the config names no margin: the
.05 usual for a whole round is out of reach for most of its parts."""


def segment_rows(
    cells: Sequence[SegmentCell],
    base: Sequence[SegmentCell],
    drawn: Sequence[StratumTally],
    settings: RoundSettings,
    *,
    seed: int,
) -> list[SegmentRow]:
    """Estimate every segment of a round.

    cells: Sizes and labels per stratum, segment column and value, all of the round.
    base: The same without what the round explored, which others are compared with.
    drawn: The strata of the round, each class from low to high score.
    """
    by_cells = settings.sample.cells is not None
    strata = _strata(cells, [part.stratum.name for part in drawn] if by_cells else [])
    rows: list[SegmentRow] = []
    for segment in sorted({cell.segment for cell in cells}):
        segment_cells = [cell for cell in cells if cell.segment == segment]
        base_cells = [cell for cell in base if cell.segment == segment]
        by_value, explored = dict(_by_value(base_cells)), _counts(segment_cells, strata)
        whole = _counts(base_cells, strata)
        for value, cells_of in _by_value(segment_cells):
            part = _counts(cells_of, strata)
            all_values = whole if cells_of == by_value[value] else explored
            borrowing = segment_estimates(
                part, all_values, metrics=METRICS, seed=seed, cells=by_cells
            )
            alone = estimates(
                part,
                metrics=METRICS,
                estimands=("window",),
                seed=seed,
                points=SEGMENT_POINTS,
                cells=by_cells,
            )
            rows += [
                _row(segment, value, part, all_values, *both, settings)
                for both in zip(borrowing, alone, strict=True)
            ]
    return rows


def _by_value(cells: Sequence[SegmentCell]) -> Iterator[tuple[str, list[SegmentCell]]]:
    for value in sorted({cell.value for cell in cells}):
        yield value, [cell for cell in cells if cell.value == value]


def _strata(cells: Iterable[SegmentCell], by_score: Sequence[str]) -> dict[str, bool]:
    """Name the strata with their class; a class without items gets an empty one.

    Bands need no order and keep the store's, which earlier figures used.
    """
    result = {cell.stratum: cell.flagged for cell in cells}
    result = {name: result[name] for name in by_score if name in result} or result
    missing = {True, False} - set(result.values())
    return result | {
        f"nothing {'flagged' if flagged else 'passed'}": flagged for flagged in missing
    }


def _counts(cells: Iterable[SegmentCell], strata: Mapping[str, bool]) -> Counts:
    """Sum cells per stratum; a stratum without any is empty."""
    sums = {stratum: [0, 0, 0] for stratum in strata}
    for cell in cells:
        for index, count in enumerate((cell.size, cell.labeled, cell.positive)):
            sums[cell.stratum][index] += count
    size, labeled, positive = zip(*sums.values(), strict=True)
    return Counts.of_arrays(
        size=size, labeled=labeled, positive=positive, is_flagged=list(strata.values())
    )


def _row(
    segment: str,
    value: str,
    part: Counts,
    all_values: Counts,
    estimate: MetricEstimate,
    alone: MetricEstimate,
    settings: RoundSettings,
) -> SegmentRow:
    flagged, size = int(part.size[part.is_flagged].sum()), int(part.size.sum())
    row = SegmentRow(
        segment=segment,
        value=value,
        metric=estimate.metric,
        size=size,
        flagged=flagged,
        labeled=int(part.labeled.sum()),
        point=estimate.point,
        low=estimate.low,
        high=estimate.high,
        alone_point=alone.point,
        alone_low=alone.low,
        alone_high=alone.high,
        reason=no_estimate_reason(estimate.reason),
    )
    if flagged == 0 or (estimate.metric == "recall" and flagged == size):
        return row
    margin = settings.sample.margin.wanted().get(estimate.metric, MARGIN)
    cells = settings.sample.cells is not None
    more = more_labels(part, all_values, estimate.metric, margin, cells=cells)
    needed = {"margin": margin, "more_round": more.of_round, "more_segment": more.of_segment}
    return row.model_copy(update=needed)
