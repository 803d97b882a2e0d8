"""Choose the items of a round, those that are labeled twice, and the labels that people check."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monitor.domain.label_parts import checks_of, class_parts, parts_of
from monitor.domain.model import Frame, Item
from monitor.domain.round import Round
from monitor.domain.settings import RoundSettings
from monitor.presentation.reasons import plan_note
from monitor.rounds.context import MonitorContext
from monitor.rounds.sampling.amounts import large_item_sentences
from monitor.rounds.sampling.baseline import check_baseline
from monitor.rounds.sampling.plan import plan_labels
from monitor.rounds.sampling.plausibility import Concern, missing_groups
from monitor.rounds.sampling.prior_rates import rates_before
from monitor.rounds.sampling.reference import References, reference_of
from monitor.rounds.sampling.sampled_logs import sampling_questions
from monitor.stats.design.prior import PriorRates
from monitor.stats.detection.alternatives import check_testable
from monitor.stats.detection.half_space import LimitCannotBeTested
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from monitor.rounds.sampling.window_scan import WindowScan


@dataclass(frozen=True, slots=True)
class RoundSample:
    """The sample of a round: labels of each stratum, and its items.

    ``counted`` is the number of items whose labels are counted whole. A second person labels the
    ``doubled`` items too. ``checkers`` has the part that checks the labels of a column, by item.
    ``reference`` has earlier labels of the strata; ``margins`` are the expected half-widths.
    """

    sizes: list[int]
    counted: int
    items: list[Item]
    doubled: set[str]
    checkers: Mapping[str, int]
    reference: References | None
    margins: Mapping[str, float]
    notes: Sequence[str]
    concerns: Sequence[Concern]

    def tallies(self, frame: Frame) -> list[StratumTally]:
        """Return the tallies of the strata, without labels."""
        return [
            StratumTally(part.stratum, part.size, size, rows=part.rows)
            for part, size in zip(frame.strata, self.sizes, strict=True)
        ]


def plan_sample(context: MonitorContext, round_: Round, scan: WindowScan) -> RoundSample:
    """Plan the labels of a counted window, and choose its items."""
    frame, settings = scan.frame, round_.settings
    reference = reference_of(context, round_, scan)
    existing = rates_before(context, round_, scan, reference)
    plan = plan_labels(frame, existing, settings, round_.seed)
    baseline = check_baseline(context, frame, round_.slot, settings)
    # Databases know no numpy integers; of some strata not every item can be labeled.
    sizes: list[int] = [
        min(labels, part.available)
        for labels, part in zip(plan.labels.tolist(), frame.strata, strict=True)
    ]
    whole = settings.counted_whole
    counted = [part.size if part.stratum.flagged in whole else 0 for part in frame.strata]
    sizes = [max(pair) for pair in zip(sizes, counted, strict=True)]
    checks = _checked_sizes(frame, sizes, settings)
    out = zip(counted, sizes, checks, strict=True)
    items = _items_of(frame, [check if n else m for n, m, (check, _) in out])
    check_of = {part.stratum.name: of for part, of in zip(frame.strata, checks, strict=True)}
    return RoundSample(
        sizes=sizes,
        counted=sum(counted),
        items=items,
        doubled=_doubled_items(items, settings),
        checkers={
            item.id: check_of[item.stratum][1]
            for item in items
            if item.order < check_of[item.stratum][0]
        },
        reference=reference,
        margins=plan.margins,
        notes=[
            *map(plan_note, plan.notes),
            *large_item_sentences(frame, sizes),
            *sampling_questions(frame, settings, os.environ),
            *missing_groups(frame),
            *_untestable(frame, existing, settings),
            *baseline.notes,
        ],
        concerns=baseline.concerns,
    )


def _items_of(frame: Frame, expected: Sequence[int]) -> list[Item]:
    """Take the first candidates of each stratum, as many as the plan gives it."""
    return [
        Item(
            c.id,
            part.stratum.name,
            order,
            c.score,
            part.stratum.flagged,
            dict(zip(frame.segment_columns, c.segments, strict=True)),
            c.challenged,
            c.group,
        )
        for part, size in zip(frame.strata, expected, strict=True)
        for order, c in enumerate(part.candidates[:size])
    ]


def _doubled_items(drawn: Sequence[Item], settings: RoundSettings) -> set[str]:
    """Choose the items that a second person labels too: the first drawn of each stratum.

    Over score cells the share is cumulative: rounding up in each cell would make it larger.
    """
    cells, parts = settings.sample.cells is not None, parts_of(settings.labeling)
    of_class = class_parts(settings.labeling)
    shares = [part.get("overlap", 0.0 if len(parts) > 1 else settings.overlap) for part in parts]
    by_part: defaultdict[int, list[Item]] = defaultdict(list)
    for item in drawn:
        by_part[of_class[item.predicted]].append(item)
    return set().union(*(_doubled(own, shares[part], cells=cells) for part, own in by_part.items()))


def _checked_sizes(
    frame: Frame, expected: Sequence[int], settings: RoundSettings
) -> list[tuple[int, int]]:
    """Return how many items of each stratum people check, the first drawn, and the part that asks.

    They are in proportion to the labels; if a column labels both classes, each has half of them.
    """
    result = [(0, 0)] * len(expected)
    for checks in checks_of(settings.labeling).values():
        for flagged in checks.classes:
            own = [h for h, part in enumerate(frame.strata) if part.stratum.flagged == flagged]
            labels = sum(expected[h] for h in own)
            share = min(1.0, checks.items / len(checks.classes) / max(labels, 1))
            before = 0
            for h in own:
                size = _share(share, before + expected[h]) - _share(share, before)
                result[h] = (min(size, len(frame.strata[h].candidates)), checks.checker)
                before += expected[h]
    return result


def _doubled(drawn: Sequence[Item], overlap: float, *, cells: bool) -> set[str]:
    of: defaultdict[str, list[Item]] = defaultdict(list)
    for item in drawn:
        of[item.stratum].append(item)
    before, result = 0, set[str]()
    for own in of.values():
        first = _share(overlap, before + len(own)) - _share(overlap, before)
        result |= {item.id for item in sorted(own, key=lambda item: item.order)[:first]}
        before += len(own) if cells else 0
    return result


def _share(overlap: float, items: int) -> int:
    # Rounded first: .07 * 100 is a little over 7, and would ask for an eighth.
    return math.ceil(round(overlap * items, 6))


def _untestable(frame: Frame, prior_rates: PriorRates | None, settings: RoundSettings) -> list[str]:
    size = np.array([part.size for part in frame.strata])
    is_flagged = np.array([part.stratum.flagged for part in frame.strata])
    rate = None if prior_rates is None else prior_rates.rate
    results = []
    for limit in settings.limits.watched():
        try:
            check_testable(limit, size, is_flagged, rate)
        except LimitCannotBeTested as error:
            results.append(str(error))
    return results
