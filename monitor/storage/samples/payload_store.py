"""Content shown to labelers: queries by item and by monitor, and deletion."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, exists, select

from monitor.domain.round import Round
from monitor.storage.database import listed, remove
from monitor.storage.queries import named
from monitor.storage.rounds.round_store import read_round
from monitor.storage.tables import items, monitors, payloads, rounds, tasks


def rounds_with_item(
    connection: Connection, item_id: str, monitor: str | None = None
) -> list[Round]:
    """Read the rounds that drew an item, in slot order."""
    is_drawn = exists().where(items.c.round_id == rounds.c.id, items.c.id == item_id)
    query = (
        select(rounds.c.id)
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(is_drawn, named(monitor))
        .order_by(rounds.c.slot, monitors.c.name)
    )
    return [read_round(connection, each) for each in connection.scalars(query).all()]


def task_keys(connection: Connection, round_id: int, item_id: str) -> list[str]:
    """Return the task keys of an item of a round."""
    query = select(tasks.c.key).where(tasks.c.round_id == round_id, tasks.c.item_id == item_id)
    return list(connection.scalars(query.order_by(tasks.c.slot)))


def forget_item(connection: Connection, round_id: int, item_id: str) -> bool:
    """Delete the shown content of one item; False if there was none."""
    c = payloads.c
    return remove(connection, payloads, c.round_id == round_id, c.item_id == item_id) > 0


def removed_monitors(connection: Connection, names: Collection[str], now: datetime) -> list[Round]:
    """Read the rounds with shown content of monitors not in ``names``, once late labels are over.

    Another config may have these monitors, so a round counts only after that config would have
    deleted the content.
    """
    removed = select(monitors.c.id).where(monitors.c.name.not_in(listed(connection, list(names))))
    query = (
        select(rounds.c.id)
        .where(rounds.c.monitor_id.in_(removed), exists().where(payloads.c.round_id == rounds.c.id))
        .order_by(rounds.c.slot)
    )
    # The time of the last label depends on each round's settings, which no query can compare.
    removed_rounds = [read_round(connection, each) for each in connection.scalars(query).all()]
    return [round_ for round_ in removed_rounds if _last_label(round_) < now]


def _last_label(round_: Round) -> datetime:
    if round_.labels_until is not None:
        return round_.labels_until
    return (round_.closed_at or round_.deadline or round_.opened_at) + round_.settings.late_labels
