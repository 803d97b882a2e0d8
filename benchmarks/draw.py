"""What drawing a round's items costs: CPU, wall time and memory beside a bare scan of its columns.

``bare`` reads id, time and score; ``md5`` takes md5 of every id besides; ``later`` is the scan of a
round whose bands are known, ``later + show`` all its reads; ``first`` all reads of a first round;
each work but Spark's is a process of its own; 0 threads are as many as the engine takes.
"""

import multiprocessing
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any, Literal

from benchmarks import draw_engines
from benchmarks.draw_engines import DELTA, WORKS, Cost
from monitor.domain.model import BandEdges, Window
from tests.servers import postgres

FRESH = multiprocessing.get_context("spawn")  # so that each peak is of one work alone
WINDOW = Window(datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))

Costs = dict[str, list[Cost]]


def bands(strata: int) -> BandEdges:
    """Cut each class evenly: 3 of 8 strata hold flagged items, and a third of more."""
    flagged = 3 * strata // 8
    passed = strata - flagged
    return BandEdges(
        flagged=tuple(0.5 + place / flagged / 2 for place in range(1, flagged)),
        passed=tuple(place / passed / 2 for place in range(1, passed)),
    )


def _turns(pool: Pool, run: Callable[..., Cost], works: Sequence[str], *arguments: Any) -> Costs:
    """Run works in turn, each in a process of its own."""
    costs: Costs = {work: [] for work in works}
    for work in works:
        costs[work].append(pool.apply(run, (work, *arguments)))
    return costs


def show(costs: Costs, name: str = "") -> None:
    """Print medians of each work, and CPU as a multiple of the bare scan's of the same turn.

    ``name`` is that of one more figure of the engine, of which the most is printed.
    """
    head = f"{'':<14}{'CPU':>8}   {'wall':>8}   {'x bare':>6} {'peak':>7}"
    print(f"{head}    {name:>7}" if name else head)
    for work, runs in costs.items():
        ratio = statistics.median(
            run.cpu / one.cpu for run, one in zip(runs, costs["bare"], strict=True)
        )
        cpu, wall = (statistics.median(getattr(run, of) for run in runs) for of in ("cpu", "wall"))
        peak = max(run.peak for run in runs)
        more = f" {max(run.more for run in runs):7.0f} MB" if name else ""
        print(f"{work:<14}{cpu:8.2f} s {wall:8.2f} s {ratio:6.1f} {peak:7.0f} MB{more}")


def main(
    rows: tuple[float, ...] = (10e6,),
    strata: int = 8,
    candidates: int = 1000,
    threads: tuple[int, ...] = (1, 0),
    repeats: int = 3,
    works: tuple[str, ...] = (),
    engine: Literal["duckdb", "delta", "postgres", "spark"] = "duckdb",
) -> None:
    """Print the figures of one run."""
    edges = bands(strata)
    chosen = works or WORKS
    with postgres() if engine == "postgres" else nullcontext("") as url:
        for number in map(int, rows):
            what, how = f"{number:,} rows, {strata} strata x {candidates}", (edges, candidates)
            with tempfile.TemporaryDirectory() as name, FRESH.Pool(1, maxtasksperchild=1) as pool:
                path = Path(name) / f"predictions{DELTA if engine == 'delta' else '.parquet'}"
                if engine == "postgres":
                    draw_engines.fill(url, number)
                    print(f"PostgreSQL, {what}")
                    run, where = draw_engines.in_postgres, (url, WINDOW, *how)
                    show(_turns(pool, run, [*chosen] * repeats, *where), "files")
                    continue
                pool.apply(draw_engines.write, (path, number))
                if engine == "spark":
                    turns = {"works": chosen, "repeats": repeats}
                    asked = (path, threads[-1], WINDOW, *how)
                    print(f"Spark, {what}")
                    show(pool.apply(draw_engines.in_spark, asked, turns), "Spark")
                    continue
                for each in threads:
                    print(f"{what}, threads {each or 'as many as DuckDB takes'}")
                    one = (path, each, WINDOW, *how)
                    show(_turns(pool, draw_engines.in_duckdb, [*chosen] * repeats, *one))
