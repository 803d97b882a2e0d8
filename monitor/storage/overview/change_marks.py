"""State marks of all monitors, read at once to detect changes since the last scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from monitor.domain.state import RoundState
from monitor.storage.database import clock_ms, put_all
from monitor.storage.tables import labeler_cursors, monitors, rounds

SCAN = "/look"  # Names of labelers never begin with a slash


def read_scans(connection: Connection) -> dict[str, str]:
    """Read the text stored for the last complete scan of each monitor."""
    query = select(monitors.c.name, labeler_cursors.c.cursor).join_from(labeler_cursors, monitors)
    return dict(connection.execute(query.where(labeler_cursors.c.labeler == SCAN)).all())


def write_scans(connection: Connection, checks: Mapping[str, str]) -> None:
    """Store texts of complete scans and replace earlier ones; skips monitors without a row."""
    query = select(monitors.c.id, monitors.c.name).order_by(monitors.c.id)
    rows = [
        {"monitor_id": each, "labeler": SCAN, "cursor": checks[name]}
        for each, name in connection.execute(query)
        if name in checks
    ]
    if rows:
        put_all(connection, labeler_cursors, rows)


@dataclass(frozen=True, slots=True)
class MonitorVersion:
    """State of a monitor's rounds; equal values mean that nothing happened to them.

    ``has_work``: there is something to do, or another worker is doing it. ``deadline`` is when the
    next round closes. ``left`` is when the last unreleased claim on a round expires.
    """

    recent: tuple[object, ...] = ()
    open: tuple[tuple[int, str, int], ...] = ()
    has_work: bool = False
    deadline: datetime | None = field(default=None, compare=False)
    left: int | None = field(default=None, compare=False)


_STATE_COLUMNS = ("id", "state", "label_revision", "deadline", "claimed_until")
NOTHING = MonitorVersion()  # A monitor without rounds


def standings(connection: Connection, since: datetime) -> dict[str, MonitorVersion]:
    """Read the state of every monitor in two queries; slots after ``since`` are recent."""
    standings = _recent(connection, since)
    query = (
        select(monitors.c.name, *rounds.c[_STATE_COLUMNS], _is_claimed().label("claimed"))
        .join_from(rounds, monitors)
        .where(rounds.c.state.in_((RoundState.OPEN, RoundState.LABELING)))
        .order_by(rounds.c.id)
    )
    for row in connection.execute(query):
        version = standings.get(row.name, NOTHING)
        deadlines = [at for at in (version.deadline, row.deadline) if at is not None]
        claims = [at for at in (version.left, row.claimed_until) if at is not None]
        standings[row.name] = replace(
            version,
            open=(*version.open, (row.id, row.state, row.label_revision)),
            has_work=version.has_work or row.state == RoundState.OPEN or bool(row.claimed),
            deadline=min(deadlines, default=None),
            left=max(claims, default=None),
        )
    return standings


def _is_claimed() -> ColumnElement[bool]:
    """Whether a worker has a valid claim on a round; a claim that was not released expires."""
    return and_(rounds.c.claimed_by.is_not(None), rounds.c.claimed_until >= clock_ms())


def _recent(connection: Connection, since: datetime) -> dict[str, MonitorVersion]:
    corrected = and_(
        rounds.c.state == RoundState.CLOSED, rounds.c.label_revision != rounds.c.estimated_revision
    )
    has_work = or_(corrected, _is_claimed())
    query = (
        select(
            *(monitors.c.name, func.count(), func.max(rounds.c.id)),
            *(func.sum(rounds.c.label_revision), func.sum(rounds.c.version)),
            *(func.sum(case((has_work, 1), else_=0)), func.max(rounds.c.claimed_until)),
        )
        .select_from(monitors)
        .join(rounds, and_(rounds.c.monitor_id == monitors.c.id, rounds.c.slot > since))
        .group_by(monitors.c.name)
    )
    return {
        name: MonitorVersion(recent=tuple(marks), has_work=bool(pressing), left=claimed_until)
        for name, *marks, pressing, claimed_until in connection.execute(query)
    }
