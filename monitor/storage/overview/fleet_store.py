"""What metrics show of all monitors at once, in a few queries regardless of their number.

A round's settings are long, so totals come from the indexes of slots and of states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, Subquery, and_, case, func, select

from monitor.domain.alerting import AlertState
from monitor.domain.report import EstimateRow
from monitor.domain.state import RoundState
from monitor.storage.outbox.effect_store import OPEN
from monitor.storage.queries import is_latest, named, newest_round, of_monitor
from monitor.storage.results.estimate_store import estimate_row
from monitor.storage.tables import (
    alerts,
    counts,
    effects,
    estimates,
    evidence,
    monitors,
    rounds,
    strata,
)

_WATCHED = ("metric", "side", "limit", "log_evidence", "log_threshold")
_RARE = tuple(state for state in RoundState if state is not RoundState.CLOSED)


@dataclass(frozen=True, slots=True)
class Watched:
    """A limit as the newest closed round found it; no evidence is gathered while it alerts."""

    monitor: str
    metric: str
    side: str
    limit: float
    log_evidence: float | None
    log_threshold: float


@dataclass(frozen=True, slots=True)
class EffectQueue:
    """What waits for one sink, all monitors together; ``dead`` effects are among ``waiting``."""

    sink: str
    waiting: int
    dead: int
    since: datetime


@dataclass(frozen=True, slots=True)
class FleetState:
    """How all monitors of a store stand; ``missing`` is the share of missing answers."""

    rounds: Mapping[tuple[str, str], int]
    newest: Mapping[str, datetime]
    estimates: tuple[tuple[str, EstimateRow], ...]
    missing: Mapping[str, float]
    watched: tuple[Watched, ...]
    firing: Mapping[tuple[str, str, str], int]
    queues: tuple[EffectQueue, ...]


def read_fleet(connection: Connection, now: datetime) -> FleetState:
    """Read how all monitors stand; a round whose slot is still to come is not the newest."""
    newest = _newest_closed(now)
    slots = select(newest.c.monitor, rounds.c.slot).join(rounds, rounds.c.id == newest.c.round_id)
    rows = connection.execute(_estimates(newest))
    return FleetState(
        rounds=rounds_by_state(connection),
        newest={row.monitor: row.slot for row in connection.execute(slots)},
        estimates=tuple((row.monitor, estimate_row(row)) for row in rows),
        missing={
            monitor: 1 - int(labeled) / int(planned)
            for monitor, planned, labeled in connection.execute(_answers(newest))
            if planned
        },
        watched=tuple(Watched(*row) for row in connection.execute(_evidence(newest))),
        firing=_firing(connection),
        queues=tuple(EffectQueue(*row) for row in connection.execute(_queues())),
    )


def rounds_by_state(
    connection: Connection, monitor: str | None = None
) -> dict[tuple[str, str], int]:
    """Count rounds by monitor and state: closed are all others, which needs no row of them."""
    listed_monitors = select(monitors.c.id, monitors.c.name).where(named(monitor))
    counted = select(rounds.c.monitor_id, func.count()).where(of_monitor(monitor))
    per_monitor = counted.group_by(rounds.c.monitor_id)
    rare = (
        select(rounds.c.monitor_id, rounds.c.state, func.count())
        .where(rounds.c.state.in_(_RARE), of_monitor(monitor))
        .group_by(rounds.c.monitor_id, rounds.c.state)
    )
    names = {row.id: row.name for row in connection.execute(listed_monitors)}
    closed_counts = {each: int(count) for each, count in connection.execute(per_monitor)}
    result: dict[tuple[str, str], int] = {}
    for id_, state, count in connection.execute(rare):
        result[names[id_], state] = count
        closed_counts[id_] -= count
    closed = {(names[each], str(RoundState.CLOSED)): count for each, count in closed_counts.items()}
    return result | closed


def _newest_closed(now: datetime) -> Subquery:
    newest = newest_round(now, rounds.c.version >= rounds.c.first_version)
    return select(monitors.c.name.label("monitor"), newest.label("round_id")).subquery()


def _estimates(newest: Subquery) -> Select[Any]:
    """Precision and recall as reports show them: of the window alone, and of the rate pooled."""
    shown = case((estimates.c.basis == "round", "window"), else_="rate")
    return (
        select(newest.c.monitor, estimates)
        .join(rounds, rounds.c.id == newest.c.round_id)
        .join(estimates, is_latest(estimates))
        .where(estimates.c.metric.in_(("precision", "recall")), estimates.c.estimand == shown)
        .order_by(newest.c.monitor, estimates.c.metric, estimates.c.basis)
    )


def _answers(newest: Subquery) -> Select[Any]:
    """Items that the newest closed round handed out, and those that have a usable answer."""
    return (
        select(newest.c.monitor, func.sum(strata.c.planned), func.sum(counts.c.labeled))
        .join(rounds, rounds.c.id == newest.c.round_id)
        .join(counts, is_latest(counts))
        .join(
            strata,
            and_(strata.c.round_id == counts.c.round_id, strata.c.stratum == counts.c.stratum),
        )
        .group_by(newest.c.monitor)
    )


def _evidence(newest: Subquery) -> Select[Any]:
    return (
        select(newest.c.monitor, *evidence.c[_WATCHED])
        .join(rounds, rounds.c.id == newest.c.round_id)
        .join(evidence, is_latest(evidence))
        .order_by(newest.c.monitor, evidence.c.metric, evidence.c.side)
    )


def _firing(connection: Connection) -> dict[tuple[str, str, str], int]:
    query = (
        select(monitors.c.name, alerts.c.metric, alerts.c.side, func.count())
        .join(monitors, monitors.c.id == alerts.c.monitor_id)
        .where(alerts.c.state == AlertState.FIRING)
        .group_by(monitors.c.name, alerts.c.metric, alerts.c.side)
    )
    return {(name, metric, side): n for name, metric, side, n in connection.execute(query)}


def _queues() -> Select[Any]:
    dead = func.sum(case((effects.c.status == "dead", 1), else_=0))
    return (
        select(effects.c.sink, func.count(), dead, func.min(effects.c.created_at))
        .where(effects.c.status.in_(OPEN))
        .group_by(effects.c.sink)
        .order_by(effects.c.sink)
    )
