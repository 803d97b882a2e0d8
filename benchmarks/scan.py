"""What one scan costs: CPU against a bare scan of the same columns, and peak memory.

``python benchmarks/scan.py [--rows 2000000] [--candidates 2000]``
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from monitor.domain.model import BandEdges, Window
from monitor.sources.duckdb import DuckdbSettings, DuckdbSource

WINDOW = Window(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
STRATA = BandEdges(flagged=(0.7, 0.9), passed=(0.1, 0.2, 0.3, 0.4)).strata()


def write(path: Path, rows: int) -> None:
    """Write predictions, 5 % of them flagged."""
    select = f"""
        select
            'item-' || i as id,
            timestamptz '2026-01-01' + interval (i * 1) second as time,
            case when hash(i) % 20 = 0 then 0.5 else 0 end + (hash(i + 1) % 1000000) / 2e6 as score
        from range({rows}) t(i)
    """
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute(f"copy ({select}) to $1 (format parquet)", [str(path)])


def bare(path: Path) -> None:
    """Read the three columns and nothing more."""
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute(
            "select max(length(id)), epoch_us(max(time)), sum(score) from read_parquet($1)",
            [str(path)],
        ).fetchall()


def scan(path: Path, candidates: int) -> None:
    """Scan as a round does."""
    settings = DuckdbSettings.model_validate(
        {
            "path": path.name,
            "columns": {"id": "id", "time": "time", "score": "score"},
            "threshold": 0.5,
        }
    )
    frame = DuckdbSource(settings, path.parent).scan(WINDOW, STRATA, candidates, "seed")
    if frame.size != frame.rows:
        message = f"{frame.rows - frame.size} of {frame.rows} rows are in no stratum"
        raise SystemExit(message)


def best_cpu(work: str, path: Path, candidates: int, repeats: int) -> tuple[float, float]:
    """Return the least CPU seconds of some repeats, and the peak memory of this process in MB."""
    least = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        if work == "bare":
            bare(path)
        else:
            scan(path, candidates)
        least = min(least, time.process_time() - start)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return least, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main() -> None:
    """Print the figures of one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--candidates", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    fresh = multiprocessing.get_context("spawn")  # so that each peak is one piece of work's own
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.parquet"
        with fresh.Pool(1, maxtasksperchild=1) as pool:
            pool.apply(write, (path, chosen.rows))
            arguments = (path, chosen.candidates, chosen.repeats)
            bare_cpu, bare_peak = pool.apply(best_cpu, ("bare", *arguments))
            scan_cpu, scan_peak = pool.apply(best_cpu, ("scan", *arguments))
    print(f"rows                {chosen.rows:>12,}")
    print(f"strata x candidates {len(STRATA)} x {chosen.candidates}")
    print(f"bare scan           {bare_cpu:.2f} CPU s, peak {bare_peak:.0f} MB")
    print(f"scan                {scan_cpu:.2f} CPU s, peak {scan_peak:.0f} MB")
    print(f"CPU ratio           {scan_cpu / bare_cpu:.1f}")


if __name__ == "__main__":
    main()
