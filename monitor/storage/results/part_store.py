"""Counts by parts of reports, for each version of a round: one JSON value per part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection, select

from monitor.storage.database import chunks, insert_all
from monitor.storage.queries import VersionId, is_latest, version_rows
from monitor.storage.tables import round_parts, rounds

DRAWN = 0
"""The version of counts of a round's predictions, which are counted once, at the draw."""


CountsByRound: TypeAlias = Mapping[int, Mapping[str, Any]]
"""Counts by round and part."""


class PastCounts(NamedTuple):
    """A part's counts of an earlier round, and that round's stored settings."""

    settings: Mapping[str, Any]
    counts: Any


def write_counts(connection: Connection, counted: Mapping[VersionId, Mapping[str, Any]]) -> None:
    """Store the counts of some versions, by part."""
    rows = {
        key: [{"name": name, "counts": counts} for name, counts in of.items()]
        for key, of in counted.items()
    }
    insert_all(connection, round_parts, version_rows(rows))


def read_counts(
    connection: Connection, round_ids: Sequence[int]
) -> tuple[CountsByRound, CountsByRound]:
    """Read the counts of some rounds from their draws, and from their latest versions."""
    drawn: dict[int, dict[str, Any]] = {}
    latest: dict[int, dict[str, Any]] = {}
    query = (
        select(*round_parts.c["round_id", "version", "name", "counts"])
        .join(rounds, rounds.c.id == round_parts.c.round_id)
        .where(round_parts.c.version.in_((DRAWN, rounds.c.version)))
    )
    for some in chunks(round_ids):
        of_rounds = query.where(round_parts.c.round_id.in_(some))
        for round_id, version, name, counts in connection.execute(of_rounds):
            stored = drawn if version == DRAWN else latest
            stored.setdefault(round_id, {})[name] = counts
    return drawn, latest


def read_past(
    connection: Connection, round_ids: Sequence[int], *names: str
) -> dict[str, dict[int, PastCounts]]:
    """Read the counts of some parts from the latest versions of rounds, by part and round."""
    past: dict[str, dict[int, PastCounts]] = {name: {} for name in names}
    query = (
        select(*round_parts.c["name", "round_id"], rounds.c.settings, round_parts.c.counts)
        .join(rounds, is_latest(round_parts))
        .where(round_parts.c.name.in_(names))
    )
    for some in chunks(round_ids):
        of_rounds = query.where(round_parts.c.round_id.in_(some))
        for name, round_id, *counts in connection.execute(of_rounds):
            past[name][round_id] = PastCounts(*counts)
    return past
