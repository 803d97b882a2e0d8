"""The second wave of a round: a reserve of items until it goes out, and which items it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from monitor.domain.model import Item
from monitor.storage.tables import reserve, rounds, strata


def write_reserve(connection: Connection, round_id: int, spare: Iterable[Item]) -> None:
    """Keep the items after wave 1, of each stratum in the order of the draw."""
    rows = [
        {
            "round_id": round_id,
            "id": item.id,
            "stratum": item.stratum,
            "order": item.order,
            "score": item.score,
            "predicted": item.predicted,
            "segments": dict(item.segments) or None,
            "challenged": item.challenged,
        }
        for item in spare
    ]
    if rows:
        connection.execute(insert(reserve), rows)


def read_reserve(connection: Connection, round_id: int) -> list[Item]:
    """Read the items that wave 2 may take, of each stratum in the order of the draw."""
    columns = ("id", "stratum", "order", "score", "predicted", "segments", "challenged")
    query = (
        select(*(reserve.c[name] for name in columns))
        .where(reserve.c.round_id == round_id)
        .order_by(reserve.c.stratum, reserve.c.order)
    )
    return [
        Item(name, stratum, order, score, predicted, segments or {}, challenged)
        for name, stratum, order, score, predicted, segments, challenged in connection.execute(
            query
        )
    ]


def end_waiting(connection: Connection, round_id: int, planned: Mapping[str, int]) -> None:
    """Let a round have this many items of each stratum, and no wave to come."""
    connection.execute(
        update(strata)
        .where(strata.c.round_id == round_id, strata.c.stratum == bindparam("of"))
        .values(planned=bindparam("items")),
        [{"of": name, "items": items} for name, items in planned.items()],
    )
    connection.execute(delete(reserve).where(reserve.c.round_id == round_id))
    connection.execute(update(rounds).where(rounds.c.id == round_id).values(second_wave_at=None))
