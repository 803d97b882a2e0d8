"""Evidence on limits: one row for each limit and version of a round."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, and_, func, select

from monitor.domain.alerting import ChainStep, LimitReading
from monitor.storage.database import insert_all
from monitor.storage.queries import VersionId, is_latest, picked, version_rows
from monitor.storage.tables import evidence, rounds

if TYPE_CHECKING:
    from monitor.stats.detection.recovery import Recovery


def write_readings(
    connection: Connection,
    versions: Mapping[VersionId, Mapping[tuple[str, str], LimitReading]],
) -> None:
    """Store the readings of some versions, by metric and side."""
    rows = {
        key: [
            {"metric": metric, "side": side, **_columns(reading)}
            for (metric, side), reading in readings.items()
        ]
        for key, readings in versions.items()
    }
    insert_all(connection, evidence, version_rows(rows))


_SAME = ("limit", "chain", "order", "log_threshold", "fires", "log_recovery")


def _columns(reading: LimitReading) -> dict[str, Any]:
    recovery = reading.recovery
    return {
        **picked(reading, (*_SAME, "log_evidence")),
        "log_e": list(reading.log_e),
        "log_path": [list(row) for row in reading.log_path] or None,
        "log_m": None if reading.log_m is None else [_finite(m) for m in reading.log_m],
        "recovery_rounds": None if recovery is None else recovery.rounds,
        "log_r": None if recovery is None else _finite(recovery.log_r),
    }


def last_readings(connection: Connection, monitor_id: int) -> dict[tuple[str, str], LimitReading]:
    """Read the newest frozen reading of every limit a monitor has had."""
    # The order numbers the readings of a limit by closing time, regardless of slots.
    columns = evidence.c["metric", "side", "order"]
    is_frozen = (rounds.c.monitor_id == monitor_id) & (evidence.c.version == rounds.c.first_version)
    newest = (
        select(*columns[:2], func.max(evidence.c.order).label("order"))
        .join(rounds)
        .where(is_frozen)
        .group_by(*columns[:2])
        .subquery()
    )
    is_newest = and_(*(column == newest.c[column.name] for column in columns))
    query = select(evidence).join(rounds).join(newest, is_newest).where(is_frozen)
    return {(row.metric, row.side): _reading(row) for row in connection.execute(query)}


def frozen_readings(
    connection: Connection, round_ids: Collection[int]
) -> dict[int, dict[tuple[str, str], LimitReading]]:
    """Read the readings of the first versions of some rounds, by round, metric and side."""
    is_frozen = evidence.c.version == rounds.c.first_version
    query = select(evidence).join(rounds).where(rounds.c.id.in_(round_ids), is_frozen)
    return _by_round(connection.execute(query))


def readings_at(
    connection: Connection, versions: Mapping[int, int]
) -> dict[int, dict[tuple[str, str], LimitReading]]:
    """Read the readings of one version of each round, by round, metric and side."""
    query = select(evidence).where(evidence.c.round_id.in_(versions))
    rows = connection.execute(query)
    return _by_round(row for row in rows if row.version == versions[row.round_id])


def _by_round(rows: Iterable[Row[Any]]) -> dict[int, dict[tuple[str, str], LimitReading]]:
    readings: dict[int, dict[tuple[str, str], LimitReading]] = {}
    for row in rows:
        readings.setdefault(row.round_id, {})[row.metric, row.side] = _reading(row)
    return readings


def chain_steps(
    connection: Connection, monitor_id: int, metric: str, side: str, chain: int, up_to: int
) -> Mapping[int, ChainStep]:
    """Read the steps of a chain from the latest versions of its rounds, by ascending order."""
    query = (
        select(*evidence.c["order", "log_e", "log_path"])
        .join(rounds, is_latest(evidence))
        .where(rounds.c.monitor_id == monitor_id, evidence.c.metric == metric)
        .where(evidence.c.side == side, evidence.c.chain == chain, evidence.c.order <= up_to)
        .order_by(evidence.c.order)
    )
    return {row.order: ChainStep(tuple(row.log_e), _path(row)) for row in connection.execute(query)}


def _path(row: Row[Any]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(each) for each in row.log_path or ())


def _finite(value: float) -> float | None:
    """Return None for infinity, which JSON lacks; log 0 is stored as null."""
    return value if math.isfinite(value) else None


def _from_finite(value: float | None) -> float:
    return -math.inf if value is None else value


def _reading(row: Row[Any]) -> LimitReading:
    return LimitReading(
        **picked(row, _SAME),
        log_e=tuple(row.log_e),
        log_m=None if row.log_m is None else tuple(_from_finite(m) for m in row.log_m),
        recovery=_recovery(row),
        log_path=_path(row),
    )


def _recovery(row: Row[Any]) -> Recovery | None:
    if row.recovery_rounds is None:
        return None
    from monitor.stats.detection.recovery import Recovery  # noqa: PLC0415  scipy takes half a second

    return Recovery(row.recovery_rounds, _from_finite(row.log_r))
