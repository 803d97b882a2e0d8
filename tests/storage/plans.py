"""What PostgreSQL says it would do for the statements of a pass: which tables it reads whole."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    Boolean,
    Float,
    Integer,
    LargeBinary,
    String,
    cast,
    column,
    event,
    func,
    literal,
    null,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import insert

from monitor.storage.pages import page_tables  # noqa: F401  adds its tables to the metadata
from monitor.storage.tables import UtcDateTime, metadata, rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Column, ColumnElement, Connection, Subquery, Table
    from sqlalchemy.engine import Engine

BY_ROUND = {"round_id", "round_name", "task_key", "control_key", "fired_round_id"}
"""Columns that name a round or a task: a table with one of them grows with every round."""

GROWING = {rounds.name} | {
    table.name for table in metadata.sorted_tables if BY_ROUND & set(table.c.keys())
}

FILLED = (GROWING - {rounds.name}) | {"restatements"}
EACH, FEW = 8, 20_000
"""Rows of each round for tables with fewer than ``FEW``: then no plan takes one for small."""

Sent = dict[str, Any]
"""Statements with the values that they were first sent with."""


@contextmanager
def recorded(engine: Engine, sent: Sent) -> Iterator[None]:
    """Record what is sent, but inserts of values and what only steers the session."""

    def note(_connection, _cursor, statement, parameters, _context, is_many):
        first_word = statement.lstrip().split(maxsplit=1)[0].lower()
        if first_word in {"select", "update", "delete", "with"} and not is_many:
            sent.setdefault(statement, parameters)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", note)


def fill_the_rest(connection: Connection, spared: int) -> None:
    """Give the growing tables that have few rows some of each round, whatever they say.

    So a plan tells of each whether an index serves. The newest rounds, ``spared`` of them, get
    none: passes look at these.
    """
    connection.exec_driver_sql("set session_replication_role = replica")  # checks no references
    of_rounds = select(rounds.c.id, rounds.c.monitor_id, rounds.c.slot).order_by(rounds.c.id)
    last = _count(connection, rounds) - spared
    old = of_rounds.limit(last).subquery()
    series = func.generate_series(1, EACH).table_valued(column("place", Integer))
    places = series.render_derived(name="places")
    for table in metadata.sorted_tables:
        if table.name in FILLED and _count(connection, table) < FEW:
            columns = [each for each in table.c if each.autoincrement is not True]
            made = [_made(each, old, places.c.place).label(each.name) for each in columns]
            rows = select(*made).select_from(old.join(places, true()))
            filling = insert(table).from_select(columns, rows)
            connection.execute(filling.on_conflict_do_nothing())
    connection.exec_driver_sql("set session_replication_role = origin")


def _made(of: Column[Any], old: Subquery, place: ColumnElement[int]) -> ColumnElement[Any]:
    """Make a value for a column out of a round, another one for each place."""
    if of.name in {"round_id", "fired_round_id"}:
        return old.c.id
    if of.name == "monitor_id":
        return old.c.monitor_id
    if of.nullable:
        return null()
    plain: dict[type, ColumnElement[Any]] = {
        JSON: literal([], JSON),
        Boolean: literal(False),
        Float: literal(0.5),
        LargeBinary: literal(b""),
        String: cast(old.c.id, String) + "/" + cast(place, String),
        UtcDateTime: old.c.slot,
    }
    for kind, value in plain.items():
        if isinstance(of.type, kind):
            return value
    return old.c.id * EACH + place


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def read_whole(connection: Connection, statement: str, values: Any) -> list[str]:
    """Find the growing tables that a statement reads from end to end, with how."""
    # As cheap to look up as to read on, as on an SSD; else a table of a test is read on.
    connection.exec_driver_sql("set local random_page_cost = 1.1")
    told = connection.exec_driver_sql(f"explain (format json) {statement}", values).scalar_one()
    [plan] = json.loads(told) if isinstance(told, str) else told
    return list(_whole(plan["Plan"], ends_early=False))


def _whole(plan: dict[str, Any], *, ends_early: bool) -> Iterator[str]:
    """Walk over a plan; a walk over an index in its order that a LIMIT ends early is none."""
    node, table = plan["Node Type"], plan.get("Relation Name")
    walks_index = node in {"Index Scan", "Index Only Scan"} and "Index Cond" not in plan
    if table in GROWING and (node == "Seq Scan" or (walks_index and not ends_early)):
        yield f"{table}: {node}"
    # What sorts or gathers asks for all rows, however few are wanted of it.
    early = node == "Limit" or (ends_early and node not in {"Sort", "Aggregate", "Hash"})
    for part in plan.get("Plans", []):
        yield from _whole(part, ends_early=early)
