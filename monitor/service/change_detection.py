"""Which monitors need no look: nothing is due, and nothing changed since the last one.

A look at a monitor costs a dozen queries and reads its tasks, at every tick (docs/decisions has
the figures). So the service remembers how each monitor stood before its last look. If it stands
the same now, its labels' place too, and no slot or deadline has come, another look would find what
that one found. Reading this takes two queries for all monitors together. Memory may be lost at any
time: then everything is looked at.
`run-once`, a new process each time, keeps it in the store (`monitor.service.saved_looks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from monitor.domain.errors import MonitorError, StoreUnavailable
from monitor.domain.ports import Watchable
from monitor.domain.slots import next_slot
from monitor.rounds.labels.places import place_name
from monitor.service.reading_ahead import Ahead
from monitor.service.saved_looks import Kept, keep, mark_of, read_kept
from monitor.storage.overview.change_marks import NOTHING, standings
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from monitor.domain.ports import Clock, Labeler
    from monitor.rounds.context import MonitorContext
    from monitor.storage.database import Database
    from monitor.storage.overview.change_marks import Standing

log = structlog.get_logger("monitor.service.loop")

LONGEST = timedelta(hours=1)
"""Each monitor is looked at this often at least: time itself ends the taking of late labels."""

_SLACK = timedelta(days=10)
"""A round may wait to be drawn, and close after its deadline."""


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a monitor: when, and how things stood before it."""

    context: MonitorContext
    at: datetime
    standing: Standing
    labels: str
    next_slot: datetime
    labelers: tuple[Labeler, ...]

    def still_holds(
        self, context: MonitorContext, standing: Standing, labels: str, now: datetime
    ) -> bool:
        """Whether another look now would find what this one found."""
        return (
            self.context is context
            and self.standing == standing
            and self.labels == labels
            and _is_quiet(standing, now, self.at, self.next_slot)
        )


def _is_quiet(standing: Standing, now: datetime, at: datetime, next_slot: datetime) -> bool:
    """Whether nothing presses, and no time has come since a look that makes another due."""
    late = standing.deadline is not None and standing.deadline <= now
    return (
        not standing.presses and not late and now < next_slot and timedelta(0) <= now - at < LONGEST
    )


class Idle:
    """Remembers the last good look at each monitor.

    Parameters
    ----------
    configs
        All that the config has on each monitor, by name, as a text. Where it is given, good
        looks of earlier processes count too, and `keep` keeps those of this one.
    """

    def __init__(
        self, database: Database, clock: Clock, configs: Mapping[str, str] | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._configs = configs
        self._good: dict[str, Look] = {}

    def needed(self, monitors: Sequence[MonitorContext]) -> list[Look]:
        """Choose the monitors that may have anything to do."""
        now = self._clock()
        with self._database.read() as connection:
            standing = standings(connection, now - _longest_open(monitors))
            kept = {} if self._configs is None else read_kept(connection)
        places: dict[str, str] = {}
        looks = []
        for context in monitors:
            name = context.settings.name
            stands = standing.get(name, NOTHING)
            labelers, labels = self._state_of_labels(context, stands, places)
            if not self._is_known(context, stands, labels, kept.get(name), now):
                following = next_slot(context.settings.round.schedule, now)
                looks.append(Look(context, now, stands, labels, following, labelers))
        return looks

    def _state_of_labels(
        self, context: MonitorContext, standing: Standing, places: dict[str, str]
    ) -> tuple[tuple[Labeler, ...], str]:
        """Return the labelers of a monitor's rounds and the state of their places.

        The state is empty if one fails: its monitor is looked at, and no other is kept back.
        """
        try:
            labelers = self._labelers(context, standing)
            return labelers, _labels(labelers, places)
        except StoreUnavailable:
            raise
        except MonitorError:
            pass  # the look meets and reports it
        except Exception:
            name = context.settings.name
            log.exception("not known whether labels changed: stopped by a bug", monitor=name)
        return (context.labeler,), ""

    def _is_known(
        self,
        context: MonitorContext,
        standing: Standing,
        labels: str,
        kept: Kept | None,
        now: datetime,
    ) -> bool:
        """Whether a look now would find what a good one found, of this process or another."""
        if not labels:
            return False
        good = self._good.get(context.settings.name)
        if good is not None and good.still_holds(context, standing, labels, now):
            return True
        return kept is not None and self._as_kept(
            kept, context.settings.name, standing, labels, now
        )

    def _labelers(self, context: MonitorContext, standing: Standing) -> tuple[Labeler, ...]:
        """Labelers of a monitor's rounds, the same as long as no round moves."""
        good = self._good.get(context.settings.name)
        if good is not None and good.context is context and good.standing == standing:
            return good.labelers
        with self._database.read() as connection:
            name, now = context.settings.name, self._clock()
            rounds = round_store.unfinished_rounds(connection, name, now)
        places = {
            place_name(labeler): labeler
            for round_ in rounds
            for labeler in context.labelers_of(round_.settings)
        }
        return (context.labeler, *places.values())

    def ahead(self, looks: Sequence[Look]) -> Ahead:
        """Know which of these looks will read the same labels."""
        labelers = {look.context.settings.name: look.labelers for look in looks}
        return Ahead(self._database, self._clock, labelers)

    def looked(self, look: Look, *, well: bool) -> None:
        """Note how a look ended."""
        name = look.context.settings.name
        if well:
            self._good[name] = look
        else:
            self._good.pop(name, None)

    def keep(self) -> None:
        """Keep the good looks of this process for the next one."""
        if self._configs is None:
            return
        configs = self._configs
        watched = {name: look for name, look in self._good.items() if look.labels}
        keep(
            self._database,
            {
                name: Kept(
                    mark_of(look.standing, look.labels, configs[name]), look.at, look.next_slot
                )
                for name, look in watched.items()
            },
        )

    def _as_kept(
        self, kept: Kept, name: str, standing: Standing, labels: str, now: datetime
    ) -> bool:
        config = (self._configs or {}).get(name)
        if config is None or kept.mark != mark_of(standing, labels, config):
            return False
        return _is_quiet(standing, now, kept.at, kept.next_slot)


def last_ones(looks: Sequence[Look]) -> tuple[list[Look], list[Look]]:
    """Separate the looks at monitors with a round that a worker left in mid-step from all others.

    What ended that worker may end this one too, so they come after all others and one after the
    other, whichever was left longest ago first.
    """
    others = [look for look in looks if look.standing.left is None]
    left = [look for look in looks if look.standing.left is not None]
    return others, sorted(left, key=lambda look: look.standing.left or 0)


def _longest_open(monitors: Sequence[MonitorContext]) -> timedelta:
    """How far back slots of rounds may lie that still take labels."""
    spans = [
        context.settings.round.late_labels + context.settings.round.deadline for context in monitors
    ]
    return max(spans, default=timedelta(0)) + _SLACK


def _labels(labelers: Sequence[Labeler], places: dict[str, str]) -> str:
    """Describe the state of where labels come from; empty where one cannot tell it from others.

    Monitors may share a place, which is looked at once.
    """
    found = []
    for labeler in labelers:
        if not isinstance(labeler, Watchable):
            return ""
        if labeler.place not in places:
            try:
                places[labeler.place] = labeler.state()
            except (MonitorError, OSError):
                places[labeler.place] = ""
        found.append(places[labeler.place])
    return " ".join(found) if all(found) else ""
