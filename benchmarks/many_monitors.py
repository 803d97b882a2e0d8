"""Many monitors on one machine: 10, 100 and 1,000 rounds due at once, and ticks with nothing due.

Every monitor scans a Parquet file, takes 300 labels from a column of it and has two limits; its
first round is drawn, labeled, closed and told to the log by the service's own loops. Medians of
the repeats:

CPU ms      processor time a round, of all replicas, without the database server
cores       how many threads could run at once, in the mean: those that wait neither for a lock nor
            for a disk
idle ms     processor time of a tick with nothing due
"""

import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import IO, NamedTuple, cast

import duckdb
import structlog
from sqlalchemy import func, select

from benchmarks.harness import store_on
from monitor import wiring
from monitor.config.load import load_config
from monitor.service.loop import TICK, MonitorWork
from monitor.storage import schema
from monitor.storage.tables import rounds

SLOT = datetime(2024, 1, 1, 6, tzinfo=UTC)
MONDAY = SLOT + timedelta(minutes=1)
PYTHONPATH = os.pathsep.join(
    [str(Path(wiring.__file__).parents[1]), str(Path(__file__).parents[1])]
)
MOST_TICKS = 5
HEADS = ("rounds/min", "CPU ms", "cores", "idle ms")
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
    select 'm' || i as id, timestamptz '{start}' + i * interval 2 minute as at,
        score, cast(random() < score as integer) as truth
    from (select i, pow(random(), 4) as score from range(5000) as t(i))
) to '{path}' (format parquet)
"""

Figures = dict[str, float]


class Case(NamedTuple):
    """What is measured: how many monitors and processes."""

    monitors: int
    replicas: int


def main(
    postgres: bool = False,
    monitors: tuple[int, ...] = (10, 100, 1000),
    replicas: tuple[int, ...] = (1,),
    repeats: int = 1,
) -> None:
    """Print a line for each case."""
    heads = ("monitors", "replicas", *HEADS)
    print("  ".join(f"{head:>11}" for head in heads))
    for case in map(Case._make, product(monitors, replicas)):
        found = [measure(case, on_postgres=postgres) for _ in range(repeats)]
        cells = [f"{number}" for number in case]
        for head in HEADS:
            middle = statistics.median(each[head] for each in found)
            cells.append(f"{middle:.{2 if head == 'cores' else 0}f}")
        print("  ".join(f"{cell:>11}" for cell in cells))


def measure(case: Case, *, on_postgres: bool) -> Figures:
    """Play all rounds on a store of their own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        store_on(on_postgres) as store,
        ExitStack() as all_,
    ):
        write_config(Path(folder), store, case.monitors)
        replicas = [all_.enter_context(Replica(Path(folder))) for _ in range(case.replicas)]
        begun = time.monotonic()
        played = _play(replicas, case.monitors)
        took = time.monotonic() - begun
        rest = replicas[0].does("rest")
    return {
        "rounds/min": 60 * case.monitors / took,
        "CPU ms": sum(each["CPU ms"] for each in played) / case.monitors,
        "cores": sum(each["able ms"] for each in played) / 1e3 / took,
        **rest,
    }


def _play(replicas: "list[Replica]", monitors: int) -> list[Figures]:
    """Let all tick at once until every round is closed; returns what each has spent."""
    for _ in range(MOST_TICKS):
        for replica in replicas:
            replica.asked("tick")
        played = [replica.told() for replica in replicas]
        closed = max(int(each["closed"]) for each in played)
        if closed == monitors:
            return played
    message = f"{closed} of {monitors} rounds are closed"
    raise SystemExit(message)


def write_config(folder: Path, store: str, monitors: int) -> None:
    """Write the config of so many monitors, and a week of predictions with their truth."""
    path = folder / "predictions.parquet"
    duckdb.sql("select setseed(0.5)")
    duckdb.sql(PREDICTIONS.format(path=path, start=(SLOT - timedelta(days=7)).isoformat()))
    each = [MONITOR.format(number=number) for number in range(monitors)]
    (folder / "config.yaml").write_text(HEAD.format(store=store) + "".join(each))


class Replica:
    """A service in a process of its own, which does what it is asked to and tells its figures."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(folder)],
            env=os.environ | {"PYTHONPATH": PYTHONPATH},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.told()

    def __enter__(self) -> "Replica":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # no more words: it ends

    def does(self, word: str) -> Figures:
        """Ask for something and wait until it is done."""
        self.asked(word)
        return self.told()

    def asked(self, word: str) -> None:
        """Ask for something."""
        print(word, file=self._process.stdin, flush=True)

    def told(self) -> Figures:
        """Wait for the figures of what was asked for."""
        figures: Figures = json.loads(cast("IO[str]", self._process.stdout).readline())
        return figures


def obey(service: "Service") -> None:
    """Do what is asked for on standard input, until that ends."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    words: dict[str, Callable[[], Figures]] = {"tick": service.tick, "rest": service.rest}
    print(json.dumps({}))  # it is ready
    for line in sys.stdin:
        print(json.dumps(words[line.strip()]()))
    service.end()


class Service:
    """The loops of a service, ticked by hand on a clock that stands still."""

    def __init__(self, folder: Path) -> None:
        self._now = MONDAY
        self._application = wiring.build(
            load_config(folder / "config.yaml"), clock=lambda: self._now
        )
        schema.ready(self._application.database)
        self._work = MonitorWork(self._application, None, TICK)
        self._begun, self._able = time.process_time(), _able_ms()

    def tick(self) -> Figures:
        """Tick once; returns how many rounds are closed then and what all ticks have spent."""
        self._tick()
        return {
            "closed": self._closed(),
            "CPU ms": 1e3 * (time.process_time() - self._begun),
            "able ms": _able_ms() - self._able,
        }

    def rest(self) -> Figures:
        """Tick with nothing due; returns the median of what that takes."""
        spent: list[float] = []
        for _ in range(7):  # the first two find what the big ones left
            self._now += TICK + timedelta(seconds=1)
            begun = time.process_time()
            self._tick()
            spent.append(1e3 * (time.process_time() - begun))
        return {"idle ms": statistics.median(spent[2:])}

    def end(self) -> None:
        """Stop and close the store."""
        self._work.stop()
        self._work.wait()
        self._application.database.close()

    def _tick(self) -> None:
        """Do what the service does at a tick, all but MLflow, and wait until it is over."""
        self._work.running.last_success = None
        self._work.rounds()
        while not self._is_quiet():
            time.sleep(0.002)
        self._work.notices()

    def _is_quiet(self) -> bool:
        return self._work.running.last_success is not None

    def _closed(self) -> int:
        with self._application.database.read() as connection:
            query = select(func.count()).where(rounds.c.state == "closed")
            return int(connection.execute(query).scalar_one())


def _able_ms() -> float:
    """How long the threads of this process ran, or could have run on a free core."""
    each = Path("/proc/self/task").glob("*/schedstat")
    return sum(sum(map(int, one.read_text().split()[:2])) for one in each) / 1e6


if __name__ == "__main__":
    obey(Service(Path(sys.argv[1])))
