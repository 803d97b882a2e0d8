"""Rounds a minute of 1, 2 and 5 replicas of `pr-monitor serve` on one PostgreSQL store.

The first round of every monitor is due. Wall time runs from the first round that is opened until
all are closed; then the store is asked whether any round was done twice. `looks` are claims for
each round: 1 is one worker once.
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import func, select

from benchmarks.many_monitors import write_config
from monitor.storage import schema
from monitor.storage.database import Database
from monitor.storage.tables import effects, estimates, monitors, round_events, rounds
from tests.servers import postgres

LONGEST_S = 300

Figures = dict[str, float]


def main(monitors: int = 60, replicas: tuple[int, ...] = (1, 2, 5), repeats: int = 1) -> None:
    """Print a line for each number of replicas."""
    found: dict[int, list[Figures]] = {number: [] for number in replicas}
    for _ in range(repeats):
        for number in replicas:
            found[number].append(measure(monitors, number))
    medians = {
        number: {head: statistics.median(one[head] for one in each) for head in each[0]}
        for number, each in found.items()
    }
    first = medians[replicas[0]]["rounds/min"]
    print(f"{os.cpu_count()} cores, {monitors} monitors")
    print("replicas  rounds/min  ratio  CPU ms  looks  twice")
    for number, one in medians.items():
        print(
            f"{number:>8}  {one['rounds/min']:>10.0f}  {one['rounds/min'] / first:>5.2f}  "
            f"{one['CPU ms']:>6.0f}  {one['looks']:>5.2f}  {one['twice']:>5.0f}"
        )


def measure(monitors_: int, replicas: int) -> Figures:
    """Let so many replicas close a round of each monitor."""
    with tempfile.TemporaryDirectory() as folder, postgres() as url:
        slot = (datetime.now(UTC) - timedelta(hours=2)).replace(second=0, microsecond=0)
        config = write_config(Path(folder), url, monitors_, slot, ", second_wave: null")
        database = Database(url)
        schema.ready(database)
        before = os.times()
        with _serving(config, replicas):
            took = _until_closed(database, monitors_)
        after = os.times()
        figures = {
            "rounds/min": 60 * monitors_ / took,
            "CPU ms": 1e3 * (after[2] + after[3] - before[2] - before[3]) / monitors_,
            **done(database, monitors_),
        }
        database.close()
    return figures


@contextmanager
def _serving(config: Path, replicas: int) -> Iterator[None]:
    """Run so many services, and end them as an operator does."""
    code = "from monitor.__main__ import main; main()"
    command = [sys.executable, "-c", code, "serve", "--config", str(config)]
    with (config.parent / "log").open("w") as log:
        children = [subprocess.Popen(command, stdout=log, stderr=log) for _ in range(replicas)]
    try:
        yield
    finally:
        for child in children:
            child.send_signal(signal.SIGTERM)
        for child in children:
            child.wait()


def _until_closed(database: Database, wanted: int) -> float:
    """Wait until all rounds are closed; returns the seconds since the first was opened."""
    give_up = time.monotonic() + LONGEST_S
    begun: float | None = None
    while time.monotonic() < give_up:
        time.sleep(0.05)
        now = time.monotonic()
        with database.read() as connection:
            states = list(connection.execute(select(rounds.c.state)).scalars())
        if begun is None and states:
            begun = now
        if begun is not None and states.count("closed") == wanted:
            return now - begun
    message = f"{states.count('closed')} of {wanted} rounds are closed after {LONGEST_S} s"
    raise SystemExit(message)


def done(database: Database, wanted: int) -> Figures:
    """Count what the store has of the rounds; any that was done twice shows here."""
    with database.read() as connection:
        looks = connection.execute(select(func.sum(rounds.c.attempt))).scalar_one()
        made = connection.execute(select(func.count()).select_from(rounds)).scalar_one()
        known = connection.execute(select(func.count()).select_from(monitors)).scalar_one()
        moves = select(round_events.c.round_id, round_events.c.after, func.count())
        again = moves.where(round_events.c.before.is_distinct_from(round_events.c.after))
        again = again.group_by(round_events.c.round_id, round_events.c.after)
        twice = {row.round_id for row in connection.execute(again.having(func.count() > 1))}
        later = select(estimates.c.round_id).where(estimates.c.version > 1).distinct()
        twice |= set(connection.execute(later).scalars())
        keys = select(effects.c.round_id).group_by(
            effects.c.round_id, effects.c.kind, effects.c.sink, effects.c.report_version
        )
        twice |= set(connection.execute(keys.having(func.count() > 1)).scalars())
    if (made, known) != (wanted, wanted):
        message = f"{made} rounds of {known} monitors, {wanted} were due"
        raise SystemExit(message)
    return {"looks": float(looks) / wanted, "twice": float(len(twice))}
