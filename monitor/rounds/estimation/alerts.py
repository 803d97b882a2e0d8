"""Evidence of a batch, and the alerts that it opens, ends or revises."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from monitor.domain.alerting import (
    AlertState,
    Reading,
    evidence_of,
    is_comparable,
    next_reading,
    resolves,
)
from monitor.rounds.estimation.batch import AlertMove
from monitor.rounds.estimation.disputes import is_disputed
from monitor.stats.detection.e_detector import log_threshold
from monitor.storage import alert_store, estimate_store, round_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from monitor.rounds.estimation.batch import Estimates, Member, Side
    from monitor.rounds.estimation.estimate import RoundEstimate
    from monitor.storage.alert_store import Alert
    from monitor.storage.round_store import Round

Readings = dict["Side", Reading]


def freeze_evidence(
    connection: Connection, due: Round, estimate: RoundEstimate, now: datetime
) -> tuple[Readings, list[AlertMove]]:
    """Read the evidence of a closing round; of all that is computed only this may fire."""
    moves = _end_unwatched(connection, due, now)
    last = estimate_store.last_readings(connection, due.monitor_id)
    firing = {(a.metric, a.side): a for a in _firing(connection, due)}
    readings: Readings = {}
    for found in estimate.readings:
        side = (found.limit.metric, found.limit.side)
        alert = firing.get(side)
        reading = next_reading(
            last.get(side),
            alert_open=alert is not None,
            limit=found.limit.value,
            log_threshold=log_threshold(
                due.settings.limits.false_alarm_every, len(estimate.readings)
            ),
            log_e=found.log_e,
            recovered=found.recovered,
        )
        readings[side] = reading
        if alert is not None and _resolves(connection, alert, due, side, reading):
            moves += _end(connection, alert, AlertState.RESOLVED, due, now)
        if reading.fires:
            moves.append(_fire(connection, due, side, reading, now))
    return readings, moves


def correct_evidence(
    connection: Connection, corrected: Sequence[Member], estimates: Estimates, now: datetime
) -> tuple[dict[int, Readings], list[AlertMove]]:
    """Recompute the evidence of rounds with a new version; it may revise an alert, never fire."""
    if not corrected:
        return {}, []
    fresh = {
        member.round.id: _with_new_labels(connection, member, estimates[member.round.id])
        for member in corrected
    }
    everything = [(side, r) for readings in fresh.values() for side, r in readings.items()]
    monitor_id = corrected[0].round.monitor_id
    recomputed = {
        round_id: {
            side: _rechained(reading, _chain(connection, monitor_id, side, reading, everything))
            for side, reading in readings.items()
        }
        for round_id, readings in fresh.items()
    }
    moves: list[AlertMove] = []
    due = corrected[0].round
    for alert in _firing(connection, due):
        side = (alert.metric, alert.side)
        fired = estimate_store.frozen_readings(connection, alert.fired_round_id)[side]
        chain = _chain(connection, monitor_id, side, fired, everything)
        if is_comparable(chain) and not evidence_of(chain).fires(fired.log_threshold):
            moves += _end(connection, alert, AlertState.REVISED, due, now)
    return recomputed, moves


def _resolves(connection: Connection, alert: Alert, due: Round, side: Side, now: Reading) -> bool:
    """Whether this round and one next to it in time, both after the alert's, end the alert.

    The one after it, where that closed first.
    """
    fired = round_store.read_round(connection, alert.fired_round_id)
    if due.slot <= fired.slot or is_disputed(connection, due.id, side[0]):
        return False
    before = round_store.closed_between(connection, due.monitor_id, fired.slot, due.slot)
    after = round_store.closed_between(connection, due.monitor_id, due.slot)
    return any(
        _resolve_together(connection, each, side, now) for each in (*before[-1:], *after[:1])
    )


def _resolve_together(connection: Connection, other: int, side: Side, now: Reading) -> bool:
    if is_disputed(connection, other, side[0]):
        return False
    reading = estimate_store.frozen_readings(connection, other).get(side)
    return reading is not None and resolves(reading, now)


def _with_new_labels(connection: Connection, member: Member, estimate: RoundEstimate) -> Readings:
    """Frozen readings of a round with the log e that its labels give now.

    A reading by a version with other alternatives stays as it is: the rest of its chain was read
    by that version too, and nothing can be added to it.
    """
    log_e: dict[Side, tuple[float, ...]] = {
        (r.limit.metric, r.limit.side): r.log_e for r in estimate.readings
    }
    frozen = estimate_store.frozen_readings(connection, member.round.id)
    return {
        side: replace(reading, log_e=log_e[side], fires=False)
        if is_comparable([reading.log_e])
        else replace(reading, log_m=None, fires=False)
        for side, reading in frozen.items()
    }


def _rechained(reading: Reading, chain: Sequence[tuple[float, ...]]) -> Reading:
    if reading.log_m is None:
        return reading
    return replace(reading, log_m=evidence_of(chain).log_m)


def _chain(
    connection: Connection,
    monitor_id: int,
    side: Side,
    up_to: Reading,
    fresh: Iterable[tuple[Side, Reading]],
) -> list[tuple[float, ...]]:
    """Log e of a chain's rounds up to a reading, each by its newest labels."""
    log_e = dict(
        estimate_store.chain_log_e(
            connection, monitor_id, side[0], side[1], up_to.chain, up_to.order
        )
    )
    for of, reading in fresh:
        if of == side and reading.chain == up_to.chain and reading.order <= up_to.order:
            log_e[reading.order] = reading.log_e
    return [log_e[order] for order in sorted(log_e)]


def _firing(connection: Connection, found: Round) -> list[Alert]:
    return alert_store.find_alerts(connection, monitor=found.monitor, state=AlertState.FIRING)


def _end_unwatched(connection: Connection, due: Round, now: datetime) -> list[AlertMove]:
    """End alerts whose limit is no longer the one that is watched.

    A round of the time before an alert was opened with older settings and ends nothing.
    """
    watched: dict[Side, float] = {
        (lim.metric, lim.side): lim.value for lim in due.settings.limits.watched()
    }
    moves: list[AlertMove] = []
    for alert in _firing(connection, due):
        fired = round_store.read_round(connection, alert.fired_round_id)
        if due.slot > fired.slot and watched.get((alert.metric, alert.side)) != alert.limit:
            why = "its limit was changed or removed in the config"
            moves += _end(connection, alert, AlertState.RESOLVED, due, now, why)
    return moves


def _fire(
    connection: Connection, due: Round, side: Side, reading: Reading, now: datetime
) -> AlertMove:
    alert = alert_store.fire(
        connection,
        found=due,
        metric=side[0],
        side=side[1],
        limit=reading.limit,
        now=now,
    )
    return AlertMove("alert.firing", alert)


def _end(
    connection: Connection,
    alert: Alert,
    state: AlertState,
    due: Round,
    now: datetime,
    why: str | None = None,
) -> list[AlertMove]:
    reason = why or f"by round {due.number}"
    if not alert_store.end(connection, alert.id, state, why=reason, now=now, round_id=due.id):
        return []
    return [AlertMove(f"alert.{state}", replace(alert, state=state), why)]
