"""How long a round waits for predictions that may still be fixed, and how often they are read."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from monitor.domain.slots import slots_after
from monitor.domain.state import RoundState

if TYPE_CHECKING:
    from monitor.storage.rounds.round_store import Round

SHORTEST = timedelta(hours=6)  # Somebody has to notice it and fix it

SOONEST, LATEST = timedelta(minutes=1), timedelta(minutes=15)
"""Between two looks at a window: a scan may take long, and what was not there at first may take
hours."""


def waits_until(round_: Round, first_scan: datetime) -> datetime:
    """When a round gives up, by the time of its first scan.

    Never later than the next slot, so that no two rounds wait. A round of an old slot that
    somebody asks for does not wait at all. Nor does a backfill, unless its first scan was refused
    outright.
    """
    grace = round_.settings.grace
    if grace is None:  # a monthly table takes longer to be fixed than a daily one
        grace = max(SHORTEST, (round_.window.end - round_.window.start) / 4)
    if round_.settings.origin == "backfill":
        return first_scan if round_.first_look_at is None else first_scan + grace
    following = next(slots_after(round_.settings.schedule, round_.slot))
    return max(first_scan, min(first_scan + grace, following))


def gives_up_at(round_: Round) -> datetime | None:
    """When an open round whose predictions were looked at in vain gives up; None for others."""
    if round_.state is not RoundState.OPEN or round_.first_look_at is None:
        return None
    return waits_until(round_, round_.first_look_at)


class ScanBackoff:
    """What this process found when it last looked at the predictions of each round that waits.

    A worker that has just started looks at once; a service looks more rarely the longer it waits.
    """

    def __init__(self) -> None:
        self._last: dict[int, tuple[datetime, str]] = {}

    def note(self, round_: Round, now: datetime, why: str) -> None:
        """Remember a look in vain."""
        self._last[round_.id] = now, why

    def forget(self, round_: Round) -> None:
        """Forget a round that waits no longer."""
        self._last.pop(round_.id, None)

    def still(self, round_: Round, now: datetime) -> str | None:
        """Return what the last look found if it is too early for another; None if one is due."""
        if round_.id not in self._last or round_.first_look_at is None:
            return None
        at, why = self._last[round_.id]
        pause = min(LATEST, max(SOONEST, (at - round_.first_look_at) / 4))
        # A clock that was set back makes the age of the last look negative: then look.
        return why if timedelta(0) <= now - at < pause else None
