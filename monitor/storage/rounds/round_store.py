"""Rounds in the store, and how to find them; `round_transitions` opens and moves them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
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
)

from monitor.domain.model import Window
from monitor.domain.settings import RoundSettings
from monitor.domain.state import RoundState
from monitor.storage.claims import wait_for_turn, wait_if_recorded
from monitor.storage.database import insert_new, listed
from monitor.storage.tables import monitors, payloads, rounds, tasks


class RoundVersion(NamedTuple):
    """How a round stands: what a move changes."""

    state: str
    version: int
    has_wave_to_come: bool


@dataclass(frozen=True, slots=True)
class Round:
    """A row of ``rounds`` with its monitor's name."""

    id: int
    monitor: str
    monitor_id: int
    history_id: int | None
    number: int
    slot: datetime
    window: Window
    state: RoundState
    reason: str | None
    settings: RoundSettings
    seed: str
    opened_at: datetime
    deadline: datetime | None
    closed_at: datetime | None
    labels_until: datetime | None
    partial: bool
    version: int
    first_version: int
    """Version of its first estimate; more than 1 where MLflow has seen earlier ones."""
    first_look_at: datetime | None  # When its predictions were first looked at
    label_revision: int
    estimated_revision: int | None
    claimed_until: int | None
    """When the claim on it runs out, in ms of the store; whoever left it in mid-step had it."""
    second_wave_at: datetime | None = None
    """When its second wave goes out at the latest; None where none is to come."""
    """Where it ended once its margins held; None where it did not."""
    snapshot: str | None = None
    """The state of its source that it was drawn from, where that can be read again."""
    registered: str | None = None
    """Version that the model's alias named for its window; None where it has none, or several."""

    def is_late(self, now: datetime) -> bool:
        """Whether its time for labels is over."""
        return self.deadline is not None and now >= self.deadline

    @property
    def estimated_version(self) -> int:
        """Version of its newest estimate; 0 while it has none, also where it is done again."""
        return self.version if self.version >= self.first_version else 0

    @property
    def sobol_seed(self) -> int:
        """Fixes the Sobol points of this round's estimates."""
        return int(self.seed[:8], 16)

    @property
    def name(self) -> str:
        """Name for files and for people: monitor and slot, and which time it is done again."""
        return round_name(self.monitor, self.slot, self.first_version)


def round_name(monitor: str, slot: datetime, first_version: int) -> str:
    """Make the name of a round, see `Round.name`."""
    repeated = "" if first_version == 1 else f"-v{first_version}"
    return f"{monitor}-{slot:%Y-%m-%dT%H%M}{repeated}"


def find_monitor(connection: Connection, name: str) -> int | None:
    """Find the monitor's row."""
    return connection.execute(select(monitors.c.id).where(monitors.c.name == name)).scalar()


def ensure_monitor(connection: Connection, name: str, now: datetime) -> int:
    """Find or add the monitor's row, and wait for its turn to be written to."""
    monitor_id = wait_if_recorded(connection, monitors.c.name == name)
    if monitor_id is not None:
        return monitor_id
    insert_new(connection, monitors, name=name, created_at=now)
    return wait_for_turn(connection, monitors.c.name == name)


def read_round(connection: Connection, round_id: int) -> Round:
    """Read one round."""
    return _round(connection.execute(_rounds().where(rounds.c.id == round_id)).one())


def read_rounds(connection: Connection, round_ids: Collection[int]) -> list[Round]:
    """Read some rounds, in slot order."""
    query = _rounds().where(rounds.c.id.in_(round_ids)).order_by(rounds.c.slot, monitors.c.name)
    return [_round(row) for row in connection.execute(query)]


def find_rounds(
    connection: Connection,
    name: str | None = None,
    *,
    states: Collection[RoundState] = tuple(RoundState),
) -> list[Round]:
    """Read the rounds of a monitor, or of all, in slot order."""
    query = _rounds().order_by(rounds.c.slot, monitors.c.name)
    if name is not None:
        query = query.where(monitors.c.name == name)
    if set(states) != set(RoundState):
        query = query.where(rounds.c.state.in_(states))
    return [_round(row) for row in connection.execute(query)]


def numbers_of(connection: Connection, states: Collection[RoundState]) -> list[tuple[str, int]]:
    """Name the rounds in some states by monitor and number, in slot order."""
    query = select(monitors.c.name, rounds.c.number).join_from(rounds, monitors)
    rows = connection.execute(query.where(rounds.c.state.in_(states)).order_by(rounds.c.slot))
    return [(name, number) for name, number in rows]


def read_marks(connection: Connection, name: str) -> dict[int, RoundVersion]:
    """Read how every round of a monitor stands, by id."""
    query = (
        select(rounds.c.id, rounds.c.state, rounds.c.version, rounds.c.second_wave_at)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name == name)
    )
    return {
        row.id: RoundVersion(row.state, row.version, row.second_wave_at is not None)
        for row in connection.execute(query)
    }


def round_at(connection: Connection, monitor_id: int, slot: datetime) -> Round | None:
    """Read the round of a slot, if there is one."""
    query = _rounds().where(rounds.c.monitor_id == monitor_id, rounds.c.slot == slot)
    row = connection.execute(query).first()
    return None if row is None else _round(row)


def newest_round(
    connection: Connection,
    monitor_id: int,
    *,
    until: datetime | None = None,
    origin: str | None = None,
) -> Round | None:
    """Read the round with the latest slot, at most ``until``, skips included.

    With an ``origin`` only rounds that were opened for that reason count.
    """
    query = _rounds().where(rounds.c.monitor_id == monitor_id).order_by(rounds.c.slot.desc())
    if until is not None:
        query = query.where(rounds.c.slot <= until)
    if origin is not None:
        query = query.where(rounds.c.settings["origin"].as_string() == origin)
    row = connection.execute(query.limit(1)).first()
    return None if row is None else _round(row)


def round_before(connection: Connection, monitor_id: int, slot: datetime) -> Round | None:
    """Read the last round before a slot."""
    earlier = _rounds().where(rounds.c.monitor_id == monitor_id, rounds.c.slot < slot)
    row = connection.execute(earlier.order_by(rounds.c.slot.desc()).limit(1)).first()
    return None if row is None else _round(row)


def round_after(connection: Connection, monitor_id: int, slot: datetime) -> Round | None:
    """Read the first round after a slot."""
    after = _rounds().where(rounds.c.monitor_id == monitor_id, rounds.c.slot > slot)
    row = connection.execute(after.order_by(rounds.c.slot).limit(1)).first()
    return None if row is None else _round(row)


def rounds_around(
    connection: Connection, monitor_id: int, first: datetime, last: datetime
) -> list[Round]:
    """Read the rounds from ``first`` to ``last``, the one before and the one after, in order."""
    between = _rounds().where(
        rounds.c.monitor_id == monitor_id, rounds.c.slot >= first, rounds.c.slot <= last
    )
    rounds_between = [_round(row) for row in connection.execute(between.order_by(rounds.c.slot))]
    before = round_before(connection, monitor_id, first)
    after = round_after(connection, monitor_id, last)
    return [round_ for round_ in (before, *rounds_between, after) if round_ is not None]


def newest_scheduled(connection: Connection, name: str, until: datetime) -> Round | None:
    """Read the round of a monitor with the latest slot up to a time that its schedule opened."""
    query = (
        _rounds()
        .where(
            monitors.c.name == name,
            rounds.c.slot <= until,
            rounds.c.settings["origin"].as_string() == "schedule",
        )
        .order_by(rounds.c.slot.desc())
    )
    row = connection.execute(query.limit(1)).first()
    return None if row is None else _round(row)


def slots_with_rounds(connection: Connection, monitor_id: int, after: datetime) -> set[datetime]:
    """Read the slots later than ``after`` that have a round."""
    query = select(rounds.c.slot).where(rounds.c.monitor_id == monitor_id, rounds.c.slot > after)
    return set(connection.execute(query).scalars())


def closed_rounds(connection: Connection, history_id: int) -> list[Round]:
    """Read the closed rounds of a history, in slot order."""
    query = _rounds().where(rounds.c.history_id == history_id, rounds.c.state == RoundState.CLOSED)
    return [_round(row) for row in connection.execute(query.order_by(rounds.c.slot))]


def rounds_from(connection: Connection, history_id: int, first: Round) -> list[Round]:
    """Read a round and the closed ones of its history after it, in slot order."""
    later = and_(
        rounds.c.history_id == history_id,
        rounds.c.state == RoundState.CLOSED,
        rounds.c.slot > first.slot,
    )
    query = _rounds().where(or_(later, rounds.c.id == first.id)).order_by(rounds.c.slot)
    return [_round(row) for row in connection.execute(query)]


def newest_closed(connection: Connection, monitor_id: int, until: datetime) -> int | None:
    """Id of the closed round with the latest slot up to a time: a clock ahead makes later ones."""
    closed = (rounds.c.monitor_id == monitor_id, rounds.c.state == RoundState.CLOSED)
    query = (
        select(rounds.c.id).where(*closed, rounds.c.slot <= until).order_by(rounds.c.slot.desc())
    )
    return connection.execute(query.limit(1)).scalar()


def newest_slot(connection: Connection, name: str) -> datetime | None:
    """Read the slot of a monitor's newest round."""
    slots = select(rounds.c.slot).join(monitors).where(monitors.c.name == name)
    return connection.execute(slots.order_by(rounds.c.slot.desc()).limit(1)).scalar()


def last_closed(connection: Connection, name: str, until: datetime) -> Round | None:
    """Read the closed round of a monitor with the latest slot up to a time."""
    closed = (monitors.c.name == name, rounds.c.state == RoundState.CLOSED, rounds.c.slot <= until)
    row = connection.execute(
        _rounds().where(*closed).order_by(rounds.c.slot.desc()).limit(1)
    ).one_or_none()
    return None if row is None else _round(row)


def unfinished_rounds(connection: Connection, name: str, now: datetime) -> list[Round]:
    """Read the rounds of a monitor that may have something to do, in slot order.

    Those not ended, and the closed ones that still take late labels or have taken some since
    their last estimate.
    """
    query = _rounds().where(monitors.c.name == name, is_unfinished(now))
    return [_round(row) for row in connection.execute(query.order_by(rounds.c.slot))]


def waiting_items(connection: Connection, name: str, now: datetime) -> set[str]:
    """Read the ids of the items of which a monitor may still take labels."""
    query = select(tasks.c.item_id).join(rounds, rounds.c.id == tasks.c.round_id).join(monitors)
    waiting = query.where(monitors.c.name == name, is_unfinished(now))
    return set(connection.scalars(waiting))


def unfinished_names(
    connection: Connection, names: Sequence[str], now: datetime
) -> list[tuple[str, RoundState]]:
    """Read names and states of the unfinished rounds of some monitors, in slot order."""
    query = (
        select(monitors.c.name, rounds.c.slot, rounds.c.first_version, rounds.c.state)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name.in_(listed(connection, names)), is_unfinished(now))
        .order_by(rounds.c.slot, monitors.c.name)
    )
    return [
        (round_name(row.name, row.slot, row.first_version), RoundState(row.state))
        for row in connection.execute(query)
    ]


def adjudicators(
    connection: Connection, names: Sequence[str], now: datetime
) -> dict[str, str | None]:
    """Read who decides conflicts in the unfinished rounds of some monitors, by the round's name."""
    query = (
        select(
            monitors.c.name,
            rounds.c.slot,
            rounds.c.first_version,
            rounds.c.settings["adjudicator"].as_string().label("adjudicator"),
        )
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name.in_(listed(connection, names)), is_unfinished(now))
        .order_by(rounds.c.slot, monitors.c.name)
    )
    return {
        round_name(row.name, row.slot, row.first_version): row.adjudicator
        for row in connection.execute(query)
    }


def finished_rounds_shown(connection: Connection, name: str, now: datetime) -> list[Round]:
    """Read the rounds that have nothing to do and of which labelers may still see something."""
    query = _rounds().where(
        monitors.c.name == name,
        exists().where(payloads.c.round_id == rounds.c.id),
        # Compared with a time that is missing it is NULL, and so would be its opposite.
        not_(func.coalesce(is_unfinished(now), false())),
    )
    return [_round(row) for row in connection.execute(query.order_by(rounds.c.slot))]


def is_unfinished(now: datetime) -> ColumnElement[bool]:
    """Whether a row of ``rounds`` may have something to do."""
    is_corrected = rounds.c.label_revision.is_not_distinct_from(rounds.c.estimated_revision)
    return or_(
        rounds.c.state.in_((RoundState.OPEN, RoundState.LABELING)),
        and_(
            rounds.c.state == RoundState.CLOSED,
            or_(not_(is_corrected), rounds.c.labels_until >= now),
        ),
    )


def _rounds() -> Select[Any]:
    columns = [column for column in rounds.c if column is not rounds.c.settings]
    # As text, by which `_settings` knows those that it has read.
    settings = cast(rounds.c.settings, Text).label("settings")
    return select(*columns, settings, monitors.c.name.label("monitor")).join_from(rounds, monitors)


def _round(row: Row[Any]) -> Round:
    return Round(
        id=row.id,
        monitor=row.monitor,
        monitor_id=row.monitor_id,
        history_id=row.history_id,
        number=row.number,
        slot=row.slot,
        window=Window(row.window_start, row.window_end),
        state=RoundState(row.state),
        reason=row.reason,
        settings=_settings(row.settings),
        seed=row.seed,
        opened_at=row.opened_at,
        deadline=row.deadline,
        closed_at=row.closed_at,
        labels_until=row.labels_until,
        partial=row.partial,
        version=row.version,
        first_version=row.first_version,
        first_look_at=row.first_look_at,
        label_revision=row.label_revision,
        estimated_revision=row.estimated_revision,
        claimed_until=row.claimed_until,
        second_wave_at=row.second_wave_at,
        snapshot=row.snapshot,
        registered=row.registered,
    )


@lru_cache(maxsize=2_000)
def _settings(frozen: str) -> RoundSettings:
    """Read settings once, since nearly all rounds of a monitor were opened with the same."""
    return RoundSettings.model_validate_json(frozen)
