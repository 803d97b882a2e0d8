"""Many monitors over one table: one reading of it for all of them, against one for each.

    python -m benchmarks.shared_scans [--monitors 30] [--rows 1e6]

A Parquet file with a score column for each monitor, a tenth of each flagged; every monitor counts
7 strata a class and draws 200 items of each by the seed of the block. Prints, both ways in one run:
readings of the file, wall and processor seconds, and their ratios; whether both ways found the
same; and about how many different items the tasks are that the monitors hand out by plans of 200.
Takes a minute.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from monitor.domain.model import BandEdges, Window
from monitor.sources.duckdb import DuckdbSettings, DuckdbSource

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from monitor.domain.model import Frame
    from monitor.files.relations import OpenTable

START = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(days=7))
EDGES = BandEdges(flagged=(0.55, 0.6, 0.65, 0.7, 0.8, 0.9), passed=(0.05, 0.1, 0.15, 0.2, 0.3, 0.4))
AT_MOST = 200
FLAGGED, PASSED = 8, 20  # items of each stratum that a plan of 200 takes, about
SEED = "one seed"


class Counted(DuckdbSource):
    """A source that counts how often its file is opened."""

    readings = 0

    def opened(self, window: Window | None = None) -> AbstractContextManager[OpenTable]:
        """Open the file, and count that."""
        Counted.readings += 1
        return super().opened(window)


def main() -> None:
    """Print a line for each way, and what their samples share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--monitors", type=int, default=30)
    parser.add_argument("--rows", type=float, default=1e6)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder), asked.monitors, int(asked.rows))
        print(f"{asked.monitors} monitors, {int(asked.rows):,} rows", flush=True)
        alone, alone_took = measured("each by itself", sources(folder, asked.monitors), share=False)
        shared, shared_took = measured("together", sources(folder, asked.monitors), share=True)
    wall, cpu = (one / other for one, other in zip(alone_took, shared_took, strict=True))
    print(f"ratio: wall {wall:.1f}, CPU {cpu:.1f}")
    print(f"same frames: {'yes' if alone == shared else 'NO'}")
    tasks, items = sampled(shared)
    print(f"tasks: {tasks:,} for {items:,} different items, {tasks / items:.2f} each")


def write_table(folder: Path, monitors: int, rows: int) -> None:
    """Write the table; scores are made from hashes, so that each run has the same."""
    step = timedelta(days=7) / rows
    share = "hash(i, {place}) / 18446744073709551616.0"
    scores = ", ".join(
        f"case when {share} < 0.1 then 0.5 + {share} * 5 else ({share} - 0.1) / 1.8 end "
        f"as score_{place}".format(place=place)
        for place in range(monitors)
    )
    query = (
        f"select 'mail-' || i as id, timestamptz '{START.isoformat()}' "
        f"+ interval (i * {step.total_seconds() * 1e6:.0f}) microsecond as scored_at, {scores} "
        f"from range({rows}) t(i)"
    )
    with duckdb.connect() as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(f"copy ({query}) to '{folder / 'p.parquet'}'")


def sources(folder: str, monitors: int) -> list[DuckdbSource]:
    """Make the source of each monitor."""
    return [
        Counted(
            DuckdbSettings.model_validate(
                {
                    "path": "p.parquet",
                    "columns": {"id": "id", "time": "scored_at", "score": f"score_{place}"},
                    "threshold": 0.5,
                }
            ),
            folder,
        )
        for place in range(monitors)
    ]


def measured(
    name: str, monitors: Sequence[DuckdbSource], *, share: bool
) -> tuple[list[Frame], tuple[float, float]]:
    """Scan for each monitor; returns the frames, and the wall and processor seconds."""
    Counted.readings = 0
    wall, cpu = time.perf_counter(), time.process_time()
    if share:
        monitors[0].read_for(monitors, WINDOW, SEED)
    frames = []
    for source in monitors:
        frames.append(source.scan(WINDOW, EDGES.strata(), AT_MOST, SEED))
        source.release()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name:15} readings {Counted.readings:3}  wall {wall:6.2f} s  CPU {cpu:6.2f} s")
    return frames, (wall, cpu)


def sampled(frames: Sequence[Frame]) -> tuple[int, int]:
    """Count the tasks of all monitors, and the items that these are about."""
    drawn = [
        candidate.id
        for frame in frames
        for part in frame.strata
        for candidate in part.candidates[: FLAGGED if part.stratum.flagged else PASSED]
    ]
    return len(drawn), len(set(drawn))


if __name__ == "__main__":
    main()
