"""Segments of a round: sizes and labels per stratum and value, and what each version says."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from monitor.domain.model import Frame
from monitor.storage.database import insert_all
from monitor.storage.tables import (
    segment_sizes,
)


def write_sizes(connection: Connection, round_id: int, frame: Frame) -> None:
    """Write how many items of each stratum have each value of the segment columns."""
    rows = [
        {"stratum": part.stratum.name, "segment": segment, "value": value, "size": size}
        | {"round_id": round_id}
        for part in frame.strata
        for segment, sizes in zip(frame.segment_columns, part.segments, strict=True)
        for value, size in sizes.items()
    ]
    insert_all(connection, segment_sizes, rows)


def read_sizes(
    connection: Connection, round_ids: Sequence[int]
) -> dict[int, dict[tuple[str, str, str], int]]:
    """Read the same of some rounds: items by stratum, column and value."""
    columns = segment_sizes.c["round_id", "stratum", "segment", "value", "size"]
    query = select(*columns).where(segment_sizes.c.round_id.in_(round_ids))
    sizes: dict[int, dict[tuple[str, str, str], int]] = {}
    for round_id, *cell, size in connection.execute(query):
        sizes.setdefault(round_id, {})[tuple(cell)] = size
    return sizes
