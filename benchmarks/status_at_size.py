"""What it costs to ask for the status of many monitors with a long past, and to find nothing due.

Every monitor has weekly rounds, closed but for the newest, which waits for half of its labels in
files; one in 20 has an open alert. Each command is a process of its own.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks.copied_rounds import fill
from benchmarks.harness import usage
from benchmarks.many_monitors import HEAD
from monitor.config.load import load_config
from monitor.storage import schema
from monitor.storage.database import Database
from tests.servers import stoppable_postgres

COMMANDS = {
    "run-once, the first": ["run-once"],
    "run-once, nothing due": ["run-once"],
    "status": ["status"],
    "status --json": ["status", "--json"],
}
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


@dataclass(frozen=True)
class Store:
    """Where to keep rounds; ``used`` tells the processor time of its server so far."""

    url: str
    used: Callable[[], float]


FILE = Store("sqlite:///monitor.db", lambda: 0.0)


def main(postgres: bool = False, monitors: tuple[int, ...] = (20, 200), rounds: int = 200) -> None:
    """Measure and print a line for each number of monitors and command."""
    print("monitors  command                 CPU s  server CPU s  wall s  memory MB")
    for number in monitors:
        with tempfile.TemporaryDirectory() as folder, store_on(postgres) as store:
            config = write_config(Path(folder), store.url, number)
            fill_store(config, rounds)
            for name, words in COMMANDS.items():
                used = measured([*words, "--config", str(config)], store)
                print(
                    f"{number:>8}  {name:<22}  {used.cpu:>5.2f}  {used.server:>12.2f}  "
                    f"{used.wall:>6.2f}  {used.memory:>9.0f}"
                )


@contextmanager
def store_on(on_postgres: bool) -> Iterator[Store]:
    """Give a place for a store: a file beside the config, or a PostgreSQL of its own."""
    if not on_postgres:
        yield FILE
        return
    with stoppable_postgres() as server:
        pid = (server.folder / "data" / "postmaster.pid").read_text().split()[0]
        yield Store(server.url, lambda: _used_by_children(pid))


def _used_by_children(pid: str) -> float:
    """Processor time of a process's children that have ended: connections of the server."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


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


def fill_store(path: Path, rounds: int) -> None:
    """Give every monitor of a config so many rounds."""
    config = load_config(path)
    database = Database(config.store_url)
    schema.ready(database)
    every = [config.settings_of(monitor) for monitor in config.monitors]
    fill(database, every, rounds, datetime.now(UTC))
    with database.engine.connect() as connection:  # as autovacuum would by and by
        connection.exec_driver_sql("analyze")
        connection.commit()
    database.close()


class Used(NamedTuple):
    """Seconds of a command, of the store's server for it, and by the clock; most memory in MB."""

    cpu: float
    server: float
    wall: float
    memory: float


def measured(words: list[str], store: Store = FILE) -> Used:
    """Run a command as a process of its own."""
    before, begun = store.used(), time.monotonic()
    used = usage(["-c", "from monitor.__main__ import main; main()", *words])
    took = time.monotonic() - begun
    time.sleep(0.5)  # the server notices that its client is gone
    cpu = used.ru_utime + used.ru_stime
    return Used(cpu, store.used() - before, took, used.ru_maxrss / 1024)
