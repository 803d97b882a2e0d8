"""Which items a round asks about: as planned, or as before where it is done again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monitor.domain.judge import OnDemandJudge
from monitor.rounds.sampling.explore import explore
from monitor.rounds.sampling.items import checked_sizes, items_of
from monitor.rounds.sampling.second_wave import (
    first_items,
    is_same_strata,
    sizes_of,
    spare_items,
    waves_before,
)
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
        return [] if self.first is None else spare_items(frame, self.sizes, self.first)


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
    first = first_items(frame, sizes, settings, round_.seed) if begins else None
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
        waves=[None] * len(sizes) if before is None else waves_before(frame, settings),
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
    if not is_same_strata(sizes_of(frame), before):
        return None
    again = [min(before.get(part.stratum.name, 0), len(part.candidates)) for part in frame.strata]
    if isinstance(settings.judge, OnDemandJudge) and sum(again) < sum(before.values()):
        return None  # its verdicts were lost, and asked again it says something else, or nothing
    return again
