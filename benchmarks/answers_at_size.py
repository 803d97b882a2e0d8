"""How long people wait on a store with many monitors and a long history.

So many monitors with weekly rounds of 200 labels each, and one, `long`, with daily rounds of so
many items, labeled on the labeling page. Printed is what a running service answers the second time,
with its statements.
"""

import logging
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import structlog
from sqlalchemy import Connection, func, insert, literal, select, update

from benchmarks.copied_rounds import (
    analyze,
    copy_closed,
    fill,
    mend_sequences,
    unchecked,
    write_config,
)
from benchmarks.harness import store_on, timed
from monitor.config.load import load_config
from monitor.config.model import Config
from monitor.domain.model import Answer
from monitor.domain.people import Role
from monitor.domain.ports import Clock, Labeler
from monitor.domain.round import Round, round_name
from monitor.domain.settings import MonitorSettings
from monitor.domain.slots import newest_slot
from monitor.domain.state import RoundState
from monitor.labeling.page import PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.rounds import run
from monitor.rounds.context import MonitorContext
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.serving import board_of
from monitor.service.pages.sessions import WebSession
from monitor.service.pages.status import addresses
from monitor.service.web.metrics import Own, exposition
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.labels import label_store
from monitor.storage.pages.page_tables import page_answers, page_rounds, page_tasks
from monitor.storage.rounds import round_store
from monitor.storage.tables import effects, items, monitors, rounds
from monitor.testing import MemorySource
from monitor.wiring import build
from tests.statements import counted

DAY = timedelta(days=1)
PLAYED = 3
TRAFFIC = 5
"""Predictions of a day for each item that is drawn."""

PEOPLE = 5

LONG = """\
  - name: long
    source:
      kind: duckdb
      path: long.parquet
      columns: {{id: id, time: at, score: score, show: [text]}}
      threshold: 0.5
    schedule: {{cron: "{cron}"}}
    sample: {{max_labels: {items}, bands: {{flagged: 1, passed: 1}}}}
    labeling: {{kind: page, question: "Is this mail really about travel?", late_labels: 14d}}
    limits: {{precision: 0.5, recall: 0.2}}
"""


def fill_long(
    database: Database,
    settings: MonitorSettings,
    page: Callable[[Clock], Labeler],
    count: int,
    now: datetime,
) -> None:
    """Give the monitor so many daily rounds, closed but for the newest, which is half labeled."""
    newest = newest_slot(settings.round.schedule, now)
    clock = [newest]
    source = MemorySource([], threshold=0.5, show=["text"])
    context = MonitorContext(
        settings, database, source, page(lambda: clock[0]), clock=lambda: clock[0]
    )
    traffic = TRAFFIC * settings.round.sample.budget
    for number in range(1, PLAYED + 1):
        clock[0] = newest - (count - number) * DAY
        source.rows = day_of_rows(number, clock[0] - DAY, traffic)
        _play(context, clock)
    with database.read() as connection:
        closed = round_store.find_rounds(connection, settings.name)[-1]
    if closed.state is not RoundState.CLOSED:
        message = f"the round to be copied is {closed.state}"
        raise SystemExit(message)
    _copy(database, closed, count, now - settings.round.late_labels)
    clock[0] = newest
    source.rows = day_of_rows(count, newest - DAY, traffic)
    run.run(context)
    answer(database, settings.name, clock[0], share=0.5)
    run.run(context)
    with database.write() as connection:
        mine = effects.c.monitor_id == closed.monitor_id
        delivered = {"status": "done", "receipt": "taken", "done_at": now}
        connection.execute(update(effects).where(mine).values(delivered))


def _play(context: MonitorContext, clock: list[datetime]) -> None:
    """Draw a round, answer it and close it."""
    run.run(context)
    clock[0] += timedelta(minutes=1)
    answer(context.database, context.settings.name, clock[0])
    run.run(context)


def _copy(database: Database, closed: Round, count: int, since: datetime) -> None:
    """Copy the closed round up to the one before the newest."""
    numbers = range(PLAYED + 1, count)
    silent = [one for one in numbers if closed.slot + (one - closed.number) * DAY <= since]
    with database.write() as connection:
        unchecked(connection)
        copy_closed(connection, closed, silent, step=DAY, shown=False)
        late = numbers[len(silent) :]
        copies = copy_closed(connection, closed, late, step=DAY)
        for number, copy in zip(late, copies, strict=True):
            _copy_page(connection, closed, copy, (number - closed.number) * DAY)
        mend_sequences(connection)


def _copy_page(connection: Connection, source: Round, copy: int, later: timedelta) -> None:
    """Copy what the labeling page has of a round."""
    name = literal(round_name(source.monitor, source.slot + later))
    mark = literal(f"{copy}x")
    changed: dict[str, Any] = {"name": name, "round_name": name}
    changed |= {"key": mark + page_tasks.c.key, "task_key": mark + page_answers.c.task_key}
    mine = select(page_tasks.c.key).where(page_tasks.c.round_name == source.name)
    for table, whose in (
        (page_rounds, page_rounds.c.name == source.name),
        (page_tasks, page_tasks.c.round_name == source.name),
        (page_answers, page_answers.c.task_key.in_(mine)),
    ):
        columns = [column for column in table.c if column.name != "id"]
        picked = [changed.get(column.name, column) for column in columns]
        connection.execute(insert(table).from_select(columns, select(*picked).where(whose)))


def answer(database: Database, monitor: str, at: datetime, share: float = 1.0) -> int:
    """Let people answer on the page what is out of a monitor's rounds that wait for labels.

    Returns how many answers they gave: true ones, as the scores have it.
    """
    with database.write() as connection:
        waiting = round_store.find_rounds(connection, monitor, states=[RoundState.LABELING])
        given = 0
        for round_ in waiting:
            given += _answer_round(connection, round_, at, share)
    return given


def _answer_round(connection: Connection, round_: Round, at: datetime, share: float) -> int:
    tasks = label_store.all_tasks(connection, [round_.id])
    is_open = select(page_tasks.c.key).where(
        page_tasks.c.round_name == round_.name,
        page_tasks.c.key.not_in(select(page_answers.c.task_key)),
    )
    keys = sorted(connection.execute(is_open).scalars())
    scores = select(items.c.id, items.c.score).where(items.c.round_id == round_.id)
    score = {row.id: row.score for row in connection.execute(scores)}
    chosen = keys[: round(share * len(keys))]
    sure = np.random.default_rng(round_.number).random(len(chosen))
    rows = [
        {
            "task_key": key,
            "annotator": f"person-{tasks[key].slot}-{place % PEOPLE}",
            "revision": 1,
            "answer": Answer.POSITIVE
            if sure[place] < score[tasks[key].item_id]
            else Answer.NEGATIVE,
            "at": at,
        }
        for place, key in enumerate(chosen)
    ]
    if rows:
        connection.execute(insert(page_answers), rows)
    return len(rows)


def day_of_rows(number: int, start: datetime, count: int) -> list[dict[str, Any]]:
    """Make the predictions of a day."""
    score = np.random.default_rng(number).random(count) ** 4
    return [
        {
            "id": f"{number}-{place:06}",
            "time": start + place * DAY / count,
            "score": float(score[place]),
            "text": f"mail no. {place}",
        }
        for place in range(count)
    ]


def rows_of(database: Database) -> str:
    """Say how many monitors, rounds and items a store has."""
    with database.read() as connection:
        numbers = [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (monitors, rounds, items, page_answers)
        ]
    told = zip(numbers, ("monitors", "rounds", "items", "answers on the page"), strict=True)
    return ", ".join(f"{number:,} {what}" for number, what in told)


def main(
    sqlite: bool = False,
    monitors: int = 1000,
    each: int = 15,
    rounds: int = 10_000,
    items: int = 5000,
) -> None:
    """Fill a store and print a line for each answer."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with tempfile.TemporaryDirectory() as folder, store_on(not sqlite) as url:
        path, now = write_config(Path(folder), url, monitors), datetime.now(UTC)
        slot = now - timedelta(minutes=20)  # the newest of `long`, which has one each day
        block = LONG.format(cron=f"{slot.minute} {slot.hour} * * *", items=items)
        path.write_text(path.read_text() + block)
        fill_both(path, each, rounds, now)
        show_answers(path, rounds)


def fill_both(path: Path, each: int, of_long: int, now: datetime) -> None:
    """Fill the store of a config with so many rounds of each monitor and of `long`."""
    config = load_config(path)
    database = Database(config.store_url)
    schema.ready(database)
    every = [config.settings_of(monitor) for monitor in config.monitors]
    fill(database, every[:-1], each, now)
    analyze(database)
    fill_long(database, every[-1], page_of(config, database), of_long, now)
    analyze(database)
    print(rows_of(database))
    database.close()


def page_of(config: Config, database: Database) -> Callable[[Clock], PageLabeler]:
    """Give what makes the labeler of `long`, by its clock."""
    settings = config.monitors[-1].labeling
    assert isinstance(settings, PageSettings)  # noqa: S101
    return lambda clock: PageLabeler(settings, config.folder, clock, database)


def show_answers(path: Path, of_long: int) -> None:
    """Print what pages take."""
    print(f"\n{'answer':<34}{'wall s':>9}{'CPU s':>9}{'statements':>12}")
    for name, figures in answers(path, of_long):
        print(f"{name:<34}{figures[0]:>9.3f}{figures[1]:>9.3f}{figures[2]:>12}")


Figures = tuple[float, float, int]
"""Seconds by the clock, seconds of this process, statements."""


def answers(path: Path, of_long: int) -> Iterator[tuple[str, Figures]]:
    """Ask a service that runs already, each twice; yields the figures of the second time."""
    application = build(load_config(path))
    database = application.database
    board = board_of(lambda: application)
    names = [context.settings.name for context in application.monitors]
    desk = TaskQueue(database, lambda: datetime.now(UTC), lambda: names)
    ada, long = WebSession("ada", "", Role.ADMIN), application.monitors[-1].settings
    middle = of_long // 2
    asked: dict[str, Callable[[], object]] = {
        "the status page": lambda: addresses.first_page(board, ada),
        "the page of long": lambda: addresses.monitor_page(ada, board, long),
        "its page of older rounds": lambda: addresses.monitor_page(ada, board, long, middle),
        "its figure of recall": lambda: addresses.monitor_figure(ada, board, long, "recall"),
        "the page of its newest round": lambda: addresses.round_page(ada, board, long, of_long),
        "the page of an old round": lambda: addresses.round_page(ada, board, long, middle),
        "the report of an old round": lambda: addresses.round_report(ada, board, long, middle),
        "labeling page: the next items": lambda: desk.screen("ada"),
        "labeling page: an answer": lambda: _say(desk),
        "labeling page: anything to do": desk.takes_answers,
        "a page of metrics": lambda: exposition(database, names, Own(), datetime.now(UTC)),
    }
    for name, ask in asked.items():
        ask()
        with counted(database) as statements:
            cpu, wall = timed(ask)
        yield name, (wall, cpu, len(statements.sent))
    database.close()


def _say(desk: TaskQueue) -> None:
    task = desk.screen("ada").tasks[0]
    desk.record_answer("ada", task.key, Answer.POSITIVE, task.revision)
