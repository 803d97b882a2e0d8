"""`serve` as a process, stopped for one slot or for many and started again: it goes on by itself.

A service of the first life lives some minutes behind, and the one after it now. Nothing may be
logged as a bug or as an error, and no thread may be the first to import a package of all threads.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import duckdb
import pytest

from monitor.storage import schema
from monitor.storage.database import Database
from tests.cli.workplace import NOWHERE
from tests.small_config import rows
from tests.workers import worker

if TYPE_CHECKING:
    from pathlib import Path

SERVE = """
import threading
from datetime import UTC, datetime, timedelta

SHARED = {"monitor", "numpy", "scipy", "duckdb", "mlflow"}


class FirstImports:
    def find_spec(self, name, *_):
        if threading.current_thread() is not threading.main_thread():
            if name.partition(".")[0] in SHARED:
                print("first imported by a thread:", name, file=sys.stderr, flush=True)


sys.meta_path.insert(0, FirstImports())
behind = timedelta(minutes=int(sys.argv[1]))

from monitor import wiring
from monitor.cli import main
from monitor.service import loop

wiring.build.__kwdefaults__["clock"] = lambda: datetime.now(UTC) - behind
loop.serve.__kwdefaults__["tick"] = timedelta(seconds=0.5)
sys.argv = ["pr-monitor", "serve"]
main()
"""
CONFIG = """\
store: {store}
mlflow: {{tracking_uri: "{mlflow}"}}
monitors:
"""
MONITOR = """\
  - name: m{number}
    source: {{path: p.parquet, columns: {{id: id, time: at, score: score}}, threshold: 0.5}}
    schedule: {{cron: "* * * * *"}}
    sample: {{max_labels: 12, bands: {{flagged: 1, passed: 1}}}}
    labeling: {labeling}
    limits: {{precision: 0.2}}
    reference: {{tp: 48, fp: 5, fn: 8, tn: 99}}
"""
BLOCK = """\
  - name: cls-{class}
    classes: {column: topic, values: [a, b]}
    source: {path: p.parquet, columns: {id: id, time: at}}
    schedule: {cron: "* * * * *"}
    sample: {max_labels: 12}
    labeling: {kind: page, question: "which", answer: class, deadline: 1h}
"""
FILES = "{kind: files, folder: labels, deadline: 1h}"
COLUMN = "{kind: column, path: truth.parquet, id: id, value: truth, matures: 1s}"
ROWS = """
copy (
    select 'i' || n as id, timestamptz '{start}' + n * interval 1 second as at,
           hash(n) % 1000 / 1000 as score, ['a', 'b'][1 + n % 2] as topic, n % 2 as truth
    from range(7200) t(n)
) to '{folder}/{name}.parquet'
"""
WRONG = ("bug", "Traceback", "level=error", "Error", "first imported by a thread", "partially")
IN_LIFE = 180  # seconds, at most


@dataclass(frozen=True)
class Case:
    """A pause and what surrounds it."""

    slots: int = 5
    monitors: int = 8
    cold: bool = False
    store: str = "sqlite"

    def __str__(self):
        cache = "cold" if self.cold else "warm"
        return f"{self.monitors} monitors, {self.slots} slots, {cache}, {self.store}"

    @property
    def names(self):
        block = ("cls-a", "cls-b") if self.monitors > 1 else ()
        return [*block, *(f"m{number}" for number in range(self.monitors - len(block)))]

    def configure(self, folder, store):
        text = CONFIG.format(store=store, mlflow=NOWHERE)
        text += BLOCK if self.monitors > 1 else ""
        for number, _ in enumerate(name for name in self.names if name.startswith("m")):
            text += MONITOR.format(number=number, labeling=(FILES, COLUMN)[number % 2])
        (folder / "config.yaml").write_text(text)
        start = datetime.now(UTC) - timedelta(hours=1)
        with duckdb.connect() as connection:
            connection.execute("set timezone = 'UTC'")
            for name in ("p", "truth"):
                connection.execute(ROWS.format(start=start, folder=folder, name=name))


@dataclass
class Lives:
    """The services of a case, one after the other."""

    case: Case
    folder: Path
    database: Database

    def live(self, behind, rounds):
        """Serve until every monitor has so many rounds, all of them drawn; returns the log.

        And at least one more than before, since a service that has just begun may not stop well.
        """
        rounds = max(rounds, 1 + min(self.counts().values(), default=0))
        with worker(SERVE, behind, cwd=self.folder) as service:
            log: list[str] = []
            reading = threading.Thread(target=lambda: log.extend(service.errors), daemon=True)
            reading.start()
            deadline = time.monotonic() + IN_LIFE
            while not self.is_drawn(rounds):
                assert service.process.poll() is None, log
                assert time.monotonic() < deadline, log
                time.sleep(0.1)
            service.process.send_signal(signal.SIGTERM)
            code = service.process.wait(120)
            reading.join(10)
        assert code == 0, log
        return [line for line in log if any(word in line for word in WRONG)]

    def counts(self):
        """Rounds of each monitor, 0 where one of them is not drawn."""
        query = (
            "select m.name, count(*), sum(case when r.state = 'open' then 1 else 0 end)"
            " from rounds r join monitors m on m.id = r.monitor_id group by m.name"
        )
        found = rows(self.database, query)
        return {name: 0 if undrawn else count for name, count, undrawn in found}

    def is_drawn(self, rounds):
        counts = self.counts()
        return sorted(counts) == sorted(self.case.names) and min(counts.values()) >= rounds

    def slots(self, name):
        query = (
            "select slot from rounds r join monitors m on m.id = r.monitor_id"
            f" where m.name = '{name}' order by slot"
        )
        slots = [slot for (slot,) in rows(self.database, query)]
        return [datetime.fromisoformat(slot) if isinstance(slot, str) else slot for slot in slots]


def goes_on(case, folder, request, monkeypatch):
    """Let a service live, be away for some slots and live again; returns what is wrong."""
    if case.cold:
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(folder / "cache"))
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    store = f"sqlite:///{folder}/monitor.db"
    if case.store == "postgresql":
        store = request.getfixturevalue("postgres_url")
    case.configure(folder, store)
    with closing(Database(store)) as database:
        schema.ready(database)
        lives = Lives(case, folder, database)
        wrong = lives.live(case.slots, 1)
        wrong += lives.live(0, case.slots + 1)
        minute = timedelta(minutes=1)
        for name in case.names:
            slots = lives.slots(name)
            wrong += [f"{name}: {a} then {b}" for a, b in pairwise(slots) if b - a != minute]
        missed = "select count(*) from rounds where state = 'skipped'"
        assert rows(database, missed)[0][0] >= case.monitors * (case.slots - 1)
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        Case(),
        Case(monitors=60, slots=1, cold=True),
        pytest.param(Case(monitors=1, store="postgresql"), marks=pytest.mark.postgresql),
    ],
    ids=str,
)
def test_a_service_that_was_away_for_some_slots_goes_on(case, tmp_path, request, monkeypatch):
    assert goes_on(case, tmp_path, request, monkeypatch) == []
