"""A challenger in the store: what it decided in each stratum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from monitor.domain.model import Frame
from monitor.storage.database import insert_all
from monitor.storage.queries import by_first, picked
from monitor.storage.tables import challenger_sizes, strata


@dataclass(frozen=True, slots=True)
class ChallengedStratum:
    """A stratum of a round by what the challenger decided: items, and labels as (passed, flagged).

    ``undecided`` are items on which it made no decision, and so does not flag.
    """

    stratum: str
    flagged: bool
    size: int
    challenged: int
    undecided: int
    planned: int
    labeled: tuple[int, int] = (0, 0)
    positive: tuple[int, int] = (0, 0)


def write_sizes(connection: Connection, round_id: int, frame: Frame) -> None:
    """Write what the challenger decided in each stratum; nothing if that was not read."""
    rows = [
        {"round_id": round_id, "stratum": part.stratum.name}
        | picked(part.challenged, ("flagged", "undecided"))
        for part in frame.strata
        if part.challenged is not None
    ]
    insert_all(connection, challenger_sizes, rows)


def read_sizes(connection: Connection, round_ids: Sequence[int]) -> dict[int, list[list[Any]]]:
    """Read the strata of rounds that had a challenger: a `ChallengedStratum` without labels."""
    query = (
        select(
            *strata.c["round_id", "stratum", "flagged", "size"],
            *challenger_sizes.c["flagged", "undecided"],
            strata.c.planned,
        )
        .join_from(challenger_sizes, strata)
        .where(strata.c.round_id.in_(round_ids))
        .order_by(strata.c.round_id, strata.c.position)
    )
    return by_first(connection, query)
