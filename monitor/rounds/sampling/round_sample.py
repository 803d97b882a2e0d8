"""Which items a round asks about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from monitor.domain.model import Frame, Item
from monitor.domain.round import Round
from monitor.rounds.sampling.plan import (
    checked_sizes,
    items_of,
)
from monitor.stats.design.allocation import Allocation
from monitor.storage.samples.frame_store import StratumTally


@dataclass(frozen=True, slots=True)
class RoundSample:
    """What a round asks about: labels of each stratum, and its items.

    ``counted`` items are labeled where they are. ``checkers`` has who checks the labels of a
    column, by item.
    """

    sizes: list[int]
    counted: int
    items: list[Item]
    checkers: Mapping[str, int]

    def tallies(self, frame: Frame) -> list[StratumTally]:
        """Give each stratum its items."""
        return [
            StratumTally(part.stratum, part.size, size, rows=part.rows)
            for part, size in zip(frame.strata, self.sizes, strict=True)
        ]


def choose_items(round_: Round, frame: Frame, plan: Allocation) -> RoundSample:
    """Take the items of a plan."""
    settings = round_.settings
    # Databases know no numpy integers; of some strata not every item can be labeled.
    sizes: list[int] = [
        min(labels, part.available)
        for labels, part in zip(plan.labels.tolist(), frame.strata, strict=True)
    ]
    whole = settings.counted_whole
    counted = [part.size if part.stratum.flagged in whole else 0 for part in frame.strata]
    sizes = [max(pair) for pair in zip(sizes, counted, strict=True)]
    checks = checked_sizes(frame, sizes, settings)
    out = zip(counted, sizes, checks, strict=True)
    items = items_of(frame, [check if n else m for n, m, (check, _) in out])
    check_of = {part.stratum.name: of for part, of in zip(frame.strata, checks, strict=True)}
    return RoundSample(
        sizes=sizes,
        counted=sum(counted),
        items=items,
        checkers={
            item.id: check_of[item.stratum][1]
            for item in items
            if item.order < check_of[item.stratum][0]
        },
    )
