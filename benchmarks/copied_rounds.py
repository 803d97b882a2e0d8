"""A store as many monitors leave it: one is played for real, and its rounds are copied in SQL.

Copies have all that a round writes; items, tasks and labels only while late labels are taken.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    String,
    Table,
    cast,
    func,
    insert,
    literal,
    select,
    update,
)

from benchmarks.many_monitors import HEAD
from monitor.domain.model import Answer
from monitor.domain.round import Round
from monitor.domain.settings import MonitorSettings
from monitor.domain.slots import newest_slot
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.storage.database import Database
from monitor.storage.rounds import round_store
from monitor.storage.tables import (
    alerts,
    effects,
    evidence,
    histories,
    items,
    label_events,
    metadata,
    monitors,
    payloads,
    rounds,
    tasks,
)
from monitor.testing import MemoryLabeler, MemorySource

WEEK = timedelta(days=7)
ITEMS = 4000
PLAYED = 12
"""Rounds that are computed: enough for a history, and for a report with a timeline."""

SHOWN = (items, payloads, tasks, label_events)
"""What rounds keep that still take labels."""

ALERTING = 20
"""One monitor in so many has an open alert."""

_CHUNK = 5000


MONITOR = """\
  - name: mail-{number:04}
    source:
      kind: duckdb
      path: predictions.parquet
      columns: {{id: id, time: at, score: score}}
      threshold: 0.5
    schedule: {{cron: "{cron}"}}
    sample: {{max_labels: 200, bands: {{flagged: 1, passed: 1}}}}
    labeling: {{kind: files, folder: labels/mail-{number:04}}}
    limits: {{precision: 0.5, recall: 0.2}}
"""


class People(MemoryLabeler):
    """People who answer in files, for all that the store can tell."""

    name = "files"


def fill(database: Database, every: Sequence[MonitorSettings], each: int, now: datetime) -> None:
    """Give each monitor so many weekly rounds, all closed but the newest, which is half labeled."""
    closed, newest = _play(database, every[0], each, now)
    with database.write() as connection:
        unchecked(connection)
        delivered = {"status": "done", "receipt": "taken", "done_at": now}
        connection.execute(update(effects).values(delivered))
        _add_monitors(connection, every, closed, now)
        recent = now - every[0].round.late_labels
        first = newest.id + 1
        for source, numbers, tables in (
            (closed, _numbers(newest, each, until=recent), _tables(shown=False)),
            (closed, _numbers(newest, each, since=recent), _tables(shown=True)),
            (newest, [newest.number], _tables(shown=True)),
        ):
            rows = _rounds(connection, source, numbers, range(1, len(every) + 1), first)
            _insert(connection, rounds, rows)
            for table in tables:
                _copy(connection, table, source.id, first, first + len(rows) - 1)
            first += len(rows)
        _add_alerts(connection, len(every), each, now)
        mend_sequences(connection)


def copy_closed(
    connection: Connection,
    source: Round,
    numbers: Sequence[int],
    *,
    step: timedelta = WEEK,
    shown: bool = True,
) -> range:
    """Let a monitor's newest round be followed by copies of it; returns their ids.

    ``shown`` is whether they keep what rounds have that still take labels.
    """
    connection.execute(update(effects).values(status="done", receipt="taken"))
    first = connection.execute(select(func.max(rounds.c.id))).scalar_one() + 1
    rows = _rounds(connection, source, numbers, [source.monitor_id], first, step)
    _insert(connection, rounds, rows)
    copies = range(first, first + len(rows))
    if not rows:
        return copies
    for table in _tables(shown=shown):
        _copy(connection, table, source.id, copies[0], copies[-1])
    number = select(rounds.c.number).where(rounds.c.id == evidence.c.round_id).scalar_subquery()
    of_copies = evidence.c.round_id.between(copies[0], copies[-1])
    later = evidence.c.order + number - source.number
    connection.execute(update(evidence).where(of_copies).values(order=later))
    return copies


def _play(
    database: Database, settings: MonitorSettings, each: int, now: datetime
) -> tuple[Round, Round]:
    """Run the first rounds of a monitor and its newest; returns a closed and an open one."""
    newest = newest_slot(settings.round.schedule, now)
    clock = [newest]
    source, labeler = MemorySource([], threshold=0.5, show=["text"]), People()
    context = MonitorContext(settings, database, source, labeler, clock=lambda: clock[0])
    for number in (*range(1, PLAYED + 1), each):
        clock[0] = newest - (each - number) * WEEK
        source.rows, truth = _week(number, clock[0] - WEEK)
        answered = truth[::2] if number == each else truth
        labeler.answers = dict(answered)
        run.run(context)
    with database.read() as connection:
        rounds = {one.number: one for one in round_store.find_rounds(connection, settings.name)}
    closed, waiting = rounds[PLAYED], rounds[each]
    if (closed.state, waiting.state) != ("closed", "labeling"):
        message = f"the rounds to be copied are {closed.state} and {waiting.state}"
        raise SystemExit(message)
    return closed, waiting


def _week(number: int, start: datetime) -> tuple[list[dict[str, Any]], list[tuple[str, Answer]]]:
    """Make the predictions of a week, and what each is in truth."""
    rng = np.random.default_rng(number)
    score = rng.random(ITEMS) ** 4
    positive = rng.random(ITEMS) < score
    ids = [f"{number}-{i:05}" for i in range(ITEMS)]
    rows = [
        {"id": item, "time": start + i * WEEK / ITEMS, "score": float(score[i]), "text": f"no. {i}"}
        for i, item in enumerate(ids)
    ]
    answers = [Answer.POSITIVE if up else Answer.NEGATIVE for up in positive]
    return rows, list(zip(ids, answers, strict=True))


def _add_monitors(
    connection: Connection, every: Sequence[MonitorSettings], closed: Round, now: datetime
) -> None:
    others = [
        {"id": place, "name": settings.name, "created_at": now}
        for place, settings in enumerate(every, start=1)
        if place != closed.monitor_id
    ]
    if not others:
        return
    connection.execute(insert(monitors), others)
    target = monitors.alias()
    changed = {"id": target.c.id, "monitor_id": target.c.id}
    columns = [changed.get(column.name, column) for column in histories.c]
    others_only = target.c.id != closed.monitor_id
    joined = select(*columns).join_from(histories, target, others_only)
    source = joined.where(histories.c.id == closed.history_id)
    connection.execute(insert(histories).from_select(list(histories.c), source))


def _numbers(
    newest: Round, each: int, *, until: datetime | None = None, since: datetime | None = None
) -> list[int]:
    """Numbers of the closed rounds of which labels are, or are not, still taken."""
    return [
        number
        for number in range(1, each)
        if (until is None or newest.slot - (each - number) * WEEK <= until)
        and (since is None or newest.slot - (each - number) * WEEK > since)
    ]


def _tables(*, shown: bool) -> list[Table]:
    return [
        table
        for table in metadata.sorted_tables
        if "round_id" in table.c and (shown or table not in SHOWN)
    ]


def _rounds(
    connection: Connection,
    source: Round,
    numbers: Sequence[int],
    every: Sequence[int],
    first: int,
    step: timedelta = WEEK,
) -> list[dict[str, Any]]:
    """Rows of copies for every monitor and number that has no round yet, ids counted up."""
    row = dict(connection.execute(select(rounds).where(rounds.c.id == source.id)).mappings().one())
    known = select(rounds.c.monitor_id, rounds.c.number)
    there = {(one.monitor_id, one.number) for one in connection.execute(known)}
    times = [name for name in row if isinstance(row[name], type(source.slot))]
    found: list[dict[str, Any]] = []
    for monitor in every:
        for number in numbers:
            if (monitor, number) in there:
                continue
            later = (number - source.number) * step
            found.append(
                row
                | {name: row[name] + later for name in times}
                | {
                    "id": first + len(found),
                    "monitor_id": monitor,
                    "history_id": monitor,
                    "number": number,
                    "seed": f"{monitor:016x}{number:016x}",
                }
            )
    return found


def _copy(connection: Connection, table: Table, source_id: int, first: int, last: int) -> None:
    """Copy a round's rows of one table for all rounds of these ids."""
    target = rounds.alias()
    own = cast(target.c.id, String) + literal("x")
    changed: dict[str, ColumnElement[Any]] = {
        "round_id": target.c.id,
        "monitor_id": target.c.monitor_id,
    }
    changed |= {name: own + table.c[name] for name in ("key", "external_id") if name in table.c}
    columns = [column for column in table.c if column.name != "id" or table is items]
    picked = [changed.get(column.name, column) for column in columns]
    every = target.c.id.between(first, last)
    query = select(*picked).join_from(table, target, every).where(table.c.round_id == source_id)
    connection.execute(insert(table).from_select(columns, query))


def _add_alerts(connection: Connection, many: int, each: int, now: datetime) -> None:
    last = select(rounds.c.id, rounds.c.monitor_id).where(rounds.c.number == each - 1)
    rows = [
        {
            "id": f"{row.monitor_id:08x}-0000-4000-8000-000000000000",
            "monitor_id": row.monitor_id,
            "metric": "recall",
            "side": "at_least",
            "limit": 0.2,
            "state": "firing",
            "fired_round_id": row.id,
            "fired_at": now - WEEK,
        }
        for row in connection.execute(last)
        if row.monitor_id % ALERTING == 0 or row.monitor_id == many
    ]
    connection.execute(insert(alerts), rows)


def _insert(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _CHUNK):
        connection.execute(insert(table), rows[start : start + _CHUNK])


def unchecked(connection: Connection) -> None:
    """Let PostgreSQL look up no references in this transaction: copies have those of rounds."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("set local session_replication_role = replica")


def mend_sequences(connection: Connection) -> None:
    """Let PostgreSQL count on from the ids that were given here."""
    if connection.dialect.name != "postgresql":
        return
    for table in ("rounds", "monitors", "histories"):
        connection.exec_driver_sql(
            f"select setval('{table}_id_seq', (select max(id) from {table}))"
        )


def write_config(folder: Path, store: str, monitors: int) -> Path:
    """Write the config of so many monitors whose newest slot was 20 minutes ago."""
    slot = datetime.now(UTC) - timedelta(minutes=20)
    cron = f"{slot.minute} {slot.hour} * * {slot.isoweekday() % 7}"
    each = [MONITOR.format(number=number, cron=cron) for number in range(monitors)]
    for number in range(monitors):
        filled = folder / "labels" / f"mail-{number:04}" / "filled"
        filled.mkdir(parents=True)
        for week in range(12):
            (filled / f"week-{week:02}.csv").write_text("task,label\n")
    config = folder / "config.yaml"
    config.write_text(HEAD.format(store=store) + "".join(each))
    return config


def analyze(database: Database) -> None:
    """Let the planner know what there is, as autovacuum would by and by."""
    with database.engine.connect() as connection:
        connection.exec_driver_sql("analyze")
        connection.commit()
