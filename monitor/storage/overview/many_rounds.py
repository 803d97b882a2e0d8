"""Queries over the rounds of all monitors at once: a few, however many monitors there are.

A round's settings are long, and so are its report and its labels. So no query here reads all
rounds of a monitor, and of what is long only the part that is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, ScalarSelect, case, func, select

from monitor.domain.alerting import only_learns
from monitor.domain.model import LabelKind
from monitor.domain.report import AnswersRow, EstimateRow
from monitor.domain.state import RoundState
from monitor.storage.database import chunks
from monitor.storage.labels import label_store, overlap_store
from monitor.storage.overview.fleet_store import rounds_by_state
from monitor.storage.results import estimate_store, report_store
from monitor.storage.rounds import round_lists, round_store
from monitor.storage.tables import label_events, monitors, round_issues, rounds, strata, tasks

if TYPE_CHECKING:
    from monitor.storage.rounds.round_store import Round

WAITING = (RoundState.OPEN, RoundState.LABELING)  # States of rounds that have not ended


@dataclass(frozen=True, slots=True)
class RoundProgress:
    """How many answers a round wants, second copies among them, and how many it has.

    ``items_to_come`` counts items of a second wave that has not gone out.
    """

    wanted: int
    answered: int
    items_to_come: int = 0


@dataclass(slots=True)
class MonitorRounds:
    """The rounds of a monitor that people ask about.

    ``newest``, ``closed`` (the newest that is) and ``closed_rounds`` leave out ``future`` rounds,
    whose time the clock has not reached. ``waiting`` have not ended; ``blocked`` have a reason
    why they do not take their next step.
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
    """Read the rounds that people ask about, of one monitor or of all."""
    of_monitor = _read_newest(connection, now, monitor)
    future = _by_id(connection, _future_round_ids(connection, now, monitor))
    for round_ in sorted(future.values(), key=_slot):
        monitor_rounds = of_monitor[round_.monitor]
        monitor_rounds.future.append(round_)
        monitor_rounds.closed_rounds -= round_.state is RoundState.CLOSED
    open_ones = round_store.find_rounds(connection, monitor, states=WAITING)
    for round_ in open_ones:
        of_monitor[round_.monitor].waiting.append(round_)
    stuck = _by_id(connection, _closed_with_reason(connection, monitor))
    for round_ in sorted([*open_ones, *stuck.values()], key=_slot):
        if round_.reason is not None and round_.slot <= now:
            of_monitor[round_.monitor].blocked.append(round_)
    return of_monitor


def _read_newest(
    connection: Connection, now: datetime, monitor: str | None
) -> dict[str, MonitorRounds]:
    """Read each monitor's newest round and newest closed one, and count the closed ones."""
    ends = select(monitors.c.name, _newest(now), _newest(now, RoundState.CLOSED))
    if monitor is not None:
        ends = ends.where(monitors.c.name == monitor)
    ids = {name: pair for name, *pair in connection.execute(ends)}
    rounds_of = _by_id(
        connection, [end for pair in ids.values() for end in pair if end is not None]
    )
    counted = rounds_by_state(connection, monitor)
    return {
        name: MonitorRounds(
            rounds_of.get(newest), rounds_of.get(closed), counted.get((name, RoundState.CLOSED), 0)
        )
        for name, (newest, closed) in ids.items()
    }


def _slot(round_: Round) -> datetime:
    return round_.slot


def read_progress(connection: Connection, round_ids: Sequence[int]) -> dict[int, RoundProgress]:
    """Count the answers that rounds want and have."""
    out = _items_out(connection, round_ids)
    labeled = _labeled(connection, round_ids)
    copies = {
        round_id: overlap_store.read_copies(connection, round_id)
        for round_id in _with_copies(connection, round_ids)
    }
    return {
        round_id: RoundProgress(
            out.get(round_id, (0, 0))[0] + (copies[round_id].wanted if round_id in copies else 0),
            labeled.get(round_id, 0) + (copies[round_id].answered if round_id in copies else 0),
            out.get(round_id, (0, 0))[1],
        )
        for round_id in round_ids
    }


def read_many(connection: Connection, round_ids: Sequence[int]) -> list[Round]:
    """Read rounds, however many, in slot order."""
    values = _by_id(connection, round_ids).values()
    return sorted(values, key=lambda round_: (round_.slot, round_.monitor))


def read_before(connection: Connection, round_ids: Sequence[int], *, skipped: bool) -> list[Round]:
    """Read the rounds before some rounds in a list, and the last ones that were drawn."""
    ids: set[int] = set()
    for some in chunks(round_ids):
        ids.update(round_lists.rounds_before(connection, some, skipped=skipped))
    return read_many(connection, sorted(ids))


def read_shown(connection: Connection, round_ids: Sequence[int]) -> dict[int, list[EstimateRow]]:
    """Read the latest estimates of precision and recall of some rounds."""
    rows: dict[int, list[EstimateRow]] = {}
    for some in chunks(round_ids):
        rows |= estimate_store.read_points(connection, some, ("precision", "recall"))
    return rows


def read_all_issues(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, dict[str, tuple[int, bool]]]:
    """Read the remarks on the rows of some rounds."""
    result: dict[int, dict[str, tuple[int, bool]]] = {}
    for some in chunks(round_ids):
        query = select(round_issues).where(round_issues.c.round_id.in_(some))
        for row in connection.execute(query):
            issues = result.setdefault(row.round_id, {})
            issues[row.reason] = (int(row._mapping["count"]), row.bad)
    return result


def read_answers(connection: Connection, round_ids: Sequence[int]) -> dict[int, AnswersRow]:
    """Read how many answers the latest version of some rounds has, by the report that it gave."""
    return {
        each: AnswersRow(**row)
        for some in chunks(round_ids)
        for each, row in report_store.read_part(connection, some, "answers")
        if row is not None
    }


def read_reported(
    connection: Connection, round_ids: Sequence[int], part: str
) -> dict[int, list[dict[str, Any]]]:
    """Read the rows in one part of the report that the latest version of some rounds gave."""
    result: dict[int, list[dict[str, Any]]] = {}
    for some in chunks(round_ids):
        result |= report_store.read_of_latest(connection, some, part)
    return result


def learning_rounds(connection: Connection, round_ids: Sequence[int]) -> set[int]:
    """Find the rounds that watched no limit, though they have some, by the report they gave."""
    evidence = read_reported(connection, round_ids, "evidence")
    return {each for each, rows in evidence.items() if only_learns([r.get("state") for r in rows])}


def _newest(now: datetime, state: RoundState | None = None) -> ScalarSelect[int]:
    """Id of a monitor's newest round that is not ahead, found by steps back from its end."""
    query = select(rounds.c.id).where(rounds.c.monitor_id == monitors.c.id, rounds.c.slot <= now)
    if state is not None:
        query = query.where(rounds.c.state == state)
    return query.order_by(rounds.c.slot.desc()).limit(1).correlate(monitors).scalar_subquery()


def _future_round_ids(connection: Connection, now: datetime, monitor: str | None) -> list[int]:
    query = select(rounds.c.id).join(monitors, monitors.c.id == rounds.c.monitor_id)
    if monitor is not None:
        query = query.where(monitors.c.name == monitor)
    upcoming = query.where(rounds.c.slot > now).order_by(rounds.c.slot)
    return list(connection.execute(upcoming).scalars())


def _closed_with_reason(connection: Connection, monitor: str | None) -> list[int]:
    """Ids of closed rounds that wait to be corrected: what keeps them from it is their reason."""
    query = select(rounds.c.id).where(
        rounds.c.state == RoundState.CLOSED, rounds.c.reason.is_not(None)
    )
    if monitor is not None:
        monitor_id = select(monitors.c.id).where(monitors.c.name == monitor).scalar_subquery()
        query = query.where(rounds.c.monitor_id == monitor_id)
    return list(connection.execute(query).scalars())


def _by_id(connection: Connection, round_ids: Sequence[int]) -> dict[int | None, Round]:
    return {
        round_.id: round_
        for some in chunks(round_ids)
        for round_ in round_store.read_rounds(connection, some)
    }


def _items_out(connection: Connection, round_ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Count the items of each round that are out (of two waves maybe the first), and the rest."""
    result: dict[int, tuple[int, int]] = {}
    has_more = rounds.c.second_wave_at.is_not(None)
    for some in chunks(round_ids):
        out = case((has_more, strata.c.first_wave), else_=strata.c.planned)
        query = (
            select(strata.c.round_id, func.sum(out), func.sum(strata.c.planned - out))
            .join(rounds, rounds.c.id == strata.c.round_id)
            .where(strata.c.round_id.in_(some))
            .group_by(strata.c.round_id)
        )
        result |= {
            round_id: (int(items), int(unsent))
            for round_id, items, unsent in connection.execute(query)
        }
    return result


def _labeled(connection: Connection, round_ids: Sequence[int]) -> dict[int, int]:
    """Count the items of each round that are still asked and to which an answer stands.

    Where nobody took anything back these are all that anybody answered.
    """
    result: dict[int, int] = {}
    taken_back = func.max(case((label_events.c.kind == LabelKind.WITHDRAWN, 1), else_=0))
    for some in chunks(round_ids):
        query = (
            select(
                label_events.c.round_id,
                func.count(label_events.c.item_id.distinct()).label("items"),
                taken_back.label("taken_back"),
            )
            .where(label_events.c.round_id.in_(some))
            .group_by(label_events.c.round_id)
        )
        for row in connection.execute(query).all():
            result[row.round_id] = (
                len(label_store.current_labels(connection, row.round_id))
                if row.taken_back
                else int(row.items)
            )
    return result


def _with_copies(connection: Connection, round_ids: Sequence[int]) -> set[int]:
    items: set[int] = set()
    for some in chunks(round_ids):
        query = select(tasks.c.round_id).where(tasks.c.round_id.in_(some), tasks.c.slot > 1)
        items.update(connection.execute(query.distinct()).scalars())
    return items
