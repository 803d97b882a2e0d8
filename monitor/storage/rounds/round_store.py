"""Rounds in the store, and how to find them; `round_transitions` opens and moves them."""

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
    """How a round stands: what a move changes."""

    state: str
    version: int


class UnfinishedName(NamedTuple):
    """An unfinished round by its name, and who decides where people disagree."""

    name: str
    state: RoundState
    adjudicator: str | None


def find_monitor(connection: Connection, name: str) -> int | None:
    """Find the monitor's row."""
    return connection.scalar(select(monitors.c.id).where(monitors.c.name == name))


def numbers_of(connection: Connection, states: Collection[RoundState]) -> list[tuple[str, int]]:
    """Name the rounds in some states by monitor and number, in slot order."""
    query = select(monitors.c.name, rounds.c.number).join_from(rounds, monitors)
    rows = connection.execute(query.where(rounds.c.state.in_(states)).order_by(rounds.c.slot))
    return [(name, number) for name, number in rows]


def ensure_monitor(connection: Connection, name: str, now: datetime) -> int:
    """Find or add the monitor's row, and wait for its turn to be written to."""
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
    """Read the rounds of a monitor, or of all, in some states or in any, in slot order."""
    in_states = true() if states is None else rounds.c.state.in_(states)
    return find_where(connection, named(name), in_states)


def find_overlapping(
    connection: Connection, name: str, start: datetime, end: datetime
) -> list[Round]:
    """Read the rounds of a monitor whose windows overlap a time, in slot order."""
    overlaps = (rounds.c.window_end > start, rounds.c.window_start < end)
    return find_where(connection, named(name), *overlaps)


def read_marks(connection: Connection, name: str) -> dict[int, RoundVersion]:
    """Read how every round of a monitor stands, by id."""
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
    """Read the round of a monitor with the latest slot, up to a time, that its schedule opened."""
    is_scheduled = rounds.c.settings["origin"].as_string() == "schedule"
    is_early = true() if until is None else rounds.c.slot <= until
    return _newest(connection, monitors.c.name == name, is_early, is_scheduled)


def named_versions(
    connection: Connection, monitor_id: int, model: str | None
) -> list[NamedVersion]:
    """Read the versions that an alias named for the rounds of a monitor, in slot order.

    That of a drawn round is the one that it was drawn for, where it is a single one.
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
    """Read the closed round with the latest slot up to a time: a clock ahead makes later ones."""
    return _newest(connection, monitors.c.name == name, _IS_CLOSED, rounds.c.slot <= until)


def newest_closed_id(connection: Connection, name: str, until: datetime) -> int | None:
    """Read the id of that round alone."""
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
    """Read the rounds from ``first`` to ``last``, the one before and the one after, in order."""
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
    """Read a round and the closed ones of its history after it, in slot order."""
    later = and_(rounds.c.history_id == history_id, _IS_CLOSED, rounds.c.slot > first.slot)
    return find_where(connection, or_(later, rounds.c.id == first.id))


def newest_slot(connection: Connection, name: str) -> datetime | None:
    """Read the slot of a monitor's newest round."""
    slots = select(rounds.c.slot).join(monitors).where(monitors.c.name == name)
    return connection.scalar(slots.order_by(rounds.c.slot.desc()).limit(1))


def unfinished_rounds(connection: Connection, name: str, now: datetime) -> list[Round]:
    """Read the rounds of a monitor that may have something to do, in slot order."""
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
    """Read the rounds that have nothing to do and of which labelers may still see something."""
    is_shown = exists().where(payloads.c.round_id == rounds.c.id)
    # Compared with a time that is missing it is NULL, and so would be its opposite.
    is_finished = not_(func.coalesce(is_unfinished(now), false()))
    return find_where(connection, monitors.c.name == name, is_shown, is_finished)


def is_unfinished(now: datetime) -> ColumnElement[bool]:
    """Whether a row of ``rounds`` may have something to do."""
    is_corrected = rounds.c.label_revision.is_not_distinct_from(rounds.c.estimated_revision)
    return or_(
        rounds.c.state.in_((RoundState.OPEN, RoundState.LABELING)),
        and_(_IS_CLOSED, or_(not_(is_corrected), rounds.c.labels_until >= now)),
    )


def _rounds() -> Select[Any]:
    columns = [column for column in rounds.c if column is not rounds.c.settings]
    # As text, by which `_settings` knows those that it has read.
    settings = cast(rounds.c.settings, Text).label("settings")
    return select(*columns, settings, monitors.c.name.label("monitor")).join_from(rounds, monitors)


def find_where(connection: Connection, *which: ColumnElement[bool]) -> list[Round]:
    """Read the rounds for which all of this holds, in slot order."""
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
    """Read settings once, since nearly all rounds of a monitor were opened with the same."""
    return RoundSettings.model_validate_json(frozen)
