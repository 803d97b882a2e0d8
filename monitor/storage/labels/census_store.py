"""Censuses: the current label counts of strata whose items are all counted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, select

from monitor.domain.census import Cell, Census
from monitor.storage.database import put_all
from monitor.storage.labels.label_store import raise_label_revision
from monitor.storage.tables import censuses


def write_census(
    connection: Connection, round_id: int, part: int, census: Census, now: datetime
) -> None:
    """Store a census and replace the previous one."""
    row = {
        "round_id": round_id,
        "part": part,
        "state": census.state,
        "cells": [[*cell, dict(of)] for cell, of in census.cells.items()],
        "read_at": now,
    }
    put_all(connection, censuses, [row])


def change_census(
    connection: Connection, round_id: int, part: int, census: Census, now: datetime
) -> bool:
    """Store a census; if its counts changed, raise the round's label revision and return True."""
    before = read_censuses(connection, [round_id]).get(round_id, {}).get(part)
    write_census(connection, round_id, part, census, now)
    if before is not None and counts_of(before) == counts_of(census):
        return False
    raise_label_revision(connection, round_id)
    return True


def read_censuses(connection: Connection, round_ids: Sequence[int]) -> dict[int, dict[int, Census]]:
    """Read the censuses of some rounds, by round and part."""
    result: dict[int, dict[int, Census]] = {}
    query = select(censuses).where(censuses.c.round_id.in_(round_ids))
    for row in connection.execute(query.order_by(censuses.c.round_id, censuses.c.part)):
        cells = {Cell(*cell): of for *cell, of in row.cells}
        result.setdefault(row.round_id, {})[row.part] = Census(cells, row.state)
    return result


def answered_items(connection: Connection, round_ids: Sequence[int]) -> dict[int, int]:
    """Count the answered items in the censuses of some rounds."""
    read = read_censuses(connection, round_ids).items()
    return {each: sum(one.answered for one in of_round.values()) for each, of_round in read}


def counts_of(census: Census) -> dict[Cell, dict[str, int]]:
    """Return a census's items by cell and answer, without zeros, for comparisons."""
    return {
        cell: {str(answer): count for answer, count in of.items() if count}
        for cell, of in census.cells.items()
    }
