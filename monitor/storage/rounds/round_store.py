"""Queries for rounds in the store; `round_transitions` opens and moves them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    and_,
    cast,
    exists,
    false,
    func,
    not_,
    or_,
    select,
    true,
)

from monitor.domain.model import Window
from monitor.domain.registered import NamedVersion
from monitor.domain.round import Round, round_name
from monitor.domain.settings import RoundSettings
from monitor.domain.state import RoundState
from monitor.storage import queries
from monitor.storage.claims import wait_for_turn, wait_if_recorded
from monitor.storage.database import add_missing, listed
from monitor.storage.queries import named
from monitor.storage.tables import monitors, payloads, rounds

_IS_CLOSED = rounds.c.state == RoundState.CLOSED


class RoundVersion(NamedTuple):
    """State and version of a round, which change with each move or estimate."""

    state: str
    version: int


class UnfinishedName(NamedTuple):
    """The name, state and adjudicator of an unfinished round."""

    name: str
    state: RoundState
    adjudicator: str | None


def find_monitor(connection: Connection, name: str) -> int | None:
    """Return the id of a monitor, or None."""
    return connection.scalar(select(monitors.c.id).where(monitors.c.name == name))


def numbers_of(connection: Connection, states: Collection[RoundState]) -> list[tuple[str, int]]:
    """Return monitor and number of all rounds in some states, in slot order."""
    query = select(monitors.c.name, rounds.c.number).join_from(rounds, monitors)
    rows = connection.execute(query.where(rounds.c.state.in_(states)).order_by(rounds.c.slot))
    return [(name, number) for name, number in rows]


def ensure_monitor(connection: Connection, name: str, now: datetime) -> int:
    """Find or add a monitor, lock it for writing, and return its id."""
    monitor_id = wait_if_recorded(connection, monitors.c.name == name)
    if monitor_id is not None:
        return monitor_id
    add_missing(connection, monitors, [{"name": name, "created_at": now}])
    return wait_for_turn(connection, monitors.c.name == name)


def read_round(connection: Connection, round_id: int) -> Round:
    """Read one round."""
    return _round(connection.execute(_rounds().where(rounds.c.id == round_id)).one())


def read_rounds(connection: Connection, round_ids: Collection[int]) -> list[Round]:
    """Read some rounds, in slot order."""
    return find_where(connection, rounds.c.id.in_(round_ids))


def find_rounds(
    connection: Connection,
    name: str | None = None,
    *,
    states: Collection[RoundState] | None = None,
) -> list[Round]:
    """Read rounds of one monitor or all, in some states or any, in slot order."""
    in_states = true() if states is None else rounds.c.state.in_(states)
    return find_where(connection, named(name), in_states)


def find_overlapping(
    connection: Connection, name: str, start: datetime, end: datetime
) -> list[Round]:
    """Read the rounds of a monitor whose windows overlap a time range, in slot order."""
    overlaps = (rounds.c.window_end > start, rounds.c.window_start < end)
    return find_where(connection, named(name), *overlaps)


def read_marks(connection: Connection, name: str) -> dict[int, RoundVersion]:
    """Read the state and version of every round of a monitor, by id."""
    query = (
        select(*rounds.c["id", "state", "version"])
        .select_from(rounds)
        .join(monitors)
        .where(monitors.c.name == name)
    )
    return {each: RoundVersion(*version) for each, *version in connection.execute(query)}


def round_at(connection: Connection, monitor_id: int, slot: datetime) -> Round | None:
    """Read the round of a slot, if there is one."""
    return _newest(connection, rounds.c.monitor_id == monitor_id, rounds.c.slot == slot)


def newest_round(connection: Connection, monitor_id: int) -> Round | None:
    """Read the round with the latest slot, skips included."""
    return _newest(connection, rounds.c.monitor_id == monitor_id)


def newest_scheduled(
    connection: Connection, name: str, until: datetime | None = None
) -> Round | None:
    """Read the newest round of a monitor opened by its schedule, up to a time; None if missing."""
    is_scheduled = rounds.c.settings["origin"].as_string() == "schedule"
    is_early = true() if until is None else rounds.c.slot <= until
    return _newest(connection, monitors.c.name == name, is_early, is_scheduled)


def named_versions(
    connection: Connection, monitor_id: int, model: str | None
) -> list[NamedVersion]:
    """Read the versions that an alias named for the rounds of a monitor, in slot order.

    A drawn round has the version that it was drawn for, if there is only one.
    """
    c, frozen = rounds.c, rounds.c.settings
    version = frozen["alias"]["version"].as_string()
    query = select(c.slot, c.opened_at, version, c.registered)
    query = query.where(c.monitor_id == monitor_id, frozen["model"].as_string() == model)
    return [
        NamedVersion(slot, opened_at, registered.rpartition("/")[2] if registered else version)
        for slot, opened_at, version, registered in connection.execute(query.order_by(c.slot))
        if version or registered
    ]


def newest_closed(connection: Connection, name: str, until: datetime) -> Round | None:
    """Read the newest closed round up to a time, since wrong clocks may have made later ones."""
    return _newest(connection, monitors.c.name == name, _IS_CLOSED, rounds.c.slot <= until)


def newest_closed_id(connection: Connection, name: str, until: datetime) -> int | None:
    """Read the id of the round that `newest_closed` returns."""
    query = select(queries.newest_round(until, _IS_CLOSED)).where(monitors.c.name == name)
    return connection.scalar(query.select_from(monitors))


def round_before(connection: Connection, monitor_id: int, slot: datetime) -> Round | None:
    """Read the last round before a slot."""
    return _newest(connection, rounds.c.monitor_id == monitor_id, rounds.c.slot < slot)


def round_after(connection: Connection, monitor_id: int, slot: datetime) -> Round | None:
    """Read the first round after a slot."""
    query = _rounds().where(rounds.c.monitor_id == monitor_id, rounds.c.slot > slot)
    return _first(connection, query.order_by(rounds.c.slot))


def rounds_around(
    connection: Connection, monitor_id: int, first: datetime, last: datetime
) -> list[Round]:
    """Read the rounds from ``first`` to ``last``, one before and one after, in slot order."""
    is_between = rounds.c.slot.between(first, last)
    between = find_where(connection, rounds.c.monitor_id == monitor_id, is_between)
    before = round_before(connection, monitor_id, first)
    after = round_after(connection, monitor_id, last)
    return [round_ for round_ in (before, *between, after) if round_ is not None]


def slots_with_rounds(connection: Connection, monitor_id: int, after: datetime) -> set[datetime]:
    """Read the slots later than ``after`` that have a round."""
    query = select(rounds.c.slot).where(rounds.c.monitor_id == monitor_id, rounds.c.slot > after)
    return set(connection.scalars(query))


def closed_rounds(connection: Connection, history_id: int) -> list[Round]:
    """Read the closed rounds of a history, in slot order."""
    return find_where(connection, rounds.c.history_id == history_id, _IS_CLOSED)


def first_slot(connection: Connection, history_id: int) -> datetime | None:
    """Read the slot of a history's first round."""
    slots = select(rounds.c.slot).where(rounds.c.history_id == history_id)
    return connection.scalar(slots.order_by(rounds.c.slot).limit(1))


def rounds_from(connection: Connection, history_id: int, first: Round) -> list[Round]:
    """Read a round and the later closed rounds of its history, in slot order."""
    later = and_(rounds.c.history_id == history_id, _IS_CLOSED, rounds.c.slot > first.slot)
    return find_where(connection, or_(later, rounds.c.id == first.id))


def newest_slot(connection: Connection, name: str) -> datetime | None:
    """Read the slot of a monitor's newest round."""
    slots = select(rounds.c.slot).join(monitors).where(monitors.c.name == name)
    return connection.scalar(slots.order_by(rounds.c.slot.desc()).limit(1))


def unfinished_rounds(connection: Connection, name: str, now: datetime) -> list[Round]:
    """Read the unfinished rounds of a monitor (`is_unfinished`), in slot order."""
    return find_where(connection, monitors.c.name == name, is_unfinished(now))


def unfinished_names(
    connection: Connection, names: Sequence[str], now: datetime
) -> list[UnfinishedName]:
    """Read the names of the unfinished rounds of some monitors, in slot order."""
    adjudicator = rounds.c.settings["adjudicator"].as_string()
    query = (
        select(monitors.c.name, *rounds.c["slot", "state"], adjudicator)
        .join_from(rounds, monitors)
        .where(monitors.c.name.in_(listed(connection, names)), is_unfinished(now))
        .order_by(rounds.c.slot, monitors.c.name)
    )
    return [
        UnfinishedName(round_name(*of_round), RoundState(state), judge)
        for *of_round, state, judge in connection.execute(query)
    ]


def finished_rounds_shown(connection: Connection, name: str, now: datetime) -> list[Round]:
    """Read finished rounds of a monitor that still have content shown to labelers."""
    is_shown = exists().where(payloads.c.round_id == rounds.c.id)
    # A comparison with a missing time is NULL, and so is its negation.
    is_finished = not_(func.coalesce(is_unfinished(now), false()))
    return find_where(connection, monitors.c.name == name, is_shown, is_finished)


def is_unfinished(now: datetime) -> ColumnElement[bool]:
    """Whether a row of ``rounds`` may have something to do.

    It is open or in labeling, or it is closed and labels are uncounted or may still arrive.
    """
    is_corrected = rounds.c.label_revision.is_not_distinct_from(rounds.c.estimated_revision)
    return or_(
        rounds.c.state.in_((RoundState.OPEN, RoundState.LABELING)),
        and_(_IS_CLOSED, or_(not_(is_corrected), rounds.c.labels_until >= now)),
    )


def _rounds() -> Select[Any]:
    columns = [column for column in rounds.c if column is not rounds.c.settings]
    # As text, which is the key of the cache of `_settings`.
    settings = cast(rounds.c.settings, Text).label("settings")
    return select(*columns, settings, monitors.c.name.label("monitor")).join_from(rounds, monitors)


def find_where(connection: Connection, *which: ColumnElement[bool]) -> list[Round]:
    """Read the rounds that meet all conditions, in slot order."""
    query = _rounds().where(*which).order_by(rounds.c.slot, monitors.c.name)
    return [_round(row) for row in connection.execute(query)]


def _newest(connection: Connection, *which: ColumnElement[bool]) -> Round | None:
    return _first(connection, _rounds().where(*which).order_by(rounds.c.slot.desc()))


def _first(connection: Connection, query: Select[Any]) -> Round | None:
    row = connection.execute(query.limit(1)).first()
    return None if row is None else _round(row)


def _round(row: Row[Any]) -> Round:
    return Round(
        window=Window(row.window_start, row.window_end),
        state=RoundState(row.state),
        settings=_settings(row.settings),
        **{name: getattr(row, name) for name in _AS_STORED},
    )


_AS_STORED = tuple(
    field.name for field in fields(Round) if field.name not in {"window", "state", "settings"}
)


@lru_cache(maxsize=2_000)
def _settings(frozen: str) -> RoundSettings:
    """Parse settings; cached, since nearly all rounds of a monitor have the same."""
    return RoundSettings.model_validate_json(frozen)
