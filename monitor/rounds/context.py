"""What the steps of one monitor work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from monitor.domain.label_parts import AssignedLabeler
from monitor.rounds.grace import ScanBackoff

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from monitor.domain.judging import VerdictService
    from monitor.domain.ports import Aliases, Clock, Labeler, RoundRuns, Source
    from monitor.domain.settings import MonitorSettings, RoundSettings
    from monitor.storage.database import Database
    from monitor.storage.results.class_store import ClassVersion


class SettledWindows:
    """Remembers how windows stood when their averages were found written; the block shares one.

    So a look at each of 30 monitors reads no window again that nobody has touched. Memory may be
    lost at any time: then all windows are looked at, whenever they were due.
    """

    def __init__(self) -> None:
        self.is_new = True
        self._marks: dict[datetime, ClassVersion] = {}

    def others(self, windows: Mapping[datetime, ClassVersion]) -> dict[datetime, ClassVersion]:
        """Leave out the windows that stand as they did."""
        return {slot: marker for slot, marker in windows.items() if self._marks.get(slot) != marker}

    def note(self, slot: datetime, marker: ClassVersion) -> None:
        """Remember how a window stood before its averages were found written."""
        self._marks[slot] = marker


@dataclass(frozen=True, slots=True)
class ReferenceItems:
    """Labeled items from before launch, one place each: score (NaN: none), class, truth.

    ``unlabeled`` rows of the file are left out.
    """

    score: NDArray[np.float64]
    flagged: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    unlabeled: int = 0


@dataclass(slots=True)
class NewestSeen:
    """The newest slot for which this process has seen a round in the store."""

    slot: datetime | None = None

    def lost(self, newest: datetime | None) -> datetime | None:
        """Return the slot if the store, whose newest round is of ``newest``, lost its round."""
        if self.slot is not None and (newest is None or newest < self.slot):
            return self.slot
        return None

    def note(self, *slots: datetime | None) -> None:
        """Note the latest of these."""
        self.slot = max((slot for slot in slots if slot is not None), default=None)


@dataclass(frozen=True, slots=True)
class MonitorContext:
    """One monitor: its settings, its store, and the adapters built for it.

    ``reference`` reads labeled items from before launch where the config names a file of them.
    ``labelers`` gives the labelers of a round by its settings (`labelers_of`); without it
    ``labeler`` serves every round. ``parts`` are the labelers of the next round; without them
    ``labeler`` is. ``tries`` remembers looks in vain, and ``newest_seen`` what no store may forget.
    ``runs`` shows the rounds that MLflow has, should the store have forgotten some;
    ``aliases`` looks up which version of a model an alias names. ``class_monitors`` has, where the
    monitor is one of a block of classes, the name of each class's monitor, and ``settled`` the
    windows whose averages need no look, in common with these. ``judge`` is asked for verdicts where
    the config has such a one.
    """

    settings: MonitorSettings
    database: Database
    source: Source
    labeler: Labeler
    clock: Clock
    reference: Callable[[], ReferenceItems] | None = None
    labelers: Callable[[RoundSettings], tuple[AssignedLabeler, ...]] | None = None
    tries: ScanBackoff = field(default_factory=ScanBackoff)
    newest_seen: NewestSeen = field(default_factory=NewestSeen)
    runs: RoundRuns | None = None
    aliases: Aliases | None = None
    class_monitors: Mapping[str, str] = field(default_factory=dict)
    settled: SettledWindows = field(default_factory=SettledWindows)
    judge: VerdictService | None = None
    parts: tuple[AssignedLabeler, ...] = ()

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
