"""Evidence of a batch or an open round, and the alerts that it opens, ends or revises.

Estimates omit items with contradicting answers, so a person who contradicts every unfavourable
answer would improve them. So a round ends no alert if it depends on how such items are counted
whether the limit is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from monitor.domain.alerting import (
    AlertState,
    ChainStep,
    LimitReading,
    StoredAlert,
    evidence_after_each,
    evidence_of,
    is_comparable,
    next_reading,
    reaches,
)
from monitor.domain.round import Round
from monitor.presentation.alerts import LIMIT_CHANGED, ended_by_round
from monitor.presentation.notices import disputed_sentence
from monitor.rounds.estimation.types import (
    AlertMove,
    Estimates,
    LimitEvidence,
    Member,
    RoundEstimate,
    Side,
)
from monitor.stats.detection.e_detector import Evidence, log_threshold
from monitor.stats.detection.half_space import Limit
from monitor.stats.estimation.missing import point_range
from monitor.storage.labels.round_labels import RoundLabels
from monitor.storage.results import alert_store, concern_store, evidence_store
from monitor.storage.rounds import round_store

if TYPE_CHECKING:
    from sqlalchemy import Connection


Readings = dict["Side", LimitReading]

_Chain: TypeAlias = "tuple[Side, int]"  # A chain of evidence on a limit, by its number


def freeze_evidence(
    connection: Connection,
    due: Round,
    estimate: RoundEstimate,
    alerts: Sequence[StoredAlert],
    now: datetime,
) -> tuple[Readings, list[AlertMove]]:
    """Read the evidence of a closing round, which may fire alerts that did not fire before.

    An alert that the round fired while it was open is revised if its evidence no longer fires it.
    If its limit has changed, it goes on if the round misses the new limit as well.
    """
    own = {(a.metric, a.side): a for a in alerts if a.fired_round_id == due.id}
    # If another round closed after they fired, they count as open before this closing.
    overtaken = alert_store.followed_by_closings(connection, [a.id for a in own.values()])
    reread = [own.get((each.limit.metric, each.limit.side)) for each in estimate.readings]
    open_now = _firing(alerts)
    # First, since a limit whose alert has ended gathers evidence again, in this very round.
    others = [alert for alert in open_now if alert not in reread]
    moves = _end_unwatched(connection, others, due, now)
    ended = {move.alert.id for move in moves}
    last = evidence_store.last_readings(connection, due.monitor_id)
    firing = {
        (a.metric, a.side): a
        for a in open_now
        if a.id not in ended and (a.fired_round_id != due.id or a.id in overtaken)
    }
    disputed = disputed_metrics(connection, [due.id]).get(due.id, set()) if firing else set()
    readings: Readings = {}
    for match in estimate.readings:
        side = (match.limit.metric, match.limit.side)
        alert = firing.get(side)
        reading = _next_reading(last.get(side), match, due, alert)
        if alert is not None and reading.ends_alert and alert.metric not in disputed:
            moves += _end(connection, alert, AlertState.RESOLVED, due, now)
        if alert is None and (fired := own.get(side)) is not None:
            is_same = fired.limit == reading.limit
            if reading.fires and not is_same:
                moves += _keep(connection, fired, reading.limit)
            elif not reading.fires:
                state = AlertState.REVISED if is_same else AlertState.RESOLVED
                why = None if is_same else LIMIT_CHANGED
                moves += _end(connection, fired, state, due, now, why)
            reading = replace(reading, fires=reading.fires or is_same)
        elif reading.fires:
            moves.append(_fire(connection, due, side, reading, now))
        readings[side] = reading
    ended = {move.alert.id for move in moves}
    moves += _confirm(connection, due, [a for a in firing.values() if a.id not in ended], readings)
    return readings, moves


def _confirm(
    connection: Connection, due: Round, open_alerts: Sequence[StoredAlert], readings: Readings
) -> list[AlertMove]:
    """Notify the hooks of open alerts that a backfill fired, if this round would fire them too.

    Each notice is written once for each of its receivers, so a second round repeats none.
    """
    moves: list[AlertMove] = []
    for alert in open_alerts:
        side = (alert.metric, alert.side)
        if side not in readings:
            continue
        fired_by = round_store.read_round(connection, alert.fired_round_id)
        if fired_by.is_silent and _would_fire(connection, due, side, readings[side]):
            moves.append(AlertMove("alert.firing", alert))
    return moves


def _would_fire(connection: Connection, due: Round, side: Side, reading: LimitReading) -> bool:
    """Whether the evidence before an open alert and since then would fire it by this round.

    A round whose own evidence does not count against the limit confirms no alert.
    """
    if evidence_of([reading.log_e]).log_mean <= 0:
        return False
    steps = evidence_store.chain_steps(
        connection, due.monitor_id, *side, reading.chain, reading.order - 1
    )
    earlier = [steps[order].log_e for order in sorted(steps)]
    if not is_comparable([*earlier, reading.log_e]):
        return False
    return reaches(evidence_of(earlier), reading.log_path, reading.log_e, reading.log_threshold)


def fire_early(
    connection: Connection, due: Round, evidence: Sequence[LimitEvidence], now: datetime
) -> list[StoredAlert]:
    """Fire the alerts of an open round that do not depend on its missing answers."""
    alerts = alert_store.find_alerts(connection, monitor=due.monitor)
    taken = {
        (alert.metric, alert.side)
        for alert in alerts
        if alert.state is AlertState.FIRING or alert.fired_round_id == due.id
    }
    last = evidence_store.last_readings(connection, due.monitor_id)
    moves: list[AlertMove] = []
    for match in evidence:
        side = (match.limit.metric, match.limit.side)
        reading = _next_reading(last.get(side), match, due, None)
        if reading.fires and side not in taken:
            moves.append(_fire(connection, due, side, reading, now))
    return [move.alert for move in moves]


def _next_reading(
    last: LimitReading | None, match: LimitEvidence, due: Round, alert: StoredAlert | None
) -> LimitReading:
    limits = due.settings.limits
    # Only a round later than the one that fired is evidence of a recovery.
    is_after = alert is not None and due.slot > alert.fired_slot
    return next_reading(
        last,
        alert_open=alert is not None,
        limit=match.limit.value,
        log_threshold=log_threshold(limits.false_alarm_every, len(limits.sides())),
        log_e=match.log_e,
        log_recovery=match.log_recovery if is_after else None,
        log_path=match.log_path,
    )


def correct_evidence(
    connection: Connection,
    corrected: Sequence[Member],
    estimates: Estimates,
    alerts: Sequence[StoredAlert],
    now: datetime,
    *,
    restated: Collection[int] = (),
) -> tuple[dict[int, Readings], list[AlertMove]]:
    """Recompute the evidence of rounds with a new version; it may revise an alert, never fire.

    The evidence of ``restated`` rounds, by id, stays as it was before.
    """
    if not corrected:
        return {}, []
    firing = _firing(alerts)
    ids = {member.round.id for member in corrected} | {alert.fired_round_id for alert in firing}
    frozen = evidence_store.frozen_readings(connection, sorted(ids))
    stored = read_stored_readings(
        connection, [each for each in corrected if each.round.id in restated]
    )
    fresh = stored | {
        member.round.id: _with_new_labels(
            frozen.get(member.round.id, {}), estimates[member.round.id]
        )
        for member in corrected
        if member.round.id not in stored
    }
    fired = [
        (alert, side, readings[side])
        for alert in firing
        # There is none yet of a round that fired while it is open.
        if (side := (alert.metric, alert.side))
        in (readings := frozen.get(alert.fired_round_id, {}))
    ]
    due = corrected[0].round
    chains = _Chains.read(
        connection, due.monitor_id, fresh.values(), [(side, r) for _, side, r in fired]
    )
    moves: list[AlertMove] = []
    for alert, side, reading in fired:
        if chains.would_not_fire(side, reading):
            moves += _end(connection, alert, AlertState.REVISED, due, now)
    return {round_id: chains.rechained(readings) for round_id, readings in fresh.items()}, moves


def read_stored_readings(connection: Connection, members: Sequence[Member]) -> dict[int, Readings]:
    """Read the evidence of the versions before these, which keep it unchanged."""
    versions = {member.round.id: member.round.version for member in members}
    stored = evidence_store.readings_at(connection, versions) if versions else {}
    return {
        round_id: {
            side: replace(reading, fires=False)
            for side, reading in stored.get(round_id, {}).items()
        }
        for round_id in versions
    }


@dataclass(frozen=True, slots=True)
class _Chains:
    """Log e of the rounds of each chain, by their order, with the newest labels."""

    steps: Mapping[_Chain, Mapping[int, ChainStep]]
    _gathered: dict[_Chain, dict[int, Evidence]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        connection: Connection,
        monitor_id: int,
        fresh: Iterable[Readings],
        fired: Sequence[tuple[Side, LimitReading]],
    ) -> _Chains:
        """Read the chains of these readings, each up to the last of them."""
        newer = [pair for readings in fresh for pair in readings.items()]
        last: dict[_Chain, int] = {}
        for side, reading in [*newer, *fired]:
            key = side, reading.chain
            last[key] = max(reading.order, last.get(key, reading.order))
        steps = {
            (side, chain): dict(
                evidence_store.chain_steps(connection, monitor_id, *side, chain, order)
            )
            for (side, chain), order in last.items()
        }
        for side, reading in newer:
            step = ChainStep(reading.log_e, reading.log_path)
            steps[side, reading.chain][reading.order] = step
        return cls(steps)

    def rechained(self, readings: Readings) -> Readings:
        """Return readings with the evidence of their chains by the current labels."""
        return {
            side: reading
            if reading.log_m is None
            else replace(reading, log_m=self._evidence(side, reading).log_m)
            for side, reading in readings.items()
        }

    def would_not_fire(self, side: Side, fired: LimitReading) -> bool:
        """Whether an alert would not have fired with the current labels."""
        steps = self.steps[side, fired.chain]
        *before, last = [steps[order] for order in sorted(steps) if order <= fired.order]
        earlier = [step.log_e for step in before]
        if not is_comparable([*earlier, last.log_e]):
            return False
        return not reaches(evidence_of(earlier), last.log_path, last.log_e, fired.log_threshold)

    def _evidence(self, side: Side, reading: LimitReading) -> Evidence:
        key = side, reading.chain
        if key not in self._gathered:
            orders = sorted(self.steps[key])
            evidence = evidence_after_each([self.steps[key][order].log_e for order in orders])
            self._gathered[key] = dict(zip(orders, evidence, strict=True))
        return self._gathered[key][reading.order]


def _with_new_labels(frozen: Readings, estimate: RoundEstimate) -> Readings:
    """Return frozen readings with the log e of current labels, unless alternatives differ."""
    now: dict[Side, LimitEvidence] = {(r.limit.metric, r.limit.side): r for r in estimate.readings}
    return {
        side: replace(reading, log_e=now[side].log_e, log_path=now[side].log_path, fires=False)
        if is_comparable([reading.log_e])
        else replace(reading, log_m=None, fires=False)
        for side, reading in frozen.items()
    }


def after_moves(alerts: Sequence[StoredAlert], moves: Sequence[AlertMove]) -> list[StoredAlert]:
    """Apply moves to alerts; oldest first."""
    now = {alert.id: alert for alert in alerts} | {move.alert.id: move.alert for move in moves}
    return sorted(now.values(), key=lambda alert: (alert.fired_at, alert.fired_in_round))


def _firing(alerts: Sequence[StoredAlert]) -> list[StoredAlert]:
    return [alert for alert in alerts if alert.state is AlertState.FIRING]


def _end_unwatched(
    connection: Connection, firing: Sequence[StoredAlert], due: Round, now: datetime
) -> list[AlertMove]:
    """End alerts whose limit is no longer watched; a round before an alert does not end it."""
    watched: dict[Side, float] = {
        (lim.metric, lim.side): lim.value for lim in due.settings.limits.sides()
    }
    moves: list[AlertMove] = []
    for alert in firing:
        is_due = due.slot >= alert.fired_slot
        if is_due and watched.get((alert.metric, alert.side)) != alert.limit:
            moves += _end(connection, alert, AlertState.RESOLVED, due, now, LIMIT_CHANGED)
    return moves


def _fire(
    connection: Connection, due: Round, side: Side, reading: LimitReading, now: datetime
) -> AlertMove:
    alert = alert_store.fire(
        connection, round_=due, metric=side[0], side=side[1], limit=reading.limit, now=now
    )
    return AlertMove("alert.firing", alert)


def _keep(connection: Connection, alert: StoredAlert, limit: float) -> list[AlertMove]:
    if not alert_store.change_limit(connection, alert.id, limit):
        return []
    return [AlertMove(None, replace(alert, limit=limit))]


def _end(
    connection: Connection,
    alert: StoredAlert,
    state: AlertState,
    due: Round,
    now: datetime,
    why: str | None = None,
) -> list[AlertMove]:
    reason = why or ended_by_round(due.number)
    if not alert_store.end(connection, alert.id, state, why=reason, now=now, round_id=due.id):
        return []
    return [AlertMove(f"alert.{state}", replace(alert, state=state), why)]


DISPUTED = "disputed "  # Kinds of concern about disputed items begin so; the metric follows


def find_disputes(member: Member, labels: RoundLabels) -> dict[str, str]:
    """Report how far disputed items of a round move each metric whose limit depends on them."""
    settings = member.round.settings
    items = labels.disputed()
    if not items:
        return {}
    result: dict[str, str] = {}
    disputed = np.array([len(items.get(s.name, ())) for s in member.tally.frame])
    for limit in settings.limits.watched():
        ways = point_range(
            member.tally.counts,
            disputed,
            limit.metric,
            seed=member.round.sobol_seed,
            cells=settings.sample.cells is not None,
        )
        if ways is not None and _crosses(ways, limit):
            result[limit.metric] = disputed_sentence(
                member.round.monitor,
                limit.metric,
                limit.value,
                disputed=int(disputed.sum()),
                answered=int(disputed.sum() + member.tally.counts.labeled.sum()),
                ways=ways,
            )
    return result


def _crosses(ways: tuple[float, float], limit: Limit) -> bool:
    low, high = ways
    if limit.side == "at_least":
        return low < limit.value <= high
    return low <= limit.value < high


def disputed_metrics(connection: Connection, round_ids: Sequence[int]) -> dict[int, set[str]]:
    """Find the metrics whose limit depends on disputed items, for each of some rounds."""
    kinds = concern_store.read_kinds(connection, round_ids)
    return {
        each: {kind.removeprefix(DISPUTED) for kind in concern_kinds if kind.startswith(DISPUTED)}
        for each, concern_kinds in kinds.items()
    }
