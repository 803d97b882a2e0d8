"""What it costs to see how many monitors stand: a page of metrics, and a tick with nothing due.

    python -m benchmarks scrape --monitors 1000 --rounds 100 [--store URL]

Writes the rows of monitors that have run for long, half of a round labeled, and 2 deliveries
waiting for each; then prints, for three tries, seconds for a page of metrics, and for finding out
that no monitor needs a look.
"""

import tempfile
import time
from datetime import UTC, datetime, timedelta

from benchmarks.many_rows import SETTINGS, fill, waiting_effects
from monitor.domain.settings import MonitorSettings
from monitor.labeling.files import FilesLabeler, FilesSettings
from monitor.rounds.context import MonitorContext
from monitor.service.change_detection import Idle
from monitor.service.web.metrics import Own, exposition
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.testing import MemorySource


def main(
    *, monitors: int = 1000, rounds: int = 100, labels: int = 200, store: str | None = None
) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(store or f"sqlite:///{folder}/monitor.db")
        schema.ready(database)
        now = datetime.now(UTC)
        fill(
            database,
            many=monitors,
            rounds_each=rounds,
            items_each=labels,
            newest=now - timedelta(days=1),
        )
        waiting_effects(database, sinks=("ops", "mlflow"), now=now)
        measure(database, folder, monitors, now)
        database.close()


def measure(database: Database, folder: str, many: int, now: datetime) -> None:
    """Print seconds for three tries."""
    names = [f"monitor-{number:04}" for number in range(1, many + 1)]
    own = Own(last_success=now, failing=dict.fromkeys(names, False))
    labeler = FilesLabeler(FilesSettings(), folder)
    labeler.make_folder()
    context = [_parts(database, labeler, name) for name in names]
    idle = Idle(database, lambda: now)
    looks = idle.needed(context)
    for look in looks:
        idle.record_check(look, well=True)
    print(f"{many} monitors, {len(looks)} of them new")
    print("page of metrics, s   of it CPU, s   lines   idle tick, s   looks needed")
    for _ in range(3):
        start, busy = time.perf_counter(), time.process_time()
        page = exposition(database, names, own, now)
        middle, worked = time.perf_counter(), time.process_time()
        needed = idle.needed(context)
        end = time.perf_counter()
        lines = len(page.splitlines())
        took, cpu, idling = middle - start, worked - busy, end - middle
        print(f"{took:18.3f} {cpu:14.3f} {lines:7} {idling:14.3f} {len(needed):14}")


def _parts(database: Database, labeler: FilesLabeler, name: str) -> MonitorContext:
    return MonitorContext(
        settings=MonitorSettings(name=name, round=SETTINGS),
        database=database,
        source=MemorySource([], threshold=0.5, show=[]),
        labeler=labeler,
        clock=lambda: datetime.now(UTC),
    )
