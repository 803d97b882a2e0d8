"""The places that rounds are labeled at, each read once for all rounds that use it.

A round keeps the labeler that it was opened with, whatever the config says later, and is read
from today's place too, since people may have been given that one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from monitor.domain.crashpoint import outside
from monitor.domain.errors import MonitorError, StoppedByBug, StoreUnavailable
from monitor.domain.ports import Watchable
from monitor.presentation.labels import refused_line
from monitor.rounds.labels.second_annotator import without_same_person
from monitor.storage.labels import label_store
from monitor.storage.labels.label_notes import (
    LabelNotes,
    read_notes,
    read_place,
    write_cursor,
    write_label_notes,
)
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.domain.model import Collected, Refusal
    from monitor.domain.ports import Labeler
    from monitor.rounds.context import MonitorContext
    from monitor.storage.rounds.round_store import Round

log = structlog.get_logger("monitor.labels")

MOST_LOGGED = 10_000
"""Refusals remembered as logged, per place; of more the oldest are logged again."""


@dataclass(slots=True)
class Asked:
    """What came of asking: ``read`` are the rounds whose every place was read.

    ``unsettled`` are those of them for which something lies there that cannot be taken yet;
    ``unread`` has, by name, the places that could not be read; ``news`` are the rounds of
    which labels were stored.
    """

    read: set[int] = field(default_factory=set)
    unsettled: set[int] = field(default_factory=set)
    news: set[int] = field(default_factory=set)
    obstacles: list[MonitorError] = field(default_factory=list)
    collected: list[Collected] = field(default_factory=list)
    unread: dict[str, MonitorError] = field(default_factory=dict)

    def take(self, place: Place, collected: Collected | None) -> None:
        """Note what was read at a place."""
        if collected is None:
            return
        self.collected.append(collected)
        if collected.waits:
            self.unsettled.update(place.rounds)

    def give_up(self, place: Place, obstacle: MonitorError) -> None:
        """Note a place that could not be read."""
        self.obstacles.append(obstacle)
        self.unread[place.name] = obstacle
        self.read.difference_update(place.rounds)


@dataclass(slots=True)
class Place:
    """A labeler under the name that the store knows it by, and the rounds it labels."""

    labeler: Labeler
    name: str
    rounds: list[int] = field(default_factory=list)
    notes: LabelNotes = field(default_factory=LabelNotes)
    """As they stood when the place was last read or noted."""


def ask(context: MonitorContext, rounds: Sequence[Round]) -> Asked:
    """Ask for news of some rounds at all their places; one that cannot be read stops no other."""
    asked = Asked(read={round_.id for round_ in rounds})
    places = _places(context, rounds)
    for place in places:
        _ask_place(context, place, asked, rounds[0].monitor_id)
    if places and not any(isinstance(error, StoreUnavailable) for error in asked.obstacles):
        _keep_obstacles(context, places, asked, rounds[0].monitor_id)
    return asked


def _ask_place(context: MonitorContext, place: Place, asked: Asked, monitor_id: int) -> None:
    try:
        collected = _read(context, place, asked, monitor_id)
    except MonitorError as error:
        asked.give_up(place, error)
    except Exception as error:
        log.exception("labels not read because of a bug", monitor=context.settings.name)
        asked.give_up(place, StoppedByBug.of(error))
    else:
        asked.take(place, collected)


def _keep_obstacles(
    context: MonitorContext, places: Sequence[Place], asked: Asked, monitor_id: int
) -> None:
    """Keep why a place could not be read, so that `status` shows it until it can."""
    for place in places:
        why = str(asked.unread[place.name]) if place.name in asked.unread else None
        if _with_obstacle(place, place.notes, why) == place.notes:
            continue
        with context.database.write() as connection:
            # Read again in the writing transaction: another process may have noted news since.
            before = read_place(connection, monitor_id, place.name).notes
            after = _with_obstacle(place, before, why)
            write_label_notes(connection, monitor_id, place.name, after)
    _drop_obstacles(context, places, monitor_id)


def _drop_obstacles(context: MonitorContext, places: Sequence[Place], monitor_id: int) -> None:
    """Drop why a place could not be read that none of its rounds is labeled at any more."""
    names = {place.name for place in places}
    asked = {round_id for place in places for round_id in place.rounds}
    with context.database.read() as connection:
        noted = read_notes(connection, monitor_id)
    for name, notes in noted.items():
        if name not in names and notes.obstacle is not None and asked.issuperset(notes.rounds):
            with context.database.write() as connection:
                now = read_place(connection, monitor_id, name).notes
                write_label_notes(connection, monitor_id, name, replace(now, obstacle=None))


def _with_obstacle(place: Place, notes: LabelNotes, why: str | None) -> LabelNotes:
    after = replace(notes, obstacle=why)
    return after if why is None else replace(after, rounds=tuple(sorted(place.rounds)))


def place_name(labeler: Labeler) -> str:
    """Name the place of a labeler, for what the store keeps of it."""
    if not isinstance(labeler, Watchable):
        return labeler.name
    place = labeler.place.encode(errors="replace")
    return f"{labeler.name} {hashlib.sha256(place).hexdigest()[:16]}"


def _places(context: MonitorContext, rounds: Sequence[Round]) -> list[Place]:
    places: dict[str, Place] = {}
    for round_ in rounds:
        for labeler in context.labelers_of(round_.settings):
            name = place_name(labeler)
            places.setdefault(name, Place(labeler, name)).rounds.append(round_.id)
    return list(places.values())


def _read(context: MonitorContext, place: Place, asked: Asked, monitor_id: int) -> Collected | None:
    with context.database.read() as connection:
        tasks = label_store.all_tasks(connection, place.rounds)
        known = read_place(connection, monitor_id, place.name)
    place.notes = known.notes
    if not tasks:
        return None
    with outside("collect"):
        answer = place.labeler.collect(tasks, known.cursor)
    if not answer.anew:
        return answer
    has_copies = any(task.slot > 1 for task in tasks.values())
    collected = without_same_person(context, answer) if has_copies else answer
    after = _noted(known.notes, collected, place.rounds)
    with context.database.write() as connection:
        now = context.clock()
        # Waits for the monitor's turn; events and cursor are one transaction, so none is lost.
        round_store.ensure_monitor(connection, context.settings.name, now)
        events, labeler = collected.events, place.labeler.name
        news = label_store.add_by_round(connection, labeler, events, now)
        if collected.cursor is not None:
            write_cursor(connection, monitor_id, place.name, collected.cursor)
        if after != known.notes:
            write_label_notes(connection, monitor_id, place.name, after)
    place.notes = after
    asked.news.update(news)
    return collected


def _noted(before: LabelNotes, collected: Collected, rounds: Sequence[int]) -> LabelNotes:
    """Log what was refused and has not been logged, and gather what people should know."""
    known = set(before.logged)
    new = {_digest(refusal): refusal for refusal in collected.refused}
    new = {digest: refusal for digest, refusal in new.items() if digest not in known}
    for refusal in new.values():
        log.warning("label refused", where=refusal.where, reason=refusal.reason)
    return replace(
        before,
        logged=(*before.logged, *new)[-MOST_LOGGED:],
        problems=collected.problems,
        notes=(*collected.waits, *_refused_note(collected)),
        rounds=tuple(sorted(rounds)),
    )


def _digest(refusal: Refusal) -> str:
    text = f"{refusal.where}|{refusal.reason}|{refusal.version}"
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def _refused_note(collected: Collected) -> list[str]:
    """Show rows that were refused, unless they are a problem of their own."""
    rows = [refusal for refusal in collected.refused if not refusal.is_problem]
    return [refused_line(rows)] if rows else []
