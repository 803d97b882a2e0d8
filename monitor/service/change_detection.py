"""Find monitors that need no check: nothing is due, and nothing changed since the last one.

A check of a monitor costs a dozen queries and reads its tasks. So a process remembers the state of
each monitor and of its label locations before the last check; `run-once` keeps it in the store. If
both are unchanged, and no slot or deadline has come, another check would find nothing new.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import structlog

from monitor.domain.errors import MonitorError, StoreUnavailable
from monitor.domain.ports import Clock, Labeler, Watchable
from monitor.domain.slots import next_slot
from monitor.rounds.context import MonitorContext
from monitor.rounds.labels.endpoints import endpoint_name
from monitor.storage.database import Database
from monitor.storage.overview.change_marks import (
    NOTHING,
    MonitorVersion,
    read_scans,
    standings,
    write_scans,
)
from monitor.storage.rounds import round_store

log = structlog.get_logger("monitor.service.loop")

LONGEST = timedelta(hours=1)  # Between checks: late labels stop counting without any event
_SLACK = timedelta(days=10)  # A round may wait to be drawn, and close after its deadline


@dataclass(frozen=True, slots=True)
class MonitorScan:
    """A check of a monitor: its time, and the state before it."""

    context: MonitorContext
    at: datetime
    version: MonitorVersion
    next_slot: datetime
    labelers: tuple[Labeler, ...]
    digest: str
    """Differs between any two states of the monitor; empty if its state is unknown."""


class _SavedScan(NamedTuple):
    digest: str
    at: datetime
    next_slot: datetime


class ChangeDetector:
    """Remembers the last successful check of each monitor.

    configs: Text of each monitor's config, by name. If given, successful checks of earlier
        processes count too, and `keep` stores this process's.
    """

    def __init__(
        self, database: Database, clock: Clock, configs: Mapping[str, str] | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._configs = configs
        self._good: dict[str, MonitorScan] = {}

    def needed(self, monitors: Sequence[MonitorContext]) -> list[MonitorScan]:
        """Return checks of the monitors that may have work."""
        now = self._clock()
        settings = [context.settings.round for context in monitors]
        spans = [one.late_labels + one.deadline for one in settings]  # as long as labels count
        with self._database.read() as connection:
            versions = standings(connection, now - max(spans, default=timedelta(0)) - _SLACK)
            texts = {} if self._configs is None else read_scans(connection)
        states: dict[str, str] = {}
        checks = []
        for context in monitors:
            name = context.settings.name
            version = versions.get(name, NOTHING)
            labelers, labels = self._state_of_labels(context, version, states)
            # A reload makes other contexts, and a remembered check keeps its own alive.
            config = str(id(context)) if self._configs is None else self._configs[name]
            digest = _digest(version, labels, config) if labels else ""
            good = [self._good.get(name), _saved(texts.get(name))] if digest else []
            equal = [one for one in good if one is not None and one.digest == digest]
            if not any(_is_quiet(version, now, one) for one in equal):
                following = next_slot(context.settings.round.schedule, now)
                checks.append(MonitorScan(context, now, version, following, labelers, digest))
        return checks

    def _state_of_labels(
        self, context: MonitorContext, current: MonitorVersion, states: dict[str, str]
    ) -> tuple[tuple[Labeler, ...], str]:
        """Return the labelers of a monitor's rounds and the state of their locations.

        The state is empty if one fails: its monitor is checked, and no other is held up.
        """
        try:
            labelers = self._labelers(context, current)
            return labelers, _labels(labelers, states)
        except StoreUnavailable:
            raise
        except MonitorError:
            pass  # the check meets and reports it
        except Exception:
            name = context.settings.name
            log.exception("cannot tell whether labels changed: stopped by a bug", monitor=name)
        return (), ""

    def _labelers(self, context: MonitorContext, current: MonitorVersion) -> tuple[Labeler, ...]:
        good = self._good.get(context.settings.name)
        if good is not None and good.context is context and good.version == current:
            return good.labelers
        with self._database.read() as connection:
            name, now = context.settings.name, self._clock()
            rounds = round_store.unfinished_rounds(connection, name, now)
        labelers = {
            endpoint_name(one): one.labeler
            for round_ in rounds
            for one in context.labelers_of(round_.settings)
        }
        return (*(one.labeler for one in context.today), *labelers.values())

    def record_check(self, scan: MonitorScan, *, well: bool) -> None:
        """Record the result of a check."""
        name = scan.context.settings.name
        if well:
            self._good[name] = scan
        else:
            self._good.pop(name, None)

    def keep(self) -> None:
        """Store the successful checks of this process for the next one."""
        if self._configs is None:
            return
        texts = {
            name: json.dumps([scan.digest, scan.at, scan.next_slot], default=str)
            for name, scan in self._good.items()
            if scan.digest
        }
        if texts:
            with self._database.write() as connection:
                write_scans(connection, texts)


def last_ones(checks: Sequence[MonitorScan]) -> tuple[list[MonitorScan], list[MonitorScan]]:
    """Separate checks of monitors with a round that a worker left in mid-step from all others.

    The cause that ended that worker may end this one too, so these checks come last, one after the
    other, the longest waiting first.
    """
    others = [scan for scan in checks if scan.version.left is None]
    interrupted = [scan for scan in checks if scan.version.left is not None]
    return others, sorted(interrupted, key=lambda scan: scan.version.left or 0)


def _is_quiet(current: MonitorVersion, now: datetime, scan: MonitorScan | _SavedScan) -> bool:
    """Whether there is no work, and no time has come since a check that makes another due."""
    late = current.deadline is not None and current.deadline <= now
    recent = timedelta(0) <= now - scan.at < LONGEST
    return not current.has_work and not late and now < scan.next_slot and recent


def _labels(labelers: Sequence[Labeler], states: dict[str, str]) -> str:
    """Describe the state of label locations; empty if the state of one is unknown.

    A location that monitors share is read once.
    """
    described = []
    for labeler in labelers:
        if not isinstance(labeler, Watchable):
            return ""
        if labeler.location not in states:
            try:
                states[labeler.location] = labeler.state()
            except (MonitorError, OSError):
                states[labeler.location] = ""
        described.append(states[labeler.location])
    return " ".join(described) if all(described) else ""


def _digest(current: MonitorVersion, labels: str, config: str) -> str:
    text = repr((current.recent, current.open, current.has_work, labels, config))
    return hashlib.sha256(text.encode()).hexdigest()


def _saved(text: str | None) -> _SavedScan | None:
    """Parse a stored check; None if it is in another version's format."""
    try:
        digest, *times = json.loads(text or "")
        at, next_slot = map(datetime.fromisoformat, times)
    except (ValueError, TypeError):
        return None
    return _SavedScan(digest, at, next_slot)
