"""What comes after a round, by its own settings: when, how many labels, how long people have."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from monitor.domain.next_round import NextRoundRow
from monitor.domain.slots import slots_after

if TYPE_CHECKING:
    from monitor.storage.rounds.round_store import Round


def next_round(round_: Round) -> NextRoundRow | None:
    """Return the target of the next round; None if the schedule has no later slot."""
    settings = round_.settings
    slot = next(slots_after(settings.schedule, round_.slot), None)
    if slot is None:
        return None
    return NextRoundRow(
        slot=slot,
        max_labels=settings.sample.max_labels,
        margins=settings.sample.margin.wanted(),
        hours=settings.deadline / timedelta(hours=1),
    )
