"""Effects: written with the estimate, claimed in order, kept until done.

A dead letter is one that a person should look at: it failed for long, or cannot succeed as things
are. It is still tried, more and more rarely. While its sink takes nothing it keeps its place at the
head of its queue. If the fault is its own it steps aside (`is_aside`), and of its queue only what
is about the same round, or the same alert, still waits for it.
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
OPEN = (WAITING, DEAD)  # What effects that are not settled are called

DEADLY_ATTEMPTS = 5
"""Deliveries in a row, each made by itself, that ended their process before the effect is left
alone for a while.

What ends a process may come from outside, and then hits whatever the process is at. So an effect
whose process ended is tried when all else is done, and only what happens then counts."""

LONGEST_WAIT, LONGEST_WAIT_IF_DEAD = timedelta(hours=1), timedelta(days=1)
"""A next try that is farther away was put there by a clock that was ahead: it is due."""

CLAIM_MS = 5 * 60 * 1000  # ten times the slowest delivery: a first MLflow call loads for seconds


@dataclass(frozen=True, slots=True)
class NewEffect:
    """Something to be done outside: with the report of a version of its round, or a payload."""

    key: str
    monitor_id: int
    round_id: int
    kind: EffectKind
    sink: str
    report_version: int | None = None
    payload: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """How the effect at the head of a queue stands; ``since`` is when it got there."""

    round_id: int
    tries: int
    dead: bool
    aside: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class Head:
    """An effect at the head of its queue.

    ``suspicion`` is 0 unless the process that delivered it last did not come back, or has not
    yet; then it is 1 more than the tries by itself of which that is so.
    """

    id: int
    sink: str
    suspicion: int


def add_effects(connection: Connection, new: Iterable[NewEffect], now: datetime) -> None:
    """Write down what is to be done outside, once per key, in this order."""
    state = {"status": WAITING, "created_at": now, "next_try": now}
    # A step that is repeated after a crash writes the same keys: what is there is left alone.
    add_missing(connection, effects, [asdict(effect) | state for effect in new])


def read_stored(connection: Connection, keys: Sequence[str]) -> set[str]:
    """Return which of these keys belong to a stored effect, delivered or not."""
    query = select(effects.c.key).where(effects.c.key.in_(keys))
    return set(connection.scalars(query)) if keys else set()


def heads(connection: Connection, now: datetime) -> list[Head]:
    """Find the effects that are due: the first of each monitor and sink, and those aside."""
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
    """Whether an effect is a dead letter that has stepped aside; since when is in ``done_at``."""
    return and_(table.c.status == DEAD, table.c.done_at.is_not(None))


def _waits_for_one_aside() -> ColumnElement[bool]:
    """Whether an effect must not arrive before an earlier one that has stepped aside.

    MLflow shows the newest version of a round, and a receiver the newest state of an alert.
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
    """Take an effect for this process; None while another delivers it, put it off, or did it.

    The claim counts as a try, since a delivery may end its process before that is counted; it is
    taken back from a try that its process did not end by itself for all that is known.
    ``interrupted`` is kept as the last error if the process of the delivery before ended.
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

    A model's page shows one state, so older ones that have stepped aside are done with it.
    """
    written = _write_back(connection, effect, status=DONE, receipt=receipt, done_at=now)
    if written and effect.kind is EffectKind.MODEL_TAGS:
        earlier = (is_aside(effects), is_like(effect), effects.c.id < effect.id)
        values = {"status": DONE, "receipt": f"replaced by effect {effect.id}", "done_at": now}
        change(connection, effects, *earlier, **values)
    return written


def is_like(effect: Effect) -> ColumnElement[bool]:
    """Whether an effect is of the monitor, sink and kind of another."""
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
    """Record that an effect was not done and when to try again, if its claim is still ours.

    An effect that ends processes keeps who had it last: it is tried by itself again.
    """
    unchanged: dict[str, Any] = {"claimed_by": effects.c.claimed_by} if effect.is_deadly else {}
    unchanged |= {} if aside_at is None else {"done_at": aside_at}
    return _write_back(
        connection, effect, **unchanged, status=status, last_error=error, next_try=next_try
    )


def put_link(
    connection: Connection, effect: Effect, keys: Collection[str], link: str
) -> dict[str, Any]:
    """Add a link to a notice and its copies with these keys, unless one has it; return it."""
    query = (
        select(effects.c.id, effects.c.payload)
        .where(or_(effects.c.id == effect.id, effects.c.key.in_(keys)))
        .order_by(effects.c.id)
        .with_for_update()  # of two sinks that deliver at once the second takes the first's
    )
    same = effect.payload["id"]
    rows = [row for row in connection.execute(query) if row.payload.get("id") == same]
    links = [row.payload["link"] for row in rows if row.payload.get("link") is not None]
    payload = {**effect.payload, "link": links[0] if links else link}
    without = [row.id for row in rows if row.payload.get("link") is None]
    change(connection, effects, effects.c.id.in_(without), payload=payload)
    return payload


def find_waiting(connection: Connection, monitor: str | None = None) -> list[WaitingSink]:
    """Read what waits, per monitor and sink as its first one stands; apart what stepped aside."""
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
    """Read how an effect at the head of its queue stands."""
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
