"""Reasons why monitors need attention although their rounds continue, in a few queries for all."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, select

from monitor.domain.model import LabelKind
from monitor.domain.report import Attention, AttentionCause
from monitor.domain.round import Round
from monitor.domain.state import RoundState
from monitor.storage.labels import census_store
from monitor.storage.queries import is_latest, named, newest_round
from monitor.storage.results.concern_store import DOUBT, UNLABELED
from monitor.storage.rounds import round_store
from monitor.storage.tables import concerns, estimates, label_events, monitors, rounds

_ENDED = rounds.c.state.in_((RoundState.CLOSED, RoundState.ABANDONED))
_CLOSED = rounds.c.state == RoundState.CLOSED
_DRAWN = rounds.c.history_id.is_not(None)


def read_attention(
    connection: Connection, now: datetime, monitor: str | None = None
) -> list[Attention]:
    """Read the reasons for attention in the newest rounds of one monitor, or of all."""
    return [
        *_concerns(connection, now, monitor),
        *_not_estimable(connection, now, monitor),
        *_unanswered(connection, now, monitor),
    ]


def without_estimate(
    connection: Connection, now: datetime, monitor: str | None = None
) -> list[Attention]:
    """Read the newest ended round of each monitor if it was abandoned, with the reason."""
    query = (
        select(monitors.c.name, rounds.c.number, rounds.c.reason)
        .join(rounds, rounds.c.id == newest_round(now, _ENDED))
        .where(rounds.c.state == RoundState.ABANDONED, named(monitor))
        .order_by(monitors.c.name)
    )
    rows = connection.execute(query)
    return [Attention(name, number, AttentionCause.ABANDONED, why) for name, number, why in rows]


def newest_concerns(connection: Connection, round_: Round, now: datetime) -> list[str]:
    """Read the concerns about a round, and about the monitor's newest drawn round."""
    newest = _newest_drawn(round_.monitor_id, now).scalar_subquery()
    query = (
        select(concerns.c.sentence)
        .join(rounds, rounds.c.id == concerns.c.round_id)
        .where(concerns.c.round_id.in_((round_.id, newest)))
        .order_by(rounds.c.slot, concerns.c.kind)
    )
    return list(connection.scalars(query))


def newest_drawn(connection: Connection, monitor_id: int, until: datetime) -> int | None:
    """Return the id of a monitor's newest drawn round up to a time, or None."""
    return connection.execute(_newest_drawn(monitor_id, until)).scalar()


def _newest_drawn(monitor_id: int, until: datetime) -> Select[Any]:
    query = select(newest_round(until, _DRAWN)).select_from(monitors)
    return query.where(monitors.c.id == monitor_id)


def _concerns(connection: Connection, now: datetime, monitor: str | None) -> list[Attention]:
    drawn, closed = newest_round(now, _DRAWN), newest_round(now, _CLOSED)
    newest = (
        select(monitors.c.name, drawn.label("drawn"), closed.label("closed"))
        .where(named(monitor))
        .subquery()
    )
    query = (
        select(newest.c.name, rounds.c.number, concerns.c.sentence, concerns.c.kind)
        .join(concerns, concerns.c.round_id.in_((newest.c.drawn, newest.c.closed)))
        .join(rounds, rounds.c.id == concerns.c.round_id)
        .where(concerns.c.kind.not_in((DOUBT, UNLABELED)))  # a problem, and not estimable
        .order_by(newest.c.name, rounds.c.slot, concerns.c.noted_at, concerns.c.kind)
    )
    rows = connection.execute(query)
    return [Attention(of, n, AttentionCause.CONCERN, why, kind=kind) for of, n, why, kind in rows]


def _not_estimable(
    connection: Connection, now: datetime, monitor: str | None
) -> Iterator[Attention]:
    query = (
        select(monitors.c.name, rounds.c.number, estimates.c.metric, estimates.c.reason)
        .join(rounds, rounds.c.id == newest_round(now, _CLOSED))
        .join(estimates, is_latest(estimates))
        .where(estimates.c.metric.in_(("precision", "recall")), estimates.c.point.is_(None))
        .where(estimates.c.basis == "round", estimates.c.estimand == "window", named(monitor))
        .order_by(monitors.c.name, estimates.c.metric)
    )
    for name, number, metric, reason in connection.execute(query):
        yield Attention(name, number, AttentionCause.NOT_ESTIMABLE, reason, metric)


def _unanswered(connection: Connection, now: datetime, monitor: str | None) -> list[Attention]:
    labeling = round_store.find_rounds(connection, monitor, states=(RoundState.LABELING,))
    late = [round_ for round_ in labeling if now >= _half_time(round_, now)]
    of_late = label_events.c.round_id.in_([round_.id for round_ in late])
    answers = select(label_events.c.round_id).distinct().where(of_late)
    answer_events = answers.where(label_events.c.kind == LabelKind.GIVEN)
    answered = set(connection.scalars(answer_events)) if late else set()
    whole = [round_.id for round_ in late if round_.settings.counted_whole]
    counted = census_store.answered_items(connection, whole) if whole else {}
    answered |= {round_id for round_id, items in counted.items() if items}
    silent = [round_ for round_ in late if round_.id not in answered]
    return [
        Attention(round_.monitor, round_.number, AttentionCause.UNANSWERED) for round_ in silent
    ]


def _half_time(round_: Round, now: datetime) -> datetime:
    """Return the middle of the time in which labels may arrive; it starts when labels mature."""
    if round_.deadline is None:
        return now + timedelta.resolution  # not yet, whenever it is asked
    return round_.deadline - (round_.settings.deadline - round_.settings.matures) / 2
