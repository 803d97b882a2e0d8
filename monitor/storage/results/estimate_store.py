"""Versions of a round: counts and estimates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from monitor.domain.errors import RoundMoved
from monitor.domain.report import EstimateRow
from monitor.domain.state import RoundState
from monitor.storage.database import change, insert_some
from monitor.storage.queries import VersionId, is_latest, of_version, picked, version_rows
from monitor.storage.samples.frame_store import TALLIED, StratumTally, stratum_of
from monitor.storage.tables import (
    counts,
    estimates,
    histories,
    monitors,
    rounds,
    strata,
)

_COUNTS = ("labeled", "positive", "declined")
_ESTIMATE = set(EstimateRow.model_fields)
"""Columns of an estimate in the table; the caution is only in the report."""


def claim_history(connection: Connection, history_id: int, revision: int) -> None:
    """Raise a history's revision; raises `RoundMoved` if it is no longer ``revision``."""
    # The row stays locked until the commit: the next publisher waits here, and finds the revision
    # changed.
    which = (histories.c.id == history_id, histories.c.revision == revision)
    if not change(connection, histories, *which, revision=revision + 1):
        message = f"history {history_id} got new estimates meanwhile; they are included on retry"
        raise RoundMoved(message)


def write_counts(
    connection: Connection, tallies: Mapping[VersionId, Iterable[StratumTally]]
) -> None:
    """Store the label counts of some versions."""
    rows = {
        key: [{"stratum": one.stratum.name, **picked(one, _COUNTS)} for one in strata_of]
        for key, strata_of in tallies.items()
    }
    insert_some(connection, counts, version_rows(rows))


def read_counts(
    connection: Connection, round_ids: Sequence[int], *, version: int | None = None
) -> dict[int, tuple[StratumTally, ...]]:
    """Read the counts of some rounds, by default of the latest version, with strata in order."""
    version_to_read = rounds.c.version if version is None else version
    query = (
        select(strata, *counts.c[_COUNTS])
        .join_from(counts, strata)
        .join(rounds, (rounds.c.id == counts.c.round_id) & (counts.c.version == version_to_read))
        .where(counts.c.round_id.in_(round_ids))
        .order_by(counts.c.round_id, strata.c.position)
    )
    tallies: dict[int, list[StratumTally]] = {}
    for row in connection.execute(query):
        tally = StratumTally(stratum_of(row), **picked(row, (*TALLIED, *_COUNTS)))
        tallies.setdefault(row.round_id, []).append(tally)
    return {round_id: tuple(rows) for round_id, rows in tallies.items()}


def write_estimates(
    connection: Connection, rows: Mapping[VersionId, Iterable[EstimateRow]]
) -> None:
    """Store the estimates of some versions."""
    stored = {key: [row.model_dump(include=_ESTIMATE) for row in of] for key, of in rows.items()}
    insert_some(connection, estimates, version_rows(stored))


def read_estimates(connection: Connection, round_id: int, version: int) -> list[EstimateRow]:
    """Read the estimates of a version."""
    query = of_version(estimates, round_id, version)
    return [estimate_row(row) for row in connection.execute(query)]


def read_points(
    connection: Connection, round_ids: Sequence[int], metrics: Sequence[str]
) -> dict[int, list[EstimateRow]]:
    """Read the latest estimates of some metrics for many rounds, for a timeline."""
    query = (
        select(estimates)
        .join(rounds, is_latest(estimates))
        .where(estimates.c.round_id.in_(round_ids), estimates.c.metric.in_(metrics))
    )
    rows: dict[int, list[EstimateRow]] = {}
    for row in connection.execute(query):
        rows.setdefault(row.round_id, []).append(estimate_row(row))
    return rows


@dataclass(frozen=True, slots=True)
class EstimatedRound:
    """A closed round in a timeline."""

    id: int
    number: int
    slot: datetime
    history_id: int
    rows: list[EstimateRow]


def read_timeline(
    connection: Connection,
    monitor_id: int,
    slots: tuple[datetime, datetime],
    at_most: int,
    metrics: Sequence[str],
) -> list[EstimatedRound]:
    """Read closed rounds between two slots, and up to ``at_most`` at or before the first."""
    first, last = slots
    closed = (rounds.c.monitor_id == monitor_id, rounds.c.state == RoundState.CLOSED)
    first_slots = (
        select(rounds.c.slot)
        .where(*closed, rounds.c.slot <= first)
        .order_by(rounds.c.slot.desc())
        .limit(at_most)
        .subquery()
    )
    oldest = select(func.min(first_slots.c.slot)).scalar_subquery()
    query = (
        select(
            rounds.c.id.label("round"),
            rounds.c.number,
            rounds.c.slot,
            rounds.c.history_id,
            estimates,
        )
        .outerjoin(estimates, is_latest(estimates) & estimates.c.metric.in_(metrics))
        .where(*closed, rounds.c.slot.between(oldest, last))
        .order_by(rounds.c.slot)
    )
    past_rounds: dict[int, EstimatedRound] = {}
    for row in connection.execute(query):
        past = past_rounds.setdefault(
            row.round, EstimatedRound(row.round, row.number, row.slot, row.history_id, [])
        )
        if row.metric is not None:
            past.rows.append(estimate_row(row))
    return list(past_rounds.values())


def latest_estimates(connection: Connection, monitor: str) -> list[dict[str, Any]]:
    """Read the latest estimates of all rounds of a monitor as rows, in slot order."""
    query = (
        select(rounds.c.number.label("round"), rounds.c.slot, *list(estimates.c)[1:])
        .join_from(estimates, rounds, is_latest(estimates))
        .join(monitors, monitors.c.id == rounds.c.monitor_id)
        .where(monitors.c.name == monitor)
        .order_by(rounds.c.slot, estimates.c.metric, estimates.c.basis, estimates.c.estimand)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def set_version(
    connection: Connection,
    round_id: int,
    version: int,
    *,
    estimated_revision: int | None,
    partial: bool | None = None,
) -> None:
    """Make a version the latest one of its round, unless a later one was published meanwhile.

    ``estimated_revision`` is the label revision that it counts; None leaves the stored one.
    """
    values: dict[str, Any] = {"version": version}
    values |= {} if estimated_revision is None else {"estimated_revision": estimated_revision}
    values |= {} if partial is None else {"partial": partial}
    change(connection, rounds, rounds.c.id == round_id, rounds.c.version <= version, **values)


def estimate_row(row: Row[Any]) -> EstimateRow:
    """Return the estimate from a row with the columns of ``estimates``."""
    return EstimateRow.model_validate({n: row._mapping[n] for n in _ESTIMATE})
