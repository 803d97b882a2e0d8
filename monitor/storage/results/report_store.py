"""Reports, one for each version of a round; effects refer to them, and pages read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from monitor.domain.report import RoundReport
from monitor.storage.database import chunks, insert_some
from monitor.storage.queries import is_latest, of_version
from monitor.storage.results.alert_note_store import with_notes
from monitor.storage.tables import effects, reports, rounds


def write_reports(connection: Connection, written: Mapping[int, RoundReport]) -> None:
    """Store new reports by round id; their versions must not have reports yet."""
    rows = [
        {"round_id": round_id, "version": report.version, "payload": report.stored()}
        for round_id, report in written.items()
    ]
    insert_some(connection, reports, rows)


def read_report(connection: Connection, round_id: int, version: int) -> dict[str, Any]:
    """Read the report of a version of a round; empty if it has none."""
    row = connection.execute(of_version(reports, round_id, version)).first()
    return {} if row is None else with_notes(connection, row.payload)


def newest_version(connection: Connection, round_id: int) -> int:
    """Return the newest version with a report; 0 if there are no reports."""
    query = select(func.max(reports.c.version)).where(reports.c.round_id == round_id)
    return connection.scalar(query) or 0


def read_parts(
    connection: Connection, round_ids: Sequence[int], *parts: str
) -> dict[int, dict[str, Any]]:
    """Read some fields of the latest versions' reports, by round."""
    fields = (reports.c.payload[part] for part in parts)
    query = select(reports.c.round_id, *fields).join(rounds, is_latest(reports))
    return {
        round_id: dict(zip(parts, values, strict=True))
        for some in chunks(round_ids)
        for round_id, *values in connection.execute(query.where(reports.c.round_id.in_(some)))
    }


def first_key(connection: Connection, round_id: int) -> str | None:
    """Read the key of a round in MLflow; None before its first report."""
    query = (
        select(reports.c.payload["round_key"].as_string())
        .where(reports.c.round_id == round_id)
        .order_by(reports.c.version)
    )
    return connection.scalar(query.limit(1))


def with_report(query: Select[Any]) -> Select[Any]:
    """Add the report that each effect refers to as column ``report`` to a query of effects."""
    same = (reports.c.round_id == effects.c.round_id) & (
        reports.c.version == effects.c.report_version
    )
    return query.add_columns(reports.c.payload.label("report")).outerjoin(reports, same)


def payload_of(connection: Connection, row: Row[Any]) -> dict[str, Any]:
    """Return the content to deliver: the report that an effect refers to, or its payload."""
    return with_notes(connection, row.payload if row.report is None else row.report)
