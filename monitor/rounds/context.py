"""Settings, store and adapters of one monitor, and its process's memory between passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from monitor.domain.errors import SourceRefused
from monitor.domain.label_parts import AssignedLabeler
from monitor.domain.ports import Aliases, Clock, Labeler, RoundRuns, Source
from monitor.domain.settings import MonitorSettings, RoundSettings
from monitor.domain.slots import slots_after
from monitor.domain.state import RoundState

T = TypeVar("T")

if TYPE_CHECKING:
    from monitor.domain.round import Round
    from monitor.storage.database import Database
    from monitor.storage.results.class_store import ClassVersion

SHORTEST = timedelta(hours=6)  # Somebody has to notice it and fix it
SOONEST, LATEST = timedelta(minutes=1), timedelta(minutes=15)  # Between two scans


def waits_until(round_: Round, first_scan: datetime) -> datetime:
    """Return when an open round stops waiting for its predictions.

    At the latest at the next slot, so that no two rounds wait. A backfill waits only if its first
    scan was refused outright.
    """
    grace = round_.settings.grace
    if grace is None:  # a monthly table takes longer to be fixed than a daily one
        grace = max(SHORTEST, (round_.window.end - round_.window.start) / 4)
    if round_.settings.origin == "backfill":
        return first_scan if round_.first_look_at is None else first_scan + grace
    following = next(slots_after(round_.settings.schedule, round_.slot))
    return max(first_scan, min(first_scan + grace, following))


def gives_up_at(round_: Round) -> datetime | None:
    """Return when an open round stops waiting for its predictions; None if it is not waiting."""
    if round_.state is not RoundState.OPEN or round_.first_look_at is None:
        return None
    return waits_until(round_, round_.first_look_at)


class ScanBackoff:
    """The last failure of each waiting round; the longer it waits, the longer between scans."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[datetime, str]] = {}

    def note(self, round_: Round, now: datetime, why: str) -> None:
        """Record a failed scan."""
        self._last[round_.id] = now, why

    def forget(self, round_: Round) -> None:
        """Forget a round that no longer waits."""
        self._last.pop(round_.id, None)

    def still(self, round_: Round, now: datetime) -> str | None:
        """Return the last failure if it is too early for another scan; None if a scan is due."""
        if round_.id not in self._last or round_.first_look_at is None:
            return None
        at, why = self._last[round_.id]
        pause = min(LATEST, max(SOONEST, (at - round_.first_look_at) / 4))
        # If the clock was set back, the age of the last scan is negative: then scan.
        return why if timedelta(0) <= now - at < pause else None


class SettledWindows:
    """Versions of windows whose averages are written; the monitors of a block share them.

    Only a cache: if it is lost, all windows are checked again.
    """

    def __init__(self) -> None:
        self.is_new = True
        self._marks: dict[datetime, ClassVersion] = {}

    def others(self, windows: Mapping[datetime, ClassVersion]) -> dict[datetime, ClassVersion]:
        """Return the windows that have changed since they were noted."""
        return {slot: marker for slot, marker in windows.items() if self._marks.get(slot) != marker}

    def note(self, slot: datetime, marker: ClassVersion) -> None:
        """Record the version of a window as read before its averages were found written."""
        self._marks[slot] = marker


@dataclass(slots=True)
class NewestSeen:
    """The newest slot for which this process has seen a round in the store."""

    slot: datetime | None = None

    def lost(self, newest: datetime | None) -> datetime | None:
        """Return the slot if the store lost its round; ``newest`` is the store's newest slot."""
        if self.slot is not None and (newest is None or newest < self.slot):
            return self.slot
        return None

    def note(self, *slots: datetime | None) -> None:
        """Record the latest of some slots."""
        self.slot = max((slot for slot in slots if slot is not None), default=None)


@dataclass(frozen=True, slots=True)
class MonitorContext:
    """One monitor: its settings, its store, and the adapters built for it.

    ``labelers`` returns the labelers of a round by its settings, ``parts`` are for the next round;
    without them, all rounds use ``labeler``. ``as_opened`` returns the source of a round by its
    settings; without it, all rounds use ``source``. ``runs`` reads the rounds in MLflow.
    ``class_monitors`` maps each class of a block to the name of its monitor.
    """

    settings: MonitorSettings
    database: Database
    source: Source
    labeler: Labeler
    clock: Clock
    labelers: Callable[[RoundSettings], tuple[AssignedLabeler, ...]] | None = None
    tries: ScanBackoff = field(default_factory=ScanBackoff)
    newest_seen: NewestSeen = field(default_factory=NewestSeen)
    runs: RoundRuns | None = None
    aliases: Aliases | None = None
    class_monitors: Mapping[str, str] = field(default_factory=dict)
    settled: SettledWindows = field(default_factory=SettledWindows)
    parts: tuple[AssignedLabeler, ...] = ()
    as_opened: Callable[[RoundSettings], Source] | None = None

    def of_round(self, settings: RoundSettings) -> MonitorContext:
        """Return the context with the source settings that a round was opened with."""
        if self.as_opened is None or settings.source is None:
            return self
        today = self.settings.round
        if (settings.source, settings.judge) == (today.source, today.judge):
            return self
        return replace(self, source=self.as_opened(settings))

    def try_of_round(self, settings: RoundSettings, act: Callable[[MonitorContext], T]) -> T:
        """Read the predictions of a drawn round with the settings that it was opened with.

        If these are refused, reads with today's settings: the predictions may have moved.
        """
        own = self.of_round(settings)
        try:
            return act(own)
        except SourceRefused:
            if own is self:
                raise
            return act(self)

    @property
    def today(self) -> tuple[AssignedLabeler, ...]:
        """Labelers of the next round, by the config."""
        return self.parts or (AssignedLabeler(self.labeler),)

    def labelers_of(self, settings: RoundSettings) -> tuple[AssignedLabeler, ...]:
        """Labelers of a round: those it was opened with, and others its answers may come by."""
        return self.today if self.labelers is None else self.labelers(settings)

    def asks_people(self, settings: RoundSettings) -> bool:
        """Whether people label a round, or a part of it."""
        return any(one.labeler.asks_people for one in self.labelers_of(settings))
