"""The second wave of a round: a reserve of items until it goes out, and which items it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, bindparam, delete, select, update

from monitor.domain.model import Item
from monitor.storage.database import insert_all
from monitor.storage.samples.frame_store import item_rows
from monitor.storage.tables import reserve, rounds, strata


def write_reserve(connection: Connection, round_id: int, spare: Iterable[Item]) -> None:
    """Keep the items after wave 1, of each stratum in the order of the draw."""
    insert_all(connection, reserve, item_rows(round_id, spare))


def read_reserve(connection: Connection, round_id: int) -> list[Item]:
    """Read the items that wave 2 may take, of each stratum in the order of the draw."""
    query = select(reserve).where(reserve.c.round_id == round_id)
    return [
        Item(
            row.id,
            row.stratum,
            row.order,
            row.score,
            row.predicted,
            row.segments or {},
            row.challenged,
        )
        for row in connection.execute(query.order_by(reserve.c.stratum, reserve.c.order))
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
