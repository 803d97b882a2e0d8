"""Effects: written with the estimate, claimed in order, kept until done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update

from monitor.domain.model import Effect, EffectKind
from monitor.storage.database import insert_new
from monitor.storage.tables import effects, monitors
from monitor.storage.turns import claim_of_ours, is_free

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

WAITING, DONE = "waiting", "done"
CLAIM_MS = 5 * 60 * 1000  # ten times the slowest delivery: a first MLflow call loads for seconds


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for one sink of one monitor."""

    monitor: str
    sink: str
    effects: int
    rounds: int
    since: datetime
    next_try: datetime
    tries: int
    last_error: str | None


def add_effect(
    connection: Connection,
    *,
    key: str,
    monitor_id: int,
    round_id: int,
    kind: EffectKind,
    sink: str,
    payload: Mapping[str, Any],
    now: datetime,
) -> None:
    """Write down something to be done outside, once per key."""
    insert_new(
        connection,
        effects,
        key=key,
        monitor_id=monitor_id,
        round_id=round_id,
        kind=kind,
        sink=sink,
        payload=dict(payload),
        status=WAITING,
        created_at=now,
        next_try=now,
    )


def heads(connection: Connection, now: datetime) -> list[tuple[int, str]]:
    """Ids and sinks of the effects whose turn it is: the first waiting one of each queue.

    A queue is a monitor and a sink. A queue whose head must wait for its next try has no turn.
    """
    first = (
        select(func.min(effects.c.id).label("id"))
        .where(effects.c.status == WAITING)
        .group_by(effects.c.monitor_id, effects.c.sink)
        .subquery()
    )
    query = (
        select(effects.c.id, effects.c.sink)
        .join(first, first.c.id == effects.c.id)
        .where(effects.c.next_try <= now)
        .order_by(effects.c.id)
    )
    return [(int(row.id), str(row.sink)) for row in connection.execute(query)]


def claim_effect(connection: Connection, effect_id: int, now: datetime) -> Effect | None:
    """Take an effect for this process; None while another delivers it, put it off, or did it."""
    row = connection.execute(
        select(effects, monitors.c.name)
        .join(monitors, monitors.c.id == effects.c.monitor_id)
        .where(effects.c.id == effect_id)
    ).one()
    taken = connection.execute(
        update(effects)
        .where(
            effects.c.id == effect_id,
            effects.c.status == WAITING,
            effects.c.next_try <= now,
            is_free(effects, row.claimed_by, row.attempt),
        )
        .values(claim_of_ours(effects, CLAIM_MS))
    )
    if taken.rowcount == 0:
        return None
    return Effect(
        id=row.id,
        key=row.key,
        kind=EffectKind(row.kind),
        sink=row.sink,
        monitor=row.name,
        payload=row.payload,
        attempt=row.attempt + 1,
    )


def finish_effect(connection: Connection, effect: Effect, receipt: str, now: datetime) -> bool:
    """Record that an effect is done, if its claim is still ours."""
    return _write_back(connection, effect, status=DONE, receipt=receipt, done_at=now)


def put_off_effect(connection: Connection, effect: Effect, error: str, next_try: datetime) -> bool:
    """Record that an effect was not done and when to try again, if its claim is still ours."""
    return _write_back(
        connection, effect, tries=effects.c.tries + 1, last_error=error, next_try=next_try
    )


def find_waiting(connection: Connection, monitor: str | None = None) -> list[Waiting]:
    """Read what waits, per monitor and sink; tries, error and next try are the first one's."""
    queue = (
        select(
            func.min(effects.c.id).label("head"),
            func.count().label("waiting"),
            func.count(effects.c.round_id.distinct()).label("rounds"),
            func.min(effects.c.created_at).label("since"),
        )
        .where(effects.c.status == WAITING)
        .group_by(effects.c.monitor_id, effects.c.sink)
        .subquery()
    )
    query = (
        select(
            monitors.c.name,
            effects.c.sink,
            queue.c.waiting,
            queue.c.rounds,
            queue.c.since,
            effects.c.next_try,
            effects.c.tries,
            effects.c.last_error,
        )
        .join(queue, queue.c.head == effects.c.id)
        .join(monitors, monitors.c.id == effects.c.monitor_id)
        .order_by(monitors.c.name, effects.c.sink)
    )
    if monitor is not None:
        query = query.where(monitors.c.name == monitor)
    return [Waiting(*row) for row in connection.execute(query)]


def tries(connection: Connection, effect_id: int) -> int:
    """How often an effect has failed."""
    query = select(effects.c.tries).where(effects.c.id == effect_id)
    return int(connection.execute(query).scalar_one())


def _write_back(connection: Connection, effect: Effect, **values: Any) -> bool:
    written = connection.execute(
        update(effects)
        .where(
            effects.c.id == effect.id,
            effects.c.attempt == effect.attempt,  # a stale worker loses here
            effects.c.status == WAITING,
        )
        .values(claimed_by=None, claimed_until=None, **values)
    )
    return written.rowcount == 1
