"""How long people and passes wait on a store with many monitors and a long history.

    python -m benchmarks answers_at_size [--sqlite] [--monitors 1000] [--each 15]
        [--rounds 10000] [--items 5000]

On PostgreSQL (or SQLite): so many monitors with weekly rounds of 200 labels each, and one, `long`,
with daily rounds of so many items each, labeled on the labeling page. Of all monitors the newest
round is half labeled. Rounds are copies in SQL of some that were played (`copied_rounds`); items
and answers are there of those that still take labels.

First commands, each a process of its own: what the last of them takes is starting, and reading
the config of a thousand monitors. Then what a service that runs already answers, the second time
it is asked, with the statements sent for it. At last passes over all monitors: with nothing due,
with the next round of `long` due, and with its labels in. Seconds by the clock and of this process;
the server's own come to the clock. Filling the store takes some minutes and 5 GB.
"""

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import duckdb
import pandas as pd
import structlog

from benchmarks.copied_rounds import fill
from benchmarks.long_monitor import (
    DAY,
    TRAFFIC,
    answer,
    day_of_rows,
    fill_long,
    rows_of,
    write_long,
)
from benchmarks.statements import counted
from benchmarks.status_at_size import Store, measured, store_on, write_config
from monitor.config.load import load_config
from monitor.config.model import Config
from monitor.domain.model import Answer
from monitor.domain.ports import Clock
from monitor.labeling.page import PageLabeler
from monitor.labeling.page_settings import PageSettings
from monitor.service.change_detection import Idle
from monitor.service.loop import one_pass
from monitor.service.pages.labeling.task_queue import TaskQueue
from monitor.service.pages.roles import Role
from monitor.service.pages.serving import board_of
from monitor.service.pages.sessions import WebSession
from monitor.service.pages.status import addresses
from monitor.service.web.metrics import Own, exposition
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.wiring import Application, build


@dataclass(frozen=True)
class Size:
    """How much the store holds."""

    monitors: int
    each: int
    rounds: int
    items: int


def main(
    sqlite: bool = False,
    monitors: int = 1000,
    each: int = 15,
    rounds: int = 10_000,
    items: int = 5000,
) -> None:
    """Fill a store and print a line for each answer and pass."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    size = Size(monitors, each, rounds, items)
    with tempfile.TemporaryDirectory() as folder, store_on(not sqlite) as store:
        config = filled(Path(folder), store.url, size)
        show_answers(config, size)


def filled(folder: Path, url: str, size: Size) -> Path:
    """Write a config and fill its store."""
    now = datetime.now(UTC)
    path = write_config(folder, url, size.monitors)
    write_long(path, size.items, now)
    config = load_config(path)
    database = Database(config.store_url)
    schema.ready(database)
    every = [config.settings_of(monitor) for monitor in config.monitors]
    fill(database, every[:-1], size.each, now)
    _analyze(database)
    fill_long(database, every[-1], page_of(config, database), size.rounds, now)
    _analyze(database)
    print(rows_of(database), flush=True)
    database.close()
    return path


def _analyze(database: Database) -> None:
    """Let the planner know what there is, as autovacuum would by and by."""
    with database.engine.connect() as connection:
        connection.exec_driver_sql("analyze")
        connection.commit()


def page_of(config: Config, database: Database) -> Callable[[Clock], PageLabeler]:
    """Give what makes the labeler of `long`, by its clock."""
    settings = config.monitors[-1].labeling
    assert isinstance(settings, PageSettings)  # noqa: S101
    return lambda clock: PageLabeler(settings, config.folder, clock, database)


def show_answers(path: Path, size: Size) -> None:
    """Print what commands, pages and passes take."""
    some = str(size.rounds // 2)
    commands = {
        "status": ["status"],
        "status of long": ["status", "--monitor", "long"],
        "rounds": ["rounds"],
        "rounds of long": ["rounds", "--monitor", "long"],
        "rounds of long, in the middle": ["rounds", "--monitor", "long", "--before", some],
        "rounds, the last 3 of each": ["rounds", "--last", "3"],
        "show a round of long": ["show", some, "--monitor", "long"],
        "show a round of another": ["show", "3", "--monitor", "mail-0001"],
        "alerts, which read little else": ["alerts"],
    }
    measured(["status", "--config", str(path)], Store("", lambda: 0.0))  # caches the bytecode
    print(f"\n{'command':<34}{'wall s':>9}{'CPU s':>9}", flush=True)
    for name, words in commands.items():
        cpu, _, wall, _ = measured([*words, "--config", str(path)], Store("", lambda: 0.0)).split()
        print(f"{name:<34}{float(wall):>9.2f}{float(cpu):>9.2f}", flush=True)
    print(f"\n{'in a service':<34}{'wall s':>9}{'CPU s':>9}{'statements':>12}", flush=True)
    for name, figures in chain(answers(path, size), passes(path)):
        print(_line(name, figures), flush=True)


Figures = tuple[float, float, int]
"""Seconds by the clock, seconds of this process, statements."""


def _line(name: str, figures: Figures) -> str:
    return f"{name:<34}{figures[0]:>9.3f}{figures[1]:>9.3f}{figures[2]:>12}"


def answers(path: Path, size: Size) -> Iterator[tuple[str, Figures]]:
    """Ask a service that runs already, each twice; yields the figures of the second time."""
    application = build(load_config(path))
    database = application.database
    board = board_of(lambda: application)
    names = [context.settings.name for context in application.monitors]
    desk = TaskQueue(database, lambda: datetime.now(UTC), lambda: names)
    ada, long = WebSession("ada", "", Role.ADMIN), application.monitors[-1].settings
    middle = size.rounds // 2
    asked: dict[str, Callable[[], object]] = {
        "the status page": lambda: addresses.first_page(board, ada),
        "the page of long": lambda: addresses.monitor_page(ada, board, long),
        "its page of older rounds": lambda: addresses.monitor_page(ada, board, long, middle),
        "its figure of recall": lambda: addresses.monitor_figure(ada, board, long, "recall"),
        "the page of its newest round": lambda: addresses.round_page(ada, board, long, size.rounds),
        "the page of an old round": lambda: addresses.round_page(ada, board, long, middle),
        "the report of an old round": lambda: addresses.round_report(ada, board, long, middle),
        "labeling page: the next items": lambda: desk.screen("ada"),
        "labeling page: an answer": lambda: _say(desk),
        "labeling page: anything to do": desk.takes_answers,
        "a page of metrics": lambda: exposition(database, names, Own(), datetime.now(UTC)),
    }
    for name, ask in asked.items():
        yield name, _second(database, ask)
    database.close()


def _say(desk: TaskQueue) -> None:
    task = desk.screen("ada").tasks[0]
    desk.record_answer("ada", task.key, Answer.POSITIVE, task.revision)


def passes(path: Path) -> Iterator[tuple[str, Figures]]:
    """Do passes as `serve` does them; yields what each took."""
    config = load_config(path)
    clock = [datetime.now(UTC)]
    application = build(config, clock=lambda: clock[0])
    idle = Idle(application.database, application.clock)

    def go() -> None:
        one_pass(application, application.monitors, idle=idle)

    yield "pass: the first look at all", _once(application.database, go)
    go()
    yield "pass: nothing due", _second(application.database, go)
    _next_day(path.parent, application, clock)
    yield "pass: a round of long is drawn", _once(application.database, go)
    answer(application.database, "long", clock[0])
    clock[0] += timedelta(minutes=1)
    yield "pass: labels in, its round closes", _once(application.database, go)
    application.database.close()


def _next_day(folder: Path, application: Application, clock: list[datetime]) -> None:
    """Let a day pass, and write its predictions."""
    context = application.monitors[-1]
    start = clock[0] - timedelta(minutes=20)
    clock[0] += DAY
    traffic = TRAFFIC * context.settings.round.sample.max_labels
    rows = pd.DataFrame(day_of_rows(999_999, start, traffic)).rename(columns={"time": "at"})
    duckdb.from_df(rows).write_parquet(str(folder / "long.parquet"))


def _second(database: Database, ask: Callable[[], object]) -> Figures:
    ask()
    return _once(database, ask)


def _once(database: Database, ask: Callable[[], object]) -> Figures:
    with counted(database) as statements:
        begun, busy = time.monotonic(), time.process_time()
        ask()
        took, cpu = time.monotonic() - begun, time.process_time() - busy
    return took, cpu, len(statements.sent)
