"""Queries over the rounds of all monitors: a few queries regardless of the number of monitors.

Settings, reports and labels are long, so no query reads all of a monitor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from operator import attrgetter

from sqlalchemy import Connection, case, func, select

from monitor.domain.model import LabelKind
from monitor.domain.report import EstimateRow
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.storage.database import chunks, in_chunks
from monitor.storage.labels import census_store, check_store, label_store, overlap_store
from monitor.storage.labels.overlap_store import Copies
from monitor.storage.labels.round_labels import read_all_labels
from monitor.storage.overview.fleet_store import rounds_by_state
from monitor.storage.queries import named, newest_round
from monitor.storage.results import estimate_store
from monitor.storage.rounds import round_lists, round_store
from monitor.storage.tables import label_events, monitors, rounds, strata, tasks

WAITING = (RoundState.OPEN, RoundState.LABELING)  # States of rounds that have not ended


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """Number of answers that a round requested and received."""

    wanted: int
    answered: int


@dataclass(slots=True)
class MonitorRounds:
    """The rounds of a monitor that its status shows.

    Only ``future`` rounds have slots in the future. ``blocked`` rounds have a reason why they
    cannot take their next step.
    """

    newest: Round | None = None
    closed: Round | None = None
    closed_rounds: int = 0
    waiting: list[Round] = field(default_factory=list)
    blocked: list[Round] = field(default_factory=list)
    future: list[Round] = field(default_factory=list)


def read_monitor_rounds(
    connection: Connection, now: datetime, monitor: str | None = None
) -> dict[str, MonitorRounds]:
    """Read the rounds that the status shows, of one monitor or of all."""
    is_closed = rounds.c.state == RoundState.CLOSED
    ends = select(monitors.c.name, newest_round(now), newest_round(now, is_closed))
    ids = {name: pair for name, *pair in connection.execute(ends.where(named(monitor)))}
    rounds_of = _by_id(connection, [end for of in ids.values() for end in of if end is not None])
    counted = rounds_by_state(connection, monitor)
    of_monitor = {
        name: MonitorRounds(
            rounds_of.get(newest), rounds_of.get(closed), counted.get((name, RoundState.CLOSED), 0)
        )
        for name, (newest, closed) in ids.items()
    }
    for round_ in round_store.find_where(connection, named(monitor), rounds.c.slot > now):
        monitor_rounds = of_monitor[round_.monitor]
        monitor_rounds.future.append(round_)
        monitor_rounds.closed_rounds -= round_.state is RoundState.CLOSED
    open_ones = round_store.find_rounds(connection, monitor, states=WAITING)
    for round_ in open_ones:
        of_monitor[round_.monitor].waiting.append(round_)
    # Closed rounds whose correction is blocked have a reason.
    is_stuck = (rounds.c.state == RoundState.CLOSED) & rounds.c.reason.is_not(None)
    stuck = round_store.find_where(connection, named(monitor), is_stuck)
    for round_ in sorted([*open_ones, *stuck], key=attrgetter("slot")):
        if round_.reason is not None and round_.slot <= now:
            of_monitor[round_.monitor].blocked.append(round_)
    return of_monitor


def read_progress(connection: Connection, round_ids: Sequence[int]) -> dict[int, RoundProgress]:
    """Count the answers that rounds requested and received."""
    out = in_chunks(connection, round_ids, _items_out)
    labeled = in_chunks(connection, round_ids, _labeled)
    copies = in_chunks(connection, round_ids, _copies)
    whole = in_chunks(connection, round_ids, census_store.answered_items)
    checked = in_chunks(connection, round_ids, _checked)
    result: dict[int, RoundProgress] = {}
    for each in round_ids:
        second = copies.get(each, Copies(0, 0))
        checks, answered = checked.get(each, (0, labeled.get(each, 0) + whole.get(each, 0)))
        expected = out.get(each, 0) + second.wanted + checks
        result[each] = RoundProgress(expected, answered + second.answered)
    return result


def read_many(connection: Connection, round_ids: Sequence[int]) -> list[Round]:
    """Read any number of rounds, in slot order."""
    return sorted(_by_id(connection, round_ids).values(), key=attrgetter("slot", "monitor"))


def read_before(connection: Connection, round_ids: Sequence[int], *, skipped: bool) -> list[Round]:
    """Read the rounds before these: of each, the one before it in a list and the last drawn one."""
    ids = {
        before
        for some in chunks(round_ids)
        for before in round_lists.rounds_before(connection, some, skipped=skipped)
    }
    return read_many(connection, sorted(ids))


def read_shown(connection: Connection, round_ids: Sequence[int]) -> dict[int, list[EstimateRow]]:
    """Read the latest estimates of precision and recall of some rounds."""
    read = partial(estimate_store.read_points, metrics=("precision", "recall"))
    return in_chunks(connection, round_ids, read)


def _by_id(connection: Connection, round_ids: Sequence[int]) -> dict[int | None, Round]:
    return {
        round_.id: round_
        for some in chunks(round_ids)
        for round_ in round_store.read_rounds(connection, some)
    }


def _items_out(connection: Connection, round_ids: Sequence[int]) -> dict[int, int]:
    """Count the items of each round."""
    query = (
        select(strata.c.round_id, func.sum(strata.c.planned))
        .where(strata.c.round_id.in_(round_ids))
        .group_by(strata.c.round_id)
    )
    return {each: int(drawn) for each, drawn in connection.execute(query)}


def _labeled(connection: Connection, round_ids: Sequence[int]) -> dict[int, int]:
    """Count the items of each round that have a current answer."""
    items = func.count(label_events.c.item_id.distinct())
    taken_back = func.max(case((label_events.c.kind == LabelKind.WITHDRAWN, 1), else_=0))
    query = (
        select(label_events.c.round_id, items, taken_back)
        .where(label_events.c.round_id.in_(round_ids))
        .group_by(label_events.c.round_id)
    )
    return {
        each: len(label_store.current_labels(connection, each)) if is_less else int(answered)
        for each, answered, is_less in connection.execute(query).all()
    }


def _checked(connection: Connection, round_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Count, for each round with checks, its checks and all its answers, including checks."""
    checked = list(check_store.checked_items(connection, round_ids))
    rounds_read = round_store.read_rounds(connection, checked) if checked else []
    return {
        round_id: (len(labels.checks), labels.answered + len(labels.checks) - labels.unchecked)
        for round_id, labels in read_all_labels(connection, rounds_read).items()
    }


def _copies(connection: Connection, round_ids: Sequence[int]) -> dict[int, Copies]:
    query = select(tasks.c.round_id).where(tasks.c.round_id.in_(round_ids), tasks.c.slot > 1)
    with_copies = connection.scalars(query.distinct()).all()
    return {each: overlap_store.read_copies(connection, each) for each in with_copies}
