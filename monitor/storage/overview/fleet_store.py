"""State of all monitors for metrics, in a few queries regardless of their number.

The settings of rounds are long, so totals come from the indexes on slots and states.
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
    """A limit in the newest closed round; ``log_evidence`` is None while its alert is open."""

    monitor: str
    metric: str
    side: str
    limit: float
    log_evidence: float | None
    log_threshold: float


@dataclass(frozen=True, slots=True)
class EffectQueue:
    """The pending effects of one sink over all monitors; ``waiting`` includes the ``dead`` ones."""

    sink: str
    waiting: int
    dead: int
    since: datetime


@dataclass(frozen=True, slots=True)
class FleetState:
    """State of all monitors of a store; ``missing`` is the share of missing answers."""

    rounds: Mapping[tuple[str, str], int]
    newest: Mapping[str, datetime]
    estimates: tuple[tuple[str, EstimateRow], ...]
    missing: Mapping[str, float]
    watched: tuple[Watched, ...]
    firing: Mapping[tuple[str, str, str], int]
    queues: tuple[EffectQueue, ...]


def read_fleet(connection: Connection, now: datetime) -> FleetState:
    """Read the state of all monitors; rounds with slots in the future are not the newest."""
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
    """Count rounds by monitor and state; closed rounds are the remainder, so none is read."""
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
    """Select precision and recall as in reports: of the window alone, and the pooled rate."""
    shown = case((estimates.c.basis == "round", "window"), else_="rate")
    return (
        select(newest.c.monitor, estimates)
        .join(rounds, rounds.c.id == newest.c.round_id)
        .join(estimates, is_latest(estimates))
        .where(estimates.c.metric.in_(("precision", "recall")), estimates.c.estimand == shown)
        .order_by(newest.c.monitor, estimates.c.metric, estimates.c.basis)
    )


def _answers(newest: Subquery) -> Select[Any]:
    """Select the number of planned and of labeled items in the newest closed rounds."""
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
