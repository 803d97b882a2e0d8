"""Counts of earlier rounds, packed into one row per round, for use by every round of a history.

`counts` and `strata` have a row for each stratum: thousands to read after a few years.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sqlalchemy import Connection, select

from monitor.domain.model import Stratum
from monitor.domain.state import RoundState
from monitor.stats.core.counts import Counts
from monitor.storage.database import put_all
from monitor.storage.queries import is_latest, version_rows
from monitor.storage.results.estimate_store import read_counts
from monitor.storage.samples.frame_store import StratumTally
from monitor.storage.tables import packed_counts, rounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Packed: TypeAlias = NDArray[np.int64]
    """Size, labeled, positive, class (1: flagged), missing and rows of each stratum: ``(6, H)``.

    Rows are `_COUNTED` if the size was counted.
    """

_STORED = np.dtype("<i8")
_COUNTED = -(2**62)  # differs from all numbers of rows and of amounts
_LAYOUT = -6
"""First value of a packed row: minus the number of its columns. Rows of older versions have another
number, or begin with a size, which is never negative; they are computed again."""


@dataclass(frozen=True, slots=True)
class PastRound:
    """Latest counts of a closed round; ``missing`` are items without a usable answer.

    ``is_changed``: some labels are in no version yet. ``is_packed``: one row has its counts.
    """

    id: int
    version: int
    counts: Counts
    missing: NDArray[np.int64]
    is_changed: bool
    is_packed: bool


def read_past(connection: Connection, history_id: int, before: datetime) -> list[PastRound]:
    """Read the closed rounds of a history before a slot, in slot order."""
    columns = rounds.c["id", "version", "label_revision", "estimated_revision"]
    is_closed = rounds.c.state == RoundState.CLOSED
    query = (
        select(*columns, packed_counts.c.counts)
        .join_from(rounds, packed_counts, is_latest(packed_counts), isouter=True)
        .where(rounds.c.history_id == history_id, is_closed, rounds.c.slot < before)
        .order_by(rounds.c.slot)
    )
    rounds_read = connection.execute(query).all()
    readable = {row.id: _unpacked(row.counts) for row in rounds_read if _is_readable(row.counts)}
    unreadable = [row.id for row in rounds_read if row.id not in readable]
    stored = read_counts(connection, unreadable) if unreadable else {}
    packed = readable | {each: _pack(strata) for each, strata in stored.items()}
    packed_rounds = [packed[row.id] for row in rounds_read]
    past = []
    for row, arrays, rows in zip(rounds_read, _arrays(packed_rounds), packed_rounds, strict=True):
        is_changed = row.label_revision != row.estimated_revision
        is_packed = row.id in readable
        past.append(PastRound(row.id, row.version, arrays, rows[4], is_changed, is_packed))
    return past


def write_packed(
    connection: Connection,
    past: Iterable[PastRound],
    tallies: Mapping[tuple[int, int], Sequence[StratumTally]],
) -> None:
    """Store packed counts of new versions, and of past rounds that have no packed row yet."""
    packed = {key: _pack(strata) for key, strata in tallies.items()}
    for round_ in past:
        if not round_.is_packed:
            c = round_.counts
            counted = np.full(len(c.size), _COUNTED) if c.rows is None else c.rows
            columns = [c.size, c.labeled, c.positive, c.is_flagged, round_.missing, counted]
            packed[round_.id, round_.version] = np.array(columns)
    rows = {
        key: [{"counts": np.append(-len(counts), counts).astype(_STORED).tobytes()}]
        for key, counts in packed.items()
    }
    put_all(connection, packed_counts, [*version_rows(rows)])


def score_cells(strata: Sequence[Stratum]) -> NDArray[np.int64]:
    """Return the index of each stratum's score cell; strata of one cell differ by verdict only."""
    cells: dict[tuple[object, ...], int] = {}
    return np.array(
        [cells.setdefault((of.flagged, of.low, of.high, of.unscored), len(cells)) for of in strata],
        dtype=np.int64,
    )


def _pack(strata: Sequence[StratumTally]) -> Packed:
    columns = (
        (
            *(s.size, s.labeled, s.positive, s.stratum.flagged, s.planned - s.labeled),
            _COUNTED if s.rows is None else s.rows,
        )
        for s in strata
    )
    return np.array(list(columns), dtype=np.int64).T


def _is_readable(stored: bytes | None) -> bool:
    return stored is not None and np.frombuffer(stored, dtype=_STORED, count=1)[0] == _LAYOUT


def _unpacked(stored: bytes) -> Packed:
    values = np.frombuffer(stored, dtype=_STORED)
    return values[1:].reshape(-int(values[0]), -1)


def _arrays(packed: Sequence[Packed]) -> list[Counts]:
    """Unpack counts; the rounds of a history have the same strata, so they share the classes."""
    if not packed:
        return []
    is_flagged = packed[0][3].astype(np.bool_)
    return [
        Counts(of[0], of[1], of[2], is_flagged, None if (of[5] == _COUNTED).any() else of[5])
        for of in packed
    ]
