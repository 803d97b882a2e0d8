"""Which items a round asks about: as planned, or as before where it is done again.

A fifth of its labels may go to the segment that looks worst so far.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.domain.judge import OnDemandJudge
from monitor.domain.sample_settings import Explored
from monitor.rounds.estimation.segments import worst_so_far
from monitor.rounds.sampling import second_wave
from monitor.rounds.sampling.plan import checked_sizes, items_of
from monitor.storage.results.past_counts import read_past
from monitor.storage.samples.frame_store import StratumTally

if TYPE_CHECKING:
    from monitor.domain.model import Frame, Item
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.sampling.window_scan import WindowScan
    from monitor.stats.design.allocation import Allocation
    from monitor.storage.rounds.round_store import Round


@dataclass(frozen=True, slots=True)
class RoundSample:
    """What a round asks about: labels of each stratum, and the items that go out now.

    ``first`` has the sizes of the first wave in a round that begins with one, ``waves`` in a round
    that is done again. ``counted`` items are labeled where they are and not drawn. ``checkers`` has
    who checks the labels of a column, by item.
    """

    settings: RoundSettings
    sizes: list[int]
    first: Sequence[int] | None
    waves: Sequence[int | None]
    counted: int
    items: list[Item]
    explored: list[Item]
    checkers: Mapping[str, int]
    is_repeated: bool

    def tallies(self, frame: Frame) -> list[StratumTally]:
        """Give each stratum its items and its first wave."""
        first = self.first or self.waves
        return [
            StratumTally(part.stratum, part.size, size, first_wave=early, judged=part.judged)
            for part, size, early in zip(frame.strata, self.sizes, first, strict=True)
        ]

    def spare(self, frame: Frame) -> list[Item]:
        """Choose the candidates that a second wave may ask for; none if there is no such wave."""
        return [] if self.first is None else second_wave.spare_items(frame, self.sizes, self.first)


def choose_items(
    context: MonitorContext, round_: Round, scan: WindowScan, plan: Allocation, *, is_new: bool
) -> RoundSample:
    """Take the items of a plan; ``is_new``: nothing is known of the strata."""
    frame, settings = scan.frame, round_.settings
    before = _as_before(frame, settings)
    # Databases know no numpy integers; of some strata not every item can be labeled.
    sizes: list[int] = before or [
        min(labels, part.available)
        for labels, part in zip(plan.labels.tolist(), frame.strata, strict=True)
    ]
    begins = is_new and before is None
    first = second_wave.first_items(frame, sizes, settings, round_.seed) if begins else None
    whole = settings.counted_whole
    counted = [part.size if part.stratum.flagged in whole else 0 for part in frame.strata]
    sizes = [max(pair) for pair in zip(sizes, counted, strict=True)]
    checks = checked_sizes(frame, sizes, settings)
    out = zip(counted, first or sizes, checks, strict=True)
    items = items_of(frame, [check if n else m for n, m, (check, _) in out])
    check_of = {part.stratum.name: of for part, of in zip(frame.strata, checks, strict=True)}
    sampled = [0 if n or first else m for n, m in zip(counted, sizes, strict=True)]
    settings, explored = explore(context, round_, scan, sampled, is_repeated=before is not None)
    return RoundSample(
        settings=settings,
        sizes=sizes,
        first=first,
        waves=[None] * len(sizes) if before is None else second_wave.waves_before(frame, settings),
        counted=sum(counted),
        items=items,
        explored=explored,
        checkers={
            item.id: check_of[item.stratum][1]
            for item in items
            if item.order < check_of[item.stratum][0]
        },
        is_repeated=before is not None,
    )


def _as_before(frame: Frame, settings: RoundSettings) -> list[int] | None:
    """Give each stratum what it had when the round was done before; None if that is not known.

    So the same items are drawn, though today's plan may be another: their answers are there.
    """
    before = settings.planned or {}
    if not second_wave.is_same_strata(second_wave.sizes_of(frame), before):
        return None
    again = [min(before.get(part.stratum.name, 0), len(part.candidates)) for part in frame.strata]
    if isinstance(settings.judge, OnDemandJudge) and sum(again) < sum(before.values()):
        return None  # its verdicts were lost, and asked again it says something else, or nothing
    return again


PER_LABEL = 4
"""Labels of the sample for one of the explored segment: a fifth of all is explored, which finds a
worse segment in fewer rounds (benchmarks/worse_segments.py)."""


def explore(
    context: MonitorContext,
    round_: Round,
    scan: WindowScan,
    sizes: Sequence[int],
    *,
    is_repeated: bool,
) -> tuple[RoundSettings, list[Item]]:
    """Choose what a round explores beside its sample, if anything, and take its items.

    sizes: Items of each stratum that the sample has; 0 where nothing is explored.
    is_repeated: Whether the round is drawn as it was before, and so explores what it did then.
    """
    settings = round_.settings
    chosen = settings.explored if is_repeated else _chosen(context, round_, scan, sizes)
    items = [] if chosen is None else _next_items(scan.frame, sizes, chosen)
    if chosen is not None:
        drawn = Counter(item.stratum for item in items)
        chosen = chosen.model_copy(update={"items": dict(drawn)})
    return settings.model_copy(update={"explored": chosen}), items


def _chosen(
    context: MonitorContext, round_: Round, scan: WindowScan, sizes: Sequence[int]
) -> Explored | None:
    """Choose by earlier rounds alone: so evidence keeps its mean under any choice."""
    frame = scan.frame
    if round_.settings.sample.segments is None or scan.known is None or not any(sizes):
        return None
    values = {
        (column, value)
        for part in frame.strata
        for column, counted in zip(frame.segment_columns, part.segments, strict=True)
        for value in counted
    }
    with context.database.read() as connection:
        past = read_past(connection, scan.known.id, before=round_.slot)
        worst = worst_so_far(connection, [each.id for each in past], values)
    if worst is None:
        return None
    before, items = 0, {}
    for part, size in zip(frame.strata, sizes, strict=True):
        items[part.stratum.name] = (before + size) // PER_LABEL - before // PER_LABEL
        before += size
    planned = sum(items.values())
    return Explored(column=worst[0], value=worst[1], planned=planned, items=items)


def _next_items(frame: Frame, sizes: Sequence[int], explored: Explored) -> list[Item]:
    """Take the next candidates of the explored value, after the sample."""
    first = {part.stratum.name: size for part, size in zip(frame.strata, sizes, strict=True)}
    of_value = defaultdict[str, list["Item"]](list)
    for item in items_of(frame, [len(part.candidates) for part in frame.strata]):
        is_next = item.order >= first[item.stratum]
        if is_next and item.segments.get(explored.column) == explored.value:
            of_value[item.stratum].append(item)
    return [item for name, size in explored.items.items() for item in of_value[name][:size]]
