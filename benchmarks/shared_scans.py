"""Many monitors over one Parquet file: one reading of it for all of them, against one for each.

Readings, wall and processor seconds, both ways in one run, and about how many different items the
tasks of plans of 200 are.
"""

import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from monitor.domain.model import BandEdges, Frame, Window
from monitor.domain.ports import PlannedScan
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import DuckdbSettings

START = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(days=7))
EDGES = BandEdges(flagged=(0.55, 0.6, 0.65, 0.7, 0.8, 0.9), passed=(0.05, 0.1, 0.15, 0.2, 0.3, 0.4))
AT_MOST = 200
FLAGGED, PASSED = 8, 20  # items of each stratum that a plan of 200 takes, about
SEED = "one seed"
STEP = "case when {share} < 0.1 then 0.5 + {share} * 5 else ({share} - 0.1) / 1.8 end"
"""A score of a number that is as likely to be anywhere between 0 and 1."""


class Counted(DuckdbSource):
    """A source that counts how often the file is read."""

    readings = 0

    def opened(self, window: Window | None = None) -> Any:
        """Count a reading."""
        Counted.readings += 1
        return super().opened(window)


def main(monitors: int = 30, rows: float = 1e6) -> None:
    """Print a line for each way, and what their samples share."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder, monitors, int(rows))
        print(f"{monitors} monitors, {int(rows):,} rows")
        alone, alone_took = measured("each by itself", folder, monitors, share=False)
        shared, shared_took = measured("together", folder, monitors, share=True)
    wall, cpu = (one / other for one, other in zip(alone_took, shared_took, strict=True))
    print(f"ratio: wall {wall:.1f}, CPU {cpu:.1f}")
    print(f"same frames: {'yes' if alone == shared else 'NO'}")
    tasks, items = sampled(shared)
    print(f"tasks: {tasks:,} for {items:,} different items, {tasks / items:.2f} each")


def write_table(folder: Path, monitors: int, rows: int) -> None:
    """Write the file; scores are made from hashes, so that each run has the same."""
    step = timedelta(days=7) / rows
    shares = (f"hash(i, {place}) / 18446744073709551616.0" for place in range(monitors))
    scores = ", ".join(
        f"{STEP.format(share=share)} as score_{place}" for place, share in enumerate(shares)
    )
    query = (
        f"select 'mail-' || i as id, timestamptz '{START.isoformat()}' "
        f"+ interval (i * {step.total_seconds() * 1e6:.0f}) microsecond as scored_at, {scores} "
        f"from range({rows}) t(i)"
    )
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(f"copy ({query}) to '{folder / 'p.parquet'}'")


def measured(
    name: str, folder: Path, monitors: int, *, share: bool
) -> tuple[list[Frame], tuple[float, float]]:
    """Scan for each monitor; returns the frames, and the wall and processor seconds."""
    columns = {"id": "id", "time": "scored_at"}
    given = {"path": "p.parquet", "threshold": 0.5}
    sources = [
        Counted(
            DuckdbSettings.model_validate({**given, "columns": columns | {"score": f"score_{i}"}}),
            folder,
        )
        for i in range(monitors)
    ]
    Counted.readings = 0
    wall, cpu = time.perf_counter(), time.process_time()
    frames = scanned(sources, share=share)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name:15} readings {Counted.readings:3}  wall {wall:6.2f} s  CPU {cpu:6.2f} s")
    return frames, (wall, cpu)


def scanned(sources: Sequence[Any], *, share: bool) -> list[Frame]:
    """Scan by each source, after a reading for all of them or without."""
    if share:
        scans = [PlannedScan(source, EDGES.strata(), AT_MOST) for source in sources]
        sources[0].read_for(scans, WINDOW, SEED)
    frames = []
    for source in sources:
        frames.append(source.scan(WINDOW, EDGES.strata(), AT_MOST, SEED))
        source.release()
    return frames


def sampled(frames: Sequence[Frame]) -> tuple[int, int]:
    """Count the tasks of all monitors, and the items that these are about."""
    drawn = [
        candidate.id
        for frame in frames
        for part in frame.strata
        for candidate in part.candidates[: FLAGGED if part.stratum.flagged else PASSED]
    ]
    return len(drawn), len(set(drawn))
