"""Effects: written with the estimate, claimed in order, stored until done.

A dead letter is an effect that needs a person: it failed for long, or cannot succeed as things are.
It is still retried, at growing intervals. While its sink accepts nothing, it stays at the head of
its queue. If only this effect fails, it is set aside (`is_aside`): of its queue, only effects on
the same round or the same alert still wait for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    case,
    exists,
    func,
    or_,
    select,
    union_all,
)

from monitor.domain.model import Effect, EffectKind, WaitingSink
from monitor.storage.claims import attempts_alone, claim_of_ours, is_free
from monitor.storage.database import add_missing, change
from monitor.storage.queries import named, picked
from monitor.storage.results.report_store import payload_of, with_report
from monitor.storage.tables import effects, monitors

WAITING, DEAD, DONE, DROPPED = "waiting", "dead", "done", "dropped"
OPEN = (WAITING, DEAD)  # Statuses of pending effects

DEADLY_ATTEMPTS = 5
"""Isolated deliveries in a row that end their process before the effect is paused for a while.

A process may be killed from outside, whatever it delivers. So an effect whose process ended is
retried in isolation, when all else is done, and only such attempts count."""

LONGEST_WAIT, LONGEST_WAIT_IF_DEAD = timedelta(hours=1), timedelta(days=1)
"""Longest delays of a next try; a later one was set by a clock that was ahead, and is due."""

CLAIM_MS = 5 * 60 * 1000  # ten times the slowest delivery: a first MLflow call loads for seconds


@dataclass(frozen=True, slots=True)
class NewEffect:
    """An effect to store; it delivers the report of a version of its round, or a payload."""

    key: str
    monitor_id: int
    round_id: int
    kind: EffectKind
    sink: str
    report_version: int | None = None
    payload: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """State of the effect at the head of a queue; ``since`` is when it became the head."""

    round_id: int
    tries: int
    dead: bool
    aside: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class Head:
    """An effect at the head of its queue.

    ``suspicion`` is 0 unless the process that delivered it last has not reported back; then it is 1
    plus the number of isolated attempts in a row without a report.
    """

    id: int
    sink: str
    suspicion: int


def add_effects(connection: Connection, new: Iterable[NewEffect], now: datetime) -> None:
    """Store effects in this order, once per key."""
    state = {"status": WAITING, "created_at": now, "next_try": now}
    # A step that is repeated after a crash has the same keys; existing effects stay unchanged.
    add_missing(connection, effects, [asdict(effect) | state for effect in new])


def read_stored(connection: Connection, keys: Sequence[str]) -> set[str]:
    """Return the keys that belong to a stored effect, delivered or not."""
    query = select(effects.c.key).where(effects.c.key.in_(keys))
    return set(connection.scalars(query)) if keys else set()


def heads(connection: Connection, now: datetime) -> list[Head]:
    """Return the due effects: the first of each monitor and sink, and those set aside."""
    # Ids grow in the order of writing, so the smallest of a queue is its first.
    in_line = (
        select(func.min(effects.c.id).label("id"))
        .where(effects.c.status.in_(OPEN), ~is_aside(effects), ~_waits_for_one_aside())
        .group_by(effects.c.monitor_id, effects.c.sink)
    )
    first = union_all(in_line, select(effects.c.id).where(is_aside(effects))).subquery()
    query = (
        select(effects.c.id, effects.c.sink, effects.c.claimed_by)
        .join(first, first.c.id == effects.c.id)
        .where(_is_due(now))
        .order_by(effects.c.id)
    )
    rows = connection.execute(query)
    return [Head(each, sink, _suspicion(claimed_by)) for each, sink, claimed_by in rows]


def is_aside(table: FromClause) -> ColumnElement[bool]:
    """Whether an effect is a dead letter that was set aside; ``done_at`` has the time of this."""
    return and_(table.c.status == DEAD, table.c.done_at.is_not(None))


def _waits_for_one_aside() -> ColumnElement[bool]:
    """Whether an effect must wait for an earlier one that was set aside.

    This keeps MLflow at the newest version of a round, and hooks at the newest state of an alert.
    """
    aside = effects.alias("aside")
    alert, own = (table.c.payload["alert"].as_string() for table in (aside, effects))
    is_same_round = aside.c.round_id == effects.c.round_id
    is_same = case((effects.c.kind == EffectKind.NOTICE, alert == own), else_=is_same_round)
    shared = [aside.c[name] == effects.c[name] for name in ("monitor_id", "sink", "kind")]
    earlier = aside.c.id < effects.c.id
    return exists(select(aside.c.id).where(is_aside(aside), *shared, earlier, is_same))


def _is_due(now: datetime) -> ColumnElement[bool]:
    return or_(
        effects.c.next_try <= now,
        effects.c.next_try > now + LONGEST_WAIT_IF_DEAD,
        and_(effects.c.status == WAITING, effects.c.next_try > now + LONGEST_WAIT),
    )


def _suspicion(claimed_by: str | None) -> int:
    return 0 if claimed_by is None else attempts_alone(claimed_by) + 1


def claim_effect(
    connection: Connection, effect_id: int, now: datetime, *, interrupted: str
) -> Effect | None:
    """Claim an effect for this process; None if another delivers, postponed or finished it.

    The claim counts as a try, since the delivery may end the process before it could be counted.
    The first claim after an interrupted delivery does not, since the interruption may have had
    another cause. ``interrupted`` becomes the last error if the previous process ended.
    """
    query = (
        select(effects, monitors.c.name)
        .join(monitors, monitors.c.id == effects.c.monitor_id)
        .where(effects.c.id == effect_id)
    )
    row = connection.execute(with_report(query)).one()
    attempts, suspicion = attempts_alone(row.claimed_by), _suspicion(row.claimed_by)
    claim = claim_of_ours(effects, CLAIM_MS, alone=suspicion)
    claim["tries"] = effects.c.tries + (0 if suspicion and not attempts else 1)
    if suspicion:
        claim["last_error"] = interrupted
    free = is_free(effects, row.claimed_by, row.attempt, CLAIM_MS)
    which = (effects.c.id == effect_id, effects.c.status.in_(OPEN), _is_due(now), free)
    if not change(connection, effects, *which, **claim):
        return None
    return Effect(
        **picked(row, ("id", "key", "sink")),
        kind=EffectKind(row.kind),
        monitor=row.name,
        payload=payload_of(connection, row),
        attempt=row.attempt + 1,
        has_failed=row.last_error is not None,
        is_deadly=attempts >= DEADLY_ATTEMPTS and row.claimed_until is not None,
    )


def finish_effect(connection: Connection, effect: Effect, receipt: str, now: datetime) -> bool:
    """Record that an effect is done, if its claim is still ours.

    Tags of a model show one state, so older ones that were set aside are then done too.
    """
    written = _write_back(connection, effect, status=DONE, receipt=receipt, done_at=now)
    if written and effect.kind is EffectKind.MODEL_TAGS:
        earlier = (is_aside(effects), is_like(effect), effects.c.id < effect.id)
        values = {"status": DONE, "receipt": f"replaced by effect {effect.id}", "done_at": now}
        change(connection, effects, *earlier, **values)
    return written


def is_like(effect: Effect) -> ColumnElement[bool]:
    """Whether an effect has the same monitor, sink and kind as this one."""
    monitor_id = select(effects.c.monitor_id).where(effects.c.id == effect.id).scalar_subquery()
    same = (effects.c.sink == effect.sink, effects.c.kind == effect.kind)
    return and_(effects.c.monitor_id == monitor_id, *same)


def put_off_effect(
    connection: Connection,
    effect: Effect,
    error: str,
    next_try: datetime,
    *,
    status: str = WAITING,
    aside_at: datetime | None = None,
) -> bool:
    """Record a failed delivery and the next try, if the claim is still ours.

    An effect that ends processes keeps its last worker, so that it is retried in isolation.
    """
    unchanged: dict[str, Any] = {"claimed_by": effects.c.claimed_by} if effect.is_deadly else {}
    unchanged |= {} if aside_at is None else {"done_at": aside_at}
    return _write_back(
        connection, effect, **unchanged, status=status, last_error=error, next_try=next_try
    )


def put_link(
    connection: Connection, effect: Effect, keys: Collection[str], link: str
) -> dict[str, Any]:
    """Add a link to a notice and its copies, or reuse theirs; return the payload."""
    query = (
        select(effects.c.id, effects.c.payload)
        .where(or_(effects.c.id == effect.id, effects.c.key.in_(keys)))
        .order_by(effects.c.id)
        .with_for_update()  # if two sinks deliver at once, the second uses the first's link
    )
    same = effect.payload["id"]
    rows = [row for row in connection.execute(query) if row.payload.get("id") == same]
    links = [row.payload["link"] for row in rows if row.payload.get("link") is not None]
    payload = {**effect.payload, "link": links[0] if links else link}
    without = [row.id for row in rows if row.payload.get("link") is None]
    change(connection, effects, effects.c.id.in_(without), payload=payload)
    return payload


def find_waiting(connection: Connection, monitor: str | None = None) -> list[WaitingSink]:
    """Read the pending effects per monitor and sink, with effects set aside in separate rows."""
    queue = (
        select(
            func.min(effects.c.id).label("head"),
            func.count().label("waiting"),
            func.count(effects.c.round_id.distinct()).label("rounds"),
            func.min(effects.c.created_at).label("since"),
        )
        .where(effects.c.status.in_(OPEN))
        .group_by(effects.c.monitor_id, effects.c.sink, is_aside(effects))
        .subquery()
    )
    query: Select[Any] = (
        select(
            *(monitors.c.name, effects.c.sink, *queue.c["waiting", "rounds", "since"]),
            *(*effects.c["next_try", "tries", "last_error"], effects.c.status == DEAD),
        )
        .join(queue, queue.c.head == effects.c.id)
        .join(monitors, monitors.c.id == effects.c.monitor_id)
        .where(named(monitor))
        .order_by(monitors.c.name, effects.c.sink, effects.c.id)
    )
    return [WaitingSink(*row) for row in connection.execute(query)]


def read_turn(connection: Connection, effect_id: int) -> Turn:
    """Read the state of an effect at the head of its queue."""
    row = connection.execute(select(effects).where(effects.c.id == effect_id)).one()
    in_queue = (effects.c.monitor_id == row.monitor_id, effects.c.sink == row.sink)
    query = select(func.max(effects.c.done_at)).where(*in_queue, effects.c.id < row.id)
    last_done = connection.scalar(query)
    return Turn(
        round_id=row.round_id,
        tries=row.tries,
        dead=row.status == DEAD,
        aside=row.status == DEAD and row.done_at is not None,
        since=max(last_done or row.created_at, row.created_at),
    )


def _write_back(connection: Connection, effect: Effect, **values: Any) -> bool:
    # A stale worker loses by its attempt.
    which = (effects.c.id == effect.id, effects.c.attempt == effect.attempt)
    values = {"claimed_by": None, "claimed_until": None} | values
    return change(connection, effects, *which, effects.c.status.in_(OPEN), **values) == 1
