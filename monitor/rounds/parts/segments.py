"""Estimate each segment in one round, and find segments that are worse over many rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from monitor.domain.labels import corrected_evidence_label, evidence_label
from monitor.domain.model import Answer, Frame
from monitor.domain.report import NoticeRow
from monitor.domain.round import Round
from monitor.domain.segments import OTHER, ErrorCount, SegmentRow, SegmentSearchRow, WorseSegmentRow
from monitor.domain.settings import RoundSettings
from monitor.domain.state import RoundState
from monitor.presentation.parts.segments import segment_name, worse_sentence
from monitor.presentation.reasons import no_estimate_reason
from monitor.rounds.parts.part import LabeledRound, ReportedVersion, ReportPart
from monitor.stats.core.counts import Counts
from monitor.stats.detection.worse_segments import (
    ODDS,
    log_ratios,
    worse_segments,
)
from monitor.stats.estimation.posterior import MetricEstimate, estimates
from monitor.stats.estimation.segment_labels import more_labels
from monitor.stats.estimation.segments import SEGMENT_POINTS, segment_estimates
from monitor.storage.labels.round_labels import RoundLabels, count_labels
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from monitor.stats.core.arrays import Bools, Floats, Ints

METRICS = ("precision", "recall")
MARGIN = 0.1
"""Half-width for which the labels still needed are counted, if the config has no margin."""


Name: TypeAlias = tuple[tuple[str, str], ...]
"""A segment as column and value, or a pair of such."""


class SegmentEvidence(NamedTuple):
    """Evidence on a segment in a round, by class: ``sums`` are (labels, errors, expected).

    ``ratios`` are log likelihood ratios (`monitor.stats.detection.worse_segments`).
    """

    sums: Sequence[Sequence[float]]
    ratios: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class SegmentCell:
    """The items of one stratum that have one value of a segment column, and their labels."""

    stratum: str
    flagged: bool
    segment: str
    value: str
    size: int
    labeled: int
    positive: int


class SegmentsPart(ReportPart):
    """Precision and recall of each segment in a round."""

    name = "segments"
    repeats = True

    def applies(self, round_: Round, labels: RoundLabels) -> bool:  # noqa: ARG002
        """Whether items have segments, or are counted by them."""
        drawn = any(item.segments for item in labels.items)
        return drawn or any(cell.segment for cell in labels.census)

    def drawn(self, frame: Frame) -> Any:
        """Count the items of each segment in each stratum."""
        return [
            [part.stratum.name, segment, value, size]
            for part in frame.strata
            for segment, sizes in zip(frame.segment_columns, part.segments, strict=True)
            for value, size in sizes.items()
        ] or None

    def counts(self, counted: LabeledRound) -> Any:
        """Count labels by stratum and segment, without empty ones."""
        return [
            [*cell, labeled, positive]
            for cell, (labeled, positive) in sorted(_label_counts(counted.labels).items())
            if labeled
        ]

    def row(self, version: ReportedVersion) -> Any:
        """Estimate every segment; rows are sorted by column, then the largest segment first."""
        if version.repeated is not None:
            return version.repeated
        round_, strata = version.round, version.labels.strata
        cells = segment_cells(version.counts, version.drawn or (), strata)
        rows = segment_rows(cells, strata, round_.settings, seed=round_.sobol_seed)
        return sorted(rows, key=lambda row: (row.segment, -row.size, row.value, row.metric))


def segment_cells(
    counts: Sequence[Any], drawn: Sequence[Any], strata: Sequence[StratumTally]
) -> list[SegmentCell]:
    """Return the counts of each segment by stratum, also of segments without labels."""
    labels = {tuple(cell): (labeled, positive) for *cell, labeled, positive in counts}
    flagged = {part.stratum.name: part.stratum.flagged for part in strata}
    return [
        SegmentCell(name, flagged[name], segment, value, size, *labels.get(cell, (0, 0)))
        for name, segment, value, size in sorted(drawn)
        for cell in [(name, segment, value)]
    ]


def _label_counts(labels: RoundLabels) -> dict[tuple[str, str, str], tuple[int, int]]:
    counts = count_labels(
        ((item.stratum, segment, value), positive)
        for item, positive in labels.usable()
        for segment, value in item.segments.items()
    )
    whole = {
        (cell.stratum, cell.segment, cell.value): of[:2]
        for cell, of in labels.census.items()
        if cell.segment
    }
    return counts | whole


def segment_rows(
    cells: Sequence[SegmentCell],
    drawn: Sequence[StratumTally],
    settings: RoundSettings,
    *,
    seed: int,
) -> list[SegmentRow]:
    """Estimate every segment of a round."""
    by_cells = settings.sample.cells is not None
    strata = _strata(cells, [part.stratum.name for part in drawn] if by_cells else [])
    rows: list[SegmentRow] = []
    for segment in sorted({cell.segment for cell in cells}):
        segment_cells = [cell for cell in cells if cell.segment == segment]
        whole = _counts(segment_cells, strata)
        for value, cells_of in _by_value(segment_cells):
            part = _counts(cells_of, strata)
            borrowing = segment_estimates(part, whole, metrics=METRICS, seed=seed, cells=by_cells)
            alone = estimates(
                part,
                metrics=METRICS,
                estimands=("window",),
                seed=seed,
                points=SEGMENT_POINTS,
                cells=by_cells,
            )
            rows += [
                _row(segment, value, part, whole, *both, settings)
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
    row = SegmentRow.taken_from(
        estimate,
        segment=segment,
        value=value,
        size=size,
        flagged=flagged,
        labeled=int(part.labeled.sum()),
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


MOST_ROUNDS = 52
"""Newest rounds to search: a segment that is worse for longer is known by then."""

LEVEL = 0.1
"""Largest expected share of wrong ones among the segments named in a round."""


class SegmentSearchPart(ReportPart):
    """Segments that are worse than the rest, by all rounds that were searched."""

    name = "segment_search"
    reach = MOST_ROUNDS - 1

    def applies(self, round_: Round, labels: RoundLabels) -> bool:  # noqa: ARG002
        """Whether drawn items have segments."""
        return any(item.segments for item in labels.items)

    def counts(self, counted: LabeledRound) -> Any:
        """Compare errors with the rest; restated labels are no evidence."""
        if counted.is_restated:
            return counted.stored
        labels = counted.labels.without(counted.recurring)
        evidence = round_evidence(counted.round, labels)
        return [
            [[list(pair) for pair in name], *map(list, both)] for name, both in evidence.items()
        ]

    def corrects(self, round_: Round) -> bool:  # noqa: ARG002
        """Make no version for these counts alone: they differ only if labels of segments do."""
        return False

    def row(self, version: ReportedVersion) -> SegmentSearchRow:
        """Search in the newest rounds with this one; late labels search again."""
        past = [each.counts for each in version.earlier if each is not None]
        counts = [*past, *([] if version.counts is None else [version.counts])]
        return _search([evidence_by_name(each) for each in counts])

    def notices(self, version: ReportedVersion, row: SegmentSearchRow) -> list[NoticeRow]:  # noqa: ARG002
        """Note the segment that is most surely worse; this is no alert."""
        if not row.worse:
            return []
        [worst, *others] = row.worse
        sentence = worse_sentence(worst, others=len(others))
        subject = segment_name(worst)
        return [NoticeRow(kind="segment", subject=subject, value=worst.odds, sentence=sentence)]


def evidence_by_name(counts: Any) -> dict[Name, SegmentEvidence]:
    """Read the stored evidence of a round by segment."""
    return {
        tuple((column, value) for column, value in name): SegmentEvidence(*both)
        for name, *both in counts
    }


def round_evidence(round_: Round, labels: RoundLabels) -> dict[Name, SegmentEvidence]:
    """Compare each segment and pair of a round with the rest of its strata, by class."""
    sample = _of_strata(round_, labels)
    names = sorted({name for name, _ in sample.labeled} - {()})
    is_flagged = np.array([*sample.strata.values()], dtype=bool)
    return _evidence(names, sample.counts(((), *names)), is_flagged)


class _SegmentErrors(NamedTuple):
    """Labels and errors of each segment and pair in each stratum, and of all items as ``()``.

    ``strata`` has each stratum, and whether it is flagged.
    """

    strata: dict[str, bool]
    labeled: Counter[tuple[Name, str]]
    wrong: Counter[tuple[Name, str]]

    def counts(self, names: Sequence[Name]) -> Ints:
        """Lay out labels and errors, of shape (names, 2, strata)."""
        return np.array(
            [
                [
                    [of[name, stratum] for stratum in self.strata]
                    for of in (self.labeled, self.wrong)
                ]
                for name in names
            ]
        ).reshape(len(names), 2, len(self.strata))  # also of a round without labels


def _of_strata(round_: Round, labels: RoundLabels) -> _SegmentErrors:
    closed = round_.state is RoundState.CLOSED
    answers = labels.answers_by(corrected_evidence_label if closed else evidence_label)
    result = _SegmentErrors({}, Counter(), Counter())
    for item in labels.items:
        answer, up = answers.get(item.id), labels.is_flagged[item.stratum]
        if answer not in (Answer.POSITIVE, Answer.NEGATIVE):
            continue
        result.strata[item.stratum] = up
        for name in ((), *_names(item.segments)):
            result.labeled[name, item.stratum] += 1
            result.wrong[name, item.stratum] += (answer is Answer.POSITIVE) != up
    return result


def _names(segments: Mapping[str, str]) -> Iterator[Name]:
    """Yield an item's values of segment columns, and pairs of them, without `OTHER`."""
    values = sorted((name, value) for name, value in segments.items() if value != OTHER)
    for size in (1, 2):
        yield from combinations(values, size)


def _evidence(
    names: Sequence[Name], counts: Ints, is_flagged: Bools
) -> dict[Name, SegmentEvidence]:
    """Compare by class; ``counts`` are labels and errors, of all and of each name: (1+S, 2, H)."""
    sums, ratios = [], []
    for chosen in (is_flagged, ~is_flagged):
        [labels, errors], own = counts[0][:, chosen], counts[1:][:, :, chosen]
        n, y = own[:, 0], own[:, 1]
        expected = (n * errors / np.maximum(labels, 1)).sum(axis=1).round(2)
        sums.append(np.stack([n.sum(axis=1), y.sum(axis=1), expected], axis=1))
        ratios.append(log_ratios(labels, errors, n, y).round(4))
    by_name = zip(np.stack(sums, axis=1).tolist(), np.stack(ratios, axis=1).tolist(), strict=True)
    return {name: SegmentEvidence(*both) for name, both in zip(names, by_name, strict=True)}


def _search(rounds: Sequence[Mapping[Name, SegmentEvidence]]) -> SegmentSearchRow:
    """Find the worse segments; half of the prior is for values, half for pairs."""
    names = sorted({name for of_round in rounds for name in of_round})
    sums, ratios = _stacked(names, rounds)
    of_size = Counter(map(len, names))
    prior = np.array([1 / of_size[len(name)] / len(of_size) for name in names])
    worse = []
    for one in worse_segments(ratios, prior, level=LEVEL):
        flagged, passed = sums[one.index, -one.rounds :].sum(axis=0)
        worse.append(
            WorseSegmentRow.taken_from(
                one,
                segment=dict(names[one.index]),
                metric=one.kind,
                flagged=_counted(flagged),
                passed=_counted(passed),
                log_evidence=one.log_e,
            )
        )
    return SegmentSearchRow(searched=len(names), rounds=len(rounds), level=LEVEL, worse=worse)


def _stacked(
    names: Sequence[Name], rounds: Sequence[Mapping[Name, SegmentEvidence]]
) -> tuple[Floats, Floats]:
    """Lay out the evidence: sums (names, rounds, 2, 3), and ratios (names, rounds, 2, odds)."""
    sums = np.zeros((len(names), len(rounds), 2, 3))
    ratios = np.zeros((len(names), len(rounds), 2, len(ODDS)))
    for i, name in enumerate(names):
        for r, of_round in enumerate(rounds):
            if name in of_round:
                sums[i, r], ratios[i, r] = of_round[name]
    return sums, ratios


def _counted(sums: Floats) -> ErrorCount:
    labeled, wrong, expected = sums.tolist()
    return ErrorCount(int(labeled), int(wrong), expected)
