"""The segment that looks worst so far: a fifth of a round's labels goes to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from monitor.domain.sample_settings import Explored
from monitor.rounds.estimation.segment_search import worst_so_far
from monitor.rounds.sampling.items import items_of
from monitor.storage.results.past_counts import read_past

if TYPE_CHECKING:
    from monitor.domain.model import Frame, Item
    from monitor.domain.settings import RoundSettings
    from monitor.rounds.context import MonitorContext
    from monitor.rounds.sampling.window_scan import WindowScan
    from monitor.storage.rounds.round_store import Round

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
