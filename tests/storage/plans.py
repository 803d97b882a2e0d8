"""What a database says it would do for the statements of a pass: which tables it reads whole."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from monitor.storage.tables import metadata, rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection
    from sqlalchemy.engine import Engine

BY_ROUND = {"round_id", "round_name", "task_key", "fired_round_id"}
"""Columns that name a round or a task: a table with one of them grows with every round."""

GROWING = {rounds.name} | {
    table.name for table in metadata.sorted_tables if BY_ROUND & set(table.c.keys())
}

MANY = 200
"""Rows from which on PostgreSQL finds an index cheaper than the table, where there is one."""

Sent = dict[str, Any]
"""Statements with the values that they were first sent with."""


@contextmanager
def recorded(engine: Engine) -> Iterator[Sent]:
    """Record what is sent, but inserts of values and what only steers the session."""
    sent: Sent = {}

    def note(_connection, _cursor, statement, parameters, _context, is_many):
        first_word = statement.lstrip().split(maxsplit=1)[0].lower()
        if first_word in {"select", "update", "delete", "with"} and not is_many:
            sent.setdefault(statement, parameters)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)


def read_whole(connection: Connection, statement: str, values: Any, many: set[str]) -> list[str]:
    """Find the growing tables that a statement reads from end to end, with how.

    Asked twice: as it would be run, which counts for tables with ``many`` rows; and with the
    reading of whole tables ruled out, so that a table with few rows shows whether any index
    serves.
    """
    usual = _steps(connection, statement, values)
    connection.exec_driver_sql("set local enable_seqscan = off")
    forced = _steps(connection, statement, values)
    connection.exec_driver_sql("set local enable_seqscan = on")
    found = [step for step in usual if step.partition(": ")[0] in many]
    return sorted({*found, *forced})


def _steps(connection: Connection, statement: str, values: Any) -> list[str]:
    told = connection.exec_driver_sql(f"explain (format json) {statement}", values).scalar_one()
    [plan] = json.loads(told) if isinstance(told, str) else told
    return list(_whole(plan["Plan"], ends_early=False))


def _whole(plan: dict[str, Any], *, ends_early: bool) -> Iterator[str]:
    """Walk over a plan; a walk over an index in its order that a LIMIT ends early is none."""
    node, table = plan["Node Type"], plan.get("Relation Name")
    is_scan = node in {"Seq Scan", "Parallel Seq Scan", "Sample Scan"}
    walks_index = node in {"Index Scan", "Index Only Scan"} and "Index Cond" not in plan
    if table in GROWING and (is_scan or (walks_index and not ends_early)):
        yield f"{table}: {node}"
    if node == "Bitmap Index Scan" and "Index Cond" not in plan:
        yield f"{plan['Index Name']}: {node}"
    # What sorts or gathers asks for all rows, however few are wanted of it.
    early = node == "Limit" or (ends_early and node not in {"Sort", "Aggregate", "Hash"})
    for part in plan.get("Plans", []):
        yield from _whole(part, ends_early=early)


def with_many_rows(connection: Connection) -> set[str]:
    """Name the growing tables that have many rows."""
    return {
        table
        for table in GROWING
        if connection.exec_driver_sql(f"select count(*) from {table}").scalar_one() >= MANY
    }
