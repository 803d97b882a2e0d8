"""Many monitors on one service: 10, 100 and 1,000 rounds due at once, and ticks with nothing due.

    python -m benchmarks.many_monitors [--postgres] [--monitors 10 100 1000] [--told 10]

Every monitor scans a Parquet file with DuckDB, takes its labels from a column of it and has two
limits and 300 labels; so a round is drawn, labeled, closed and told to the log in one tick of the
service's own loops. Prints for each number of monitors: rounds a minute and milliseconds a round
(wall), what delivering a round to MLflow takes on top (a SQLite tracking store; measured on the
first ``--told`` rounds, the others' effects are struck out), seconds of a tick with nothing due
(the longest of five), and the largest memory of the process. Each number has a process and a store
of its own: a SQLite file, or with ``--postgres`` a database of a server started for it. A thousand
monitors take a quarter of an hour.
"""

from __future__ import annotations

import argparse
import logging
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import structlog
from sqlalchemy import func, select, update

from monitor import wiring
from monitor.config.load import load_config
from monitor.domain.sinks import MLFLOW
from monitor.rounds.delivery.deliver import deliver
from monitor.service.loop import TICK, Work
from monitor.storage import schema
from monitor.storage.tables import effects, rounds
from tests.servers import postgres

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.wiring import Application

MONDAY = datetime(2026, 3, 2, 6, 1, tzinfo=UTC)
HEADS = ("monitors", "rounds/min", "ms a round", "MLflow ms", "idle tick s", "memory MB")
HEAD = """\
store: {store}
mlflow: {{tracking_uri: "sqlite:///mlflow.db"}}
monitors:
"""
MONITOR = """\
  - name: mail-{number:04}
    source:
      kind: duckdb
      path: predictions.parquet
      columns: {{id: id, time: at, score: score}}
      threshold: 0.5
    schedule: {{cron: "0 6 * * MON"}}
    sample: {{max_labels: 300}}
    labeling: {{kind: column, path: predictions.parquet, id: id, value: truth, matures: 1h}}
    limits: {{precision: 0.5, recall: 0.2}}
"""
PREDICTIONS = """
copy (
    select 'm' || i as id, timestamptz '2026-02-23 06:00:00+00' + i * interval 2 minute as at,
        score, cast(random() < score as integer) as truth
    from (select i, pow(random(), 4) as score from range(5000) as t(i))
) to '{path}' (format parquet)
"""


def main() -> None:
    """Print a line for each number of monitors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL, not SQLite")
    parser.add_argument("--monitors", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--told", type=int, default=10, help="rounds delivered to MLflow")
    parser.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)  # a child's
    asked = parser.parse_args()
    if asked.folder:
        measure(asked.folder, asked.monitors[0], asked.told)
        return
    print("  ".join(f"{head:>11}" for head in HEADS), flush=True)
    for number in asked.monitors:
        with tempfile.TemporaryDirectory() as folder, _store(asked.postgres) as store:
            write_config(Path(folder), store, number)
            child = [sys.executable, "-m", "benchmarks.many_monitors", "--in", folder]
            numbers = ["--monitors", str(number), "--told", str(asked.told)]
            subprocess.run([*child, *numbers], check=True)


@contextmanager
def _store(on_postgres: bool) -> Iterator[str]:
    if not on_postgres:
        yield "sqlite:///monitor.db"
        return
    with postgres() as url:
        yield url


def write_config(folder: Path, store: str, monitors: int) -> None:
    """Write the config of so many monitors, and a week of predictions with their truth."""
    duckdb.sql("select setseed(0.5)")
    duckdb.sql(PREDICTIONS.format(path=folder / "predictions.parquet"))
    each = [MONITOR.format(number=number) for number in range(monitors)]
    (folder / "config.yaml").write_text(HEAD.format(store=store) + "".join(each))


def measure(folder: Path, monitors: int, told: int) -> None:
    """Run the loops and print their figures."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    now = MONDAY
    application = wiring.build(load_config(folder / "config.yaml"), clock=lambda: now)
    schema.ready(application.database)
    work = Work(application, None, TICK)
    begun = time.monotonic()
    _tick(work)
    took = time.monotonic() - begun
    closed = _closed(application)
    if closed != monitors:
        message = f"{closed} of {monitors} rounds are closed"
        raise SystemExit(message)
    _strike_out(application, after=told)
    mlflow = _told(application)
    idle: list[float] = []
    for _ in range(7):  # the first two find what the big one left
        now += TICK + timedelta(seconds=1)
        begun = time.monotonic()
        _tick(work)
        idle.append(time.monotonic() - begun)
    work.stop()
    work.wait()
    figures = (
        f"{monitors}",
        f"{60 * monitors / took:.0f}",
        f"{1e3 * took / monitors:.0f}",
        f"{1e3 * mlflow:.0f}",
        f"{max(idle[2:]):.2f}",
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}",
    )
    print("  ".join(f"{figure:>11}" for figure in figures), flush=True)
    application.database.close()


def _tick(work: Work) -> None:
    """Do what the service does at a tick, all but MLflow, and wait until it is over."""
    work.running.last_success = None
    work.rounds()
    while not _is_quiet(work):
        time.sleep(0.002)
    work.notices()


def _is_quiet(work: Work) -> bool:
    return work.running.last_success is not None


def _closed(application: Application) -> int:
    with application.database.read() as connection:
        query = select(func.count()).where(rounds.c.state == "closed")
        return int(connection.execute(query).scalar_one())


def _told(application: Application) -> float:
    """Deliver all that waits for MLflow; returns seconds a round, without the first one's start."""
    begun = [time.monotonic()]
    deliver(
        application.database,
        {MLFLOW: application.handlers[MLFLOW]},
        application.clock,
        on_delivered=lambda _: begun.append(time.monotonic()),
    )
    each = [after - before for before, after in pairwise(begun)]
    return 2 * sum(each[1:]) / len(each[1:])  # a run and a point of the fleet each


def _strike_out(application: Application, after: int) -> None:
    """Forget the effects of all monitors after so many."""
    with application.database.write() as connection:
        connection.execute(
            update(effects).where(effects.c.monitor_id > after).values(status="done")
        )


if __name__ == "__main__":
    main()
