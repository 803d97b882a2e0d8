"""What drawing a round's items costs: CPU, wall time and memory beside a bare scan of its columns.

``bare`` reads id, time and score; ``md5`` takes md5 of every id besides, ``hash`` DuckDB's own;
``before`` sorts every row; ``later`` is the scan of a round whose bands are known, ``later + show``
all its reads; ``first`` all reads of a first round; ``pandas`` and ``polars`` what a user would
write. Each work is a process of its own; 0 threads are as many as DuckDB takes.
"""

import importlib.util
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import deltalake
import duckdb

from benchmarks import draw_engines
from benchmarks.harness import peak_mb
from monitor.domain.model import BandEdges, Frame, Stratum, Window
from monitor.plugins.lake.settings import LakeSettings
from monitor.plugins.lake.source import LakeSource
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.duckdb_settings import DuckdbSettings
from tests.servers import postgres

FRESH = multiprocessing.get_context("spawn")  # so that each peak is of one work alone
WINDOW = Window(datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))
SEED = "5eed" * 8
_DELTA = ".delta"
_OF_A_BATCH = 100_000
_SHARE_PANDAS = 10_000_000  # rows: pandas and Polars hold more of them in too much memory


def bands(strata: int) -> BandEdges:
    """Cut each class evenly: 3 of 8 strata hold flagged items, and a third of more."""
    flagged = 3 * strata // 8
    passed = strata - flagged
    return BandEdges(
        flagged=tuple(0.5 + place / flagged / 2 for place in range(1, flagged)),
        passed=tuple(place / passed / 2 for place in range(1, passed)),
    )


def write(path: Path, rows: int) -> None:
    """Write predictions, 5 % of them flagged, with a text that labelers see."""
    select = f"""
        select
            'item-' || i as id,
            timestamptz '2026-01-01' + interval (i) second as time,
            case when hash(i) % 20 = 0 then 0.5 else 0 end + (hash(i + 1) % 1000000) / 2e6 as score,
            'message ' || (i % 1000) as text
        from range({rows}) t(i)
    """
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        if path.suffix == _DELTA:
            stream: Any = connection.sql(select).to_arrow_reader(_OF_A_BATCH)
            deltalake.write_deltalake(path, stream)
        else:
            connection.execute(f"copy ({select}) to $1 (format parquet)", [str(path)])


def bare(path: Path, column: str = "length(id)") -> None:
    """Read the three columns and nothing more."""
    select = f"select max({column}), epoch_us(max(time)), sum(score) from"
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        if path.suffix == _DELTA:
            stream = deltalake.DeltaTable(path).scan(columns=["id", "time", "score"])
            connection.register("predictions", stream)
            connection.execute(f"{select} predictions").fetchall()
        else:
            connection.execute(f"{select} read_parquet($1)", [str(path)]).fetchall()


def sorted_whole(path: Path, strata: Sequence[Stratum], candidates: int) -> list[Any]:
    """Count and draw with the query that was there before bounds: every row is sorted by md5."""
    cases = " ".join(_case(place, each) for place, each in enumerate(strata))
    sql = f"""
        with source_rows as (
            select
                nullif(replace(cast(id as varchar), chr(0), '\\x00'), '') as id,
                cast(time as timestamptz) as t,
                try_cast(score as double) as score,
                try_cast(score as double) >= 0.5 as flagged,
                nullif(replace(cast(null as varchar), chr(0), '\\x00'), '') as version
            from read_parquet($path, union_by_name = true)
            where time >= $start and time < $end or time is null
        ),
        classed as (
            select *, case
                when t is null then -4 when not (t >= $start and t < $end) then -1
                when id is null then -5 when score is null then -8 when isnan(score) then -9
                when isinf(score) then -10 when flagged is null then -7 {cases}
                else -12
            end as bucket
            from source_rows
        )
        select bucket, version, count(*), epoch_us(max(t) filter (where t >= $start and t < $end)),
            min({{'h': md5($seed || '|' || id), 'id': id, 'score': score}}, {candidates})
                filter (where bucket >= 0)
        from classed group by bucket, version order by bucket
    """
    values = {"path": str(path), "start": WINDOW.start, "end": WINDOW.end, "seed": SEED}
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(sql, values).fetchall()


def _case(place: int, stratum: Stratum) -> str:
    conditions = ["flagged" if stratum.flagged else "not flagged", "score is not null"]
    conditions += [] if stratum.low is None else [f"score >= {stratum.low}"]
    conditions += [] if stratum.high is None else [f"score < {stratum.high}"]
    return f"when {' and '.join(conditions)} then {place}"


def later(path: Path, edges: BandEdges, candidates: int, *, shown: int = 0) -> Frame:
    """Scan as a round does whose bands are known, and fetch what people see of some items."""
    source = _source(path)
    frame = source.scan(WINDOW, edges.strata(), candidates, SEED)
    _show(source, frame, shown)
    return frame


def first(path: Path, edges: BandEdges, candidates: int, *, shown: int = 0) -> Frame:
    """Scan as the first round of a history does: by class, and by the bands that come of it."""
    source = _source(path)
    before = source.scan(WINDOW, BandEdges().strata(), _of_a_class(edges, candidates), SEED)
    frame = source.rescan(before, edges.strata(), candidates, SEED)
    _show(source, frame, shown)
    return frame


def _of_a_class(edges: BandEdges, candidates: int) -> int:
    # As monitor.rounds.sampling.window_scan has it, which loads much that is no part of a draw.
    parts = 1 + max(len(edges.flagged), len(edges.passed))
    return max(candidates, 10_000, min(2 * parts * candidates, 80_000))


def _source(path: Path) -> DuckdbSource | LakeSource:
    columns = {"id": "id", "time": "time", "score": "score", "show": ["text"]}
    given = {"columns": columns, "threshold": 0.5}
    if path.suffix == _DELTA:
        lake = LakeSettings.model_validate({"delta": path.name, **given})
        return LakeSource(lake, path.parent)
    settings = DuckdbSettings.model_validate({"path": path.name, **given})
    return DuckdbSource(settings, path.parent)


def _show(source: DuckdbSource | LakeSource, frame: Frame, shown: int) -> None:
    each = -(-shown // len(frame.strata))
    ids = [candidate.id for part in frame.strata for candidate in part.candidates[:each]]
    source.show(ids[:shown], WINDOW)


def _check_size(drawn: int, candidates: int, strata: int) -> None:
    if not 0 < drawn <= candidates * strata:
        message = f"{drawn} items drawn of {strata} strata"
        raise SystemExit(message)


def by_pandas(path: Path, edges: BandEdges, candidates: int) -> None:
    """Draw as a user of pandas would."""
    import pandas as pd  # noqa: PLC0415

    rows = pd.read_parquet(path, columns=["id", "time", "score"])
    rows = rows[(rows["time"] >= WINDOW.start) & (rows["time"] < WINDOW.end)]
    stratum = pd.cut(rows["score"], [-1, *edges.passed, 0.5, *edges.flagged, 2], right=False)
    sizes = stratum.value_counts()
    drawn = rows.sample(frac=1, random_state=7).groupby(stratum, observed=True).head(candidates)
    _check_size(len(drawn), candidates, len(sizes))


def by_polars(path: Path, edges: BandEdges, candidates: int) -> None:
    """Draw as a user of Polars would."""
    import polars as pl  # noqa: PLC0415

    rows = (
        pl.scan_parquet(path)
        .select("id", "time", "score")
        .filter((pl.col("time") >= WINDOW.start) & (pl.col("time") < WINDOW.end))
        .with_columns(
            pl.col("score").cut([*edges.passed, 0.5, *edges.flagged], left_closed=True).alias("s")
        )
        .collect()
    )
    sizes = rows.group_by("s").len()
    order = pl.int_range(pl.len()).shuffle(seed=7).over("s")
    drawn = rows.filter(order < candidates)
    _check_size(len(drawn), candidates, len(sizes))


@dataclass(frozen=True)
class Cost:
    """What one run of a work took."""

    cpu: float
    wall: float
    peak: float


def measured(work: str, path: Path, edges: BandEdges, candidates: int, threads: int) -> Cost:
    """Run a work once in this process."""
    _limit(threads)
    works: dict[str, Callable[[], object]] = {
        "bare": lambda: bare(path),
        "md5": lambda: bare(path, f"md5('{SEED}|' || id)"),
        "hash": lambda: bare(path, "hash(xor(hash(id), 20261122::ubigint))"),
        "before": lambda: sorted_whole(path, edges.strata(), candidates),
        "later": lambda: later(path, edges, candidates),
        "later + show": lambda: later(path, edges, candidates, shown=candidates),
        "first": lambda: first(path, edges, candidates, shown=candidates),
        "pandas": lambda: by_pandas(path, edges, candidates),
        "polars": lambda: by_polars(path, edges, candidates),
    }
    cpu, wall = time.process_time(), time.perf_counter()
    works[work]()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return Cost(cpu, wall, peak_mb())


def _limit(threads: int) -> None:
    if not threads:
        return
    connect: Any = duckdb.connect

    def limited(database: str = ":memory:", *, config: dict[str, Any] | None = None) -> Any:
        return connect(database, config={**(config or {}), "threads": threads})

    duckdb.connect = limited  # type: ignore[assignment]
    os.environ["POLARS_MAX_THREADS"] = str(threads)


def works_for(rows: int, engine: str) -> list[str]:
    """List the works that can be run."""
    if engine in {"postgres", "spark"}:
        return list(draw_engines.WORKS[engine])
    if engine == "delta":
        return ["bare", "md5", "later", "later + show", "first"]
    others = [name for name in ("pandas", "polars") if importlib.util.find_spec(name)]
    fits = rows <= _SHARE_PANDAS
    return [
        "bare",
        "md5",
        "hash",
        "before",
        "later",
        "later + show",
        "first",
        *(others if fits else []),
    ]


def table(costs: dict[str, list[Any]]) -> list[str]:
    """Show each work: medians, and CPU as a multiple of the bare scan's of the same turn."""
    lines = []
    for work, runs in costs.items():
        ratio = statistics.median(
            run.cpu / one.cpu for run, one in zip(runs, costs["bare"], strict=True)
        )
        cpu, wall = (statistics.median(getattr(run, of) for run in runs) for of in ("cpu", "wall"))
        peak = max(run.peak for run in runs)
        lines.append(f"{work:<14}{cpu:8.2f} s {wall:8.2f} s {ratio:6.1f} {peak:7.0f} MB")
    return lines


def in_postgres(
    url: str, rows: int, edges: BandEdges, candidates: int, works: Sequence[str], repeats: int
) -> None:
    """Print the figures of the works in PostgreSQL."""
    draw_engines.fill(url, rows)
    costs: dict[str, list[Any]] = {work: [] for work in works}
    with FRESH.Pool(1, maxtasksperchild=1) as pool:
        for work in [*works] * repeats:
            arguments = (work, url, WINDOW, edges, candidates)
            costs[work].append(pool.apply(draw_engines.in_postgres, arguments))
    print(f"PostgreSQL, {rows:,} rows, {len(edges.strata())} strata x {candidates}")
    show(costs, "files")


def in_spark(
    rows: int, edges: BandEdges, candidates: int, works: Sequence[str], repeats: int, threads: int
) -> None:
    """Print the figures of the works by Spark."""
    with tempfile.TemporaryDirectory() as folder, FRESH.Pool(1, maxtasksperchild=1) as pool:
        path = Path(folder) / "predictions.parquet"
        pool.apply(write, (path, rows))
        arguments = (path, threads, WINDOW, edges, candidates)
        how = {"works": works, "repeats": repeats}
        costs: dict[str, list[Any]] = pool.apply(draw_engines.in_spark, arguments, how)
    print(f"Spark, {rows:,} rows, {len(edges.strata())} strata x {candidates}")
    show(costs, "Spark")


def in_process(
    rows: int,
    edges: BandEdges,
    candidates: int,
    works: Sequence[str],
    repeats: int,
    threads: Sequence[int],
    engine: str,
) -> None:
    """Print the figures of the works by DuckDB in this process."""
    with tempfile.TemporaryDirectory() as folder, FRESH.Pool(1, maxtasksperchild=1) as pool:
        path = Path(folder) / f"predictions{_DELTA if engine == 'delta' else '.parquet'}"
        pool.apply(write, (path, rows))
        for number in threads:
            costs: dict[str, list[Any]] = {work: [] for work in works}
            for work in [*works] * repeats:
                arguments = (work, path, edges, candidates, number)
                costs[work].append(pool.apply(measured, arguments))
            print(
                f"{rows:,} rows, {len(edges.strata())} strata x {candidates}, threads "
                f"{number or 'as many as DuckDB takes'}"
            )
            show(costs)


def show(costs: dict[str, list[Any]], name: str = "") -> None:
    """Print a line for each work, with the most of one more figure of its engine."""
    head = f"{'':<14}{'CPU':>8}   {'wall':>8}   {'x bare':>6} {'peak':>7}"
    print(f"{head}    {name:>7}" if name else head)
    for line, runs in zip(table(costs), costs.values(), strict=True):
        more = f" {max(run.more for run in runs):7.0f} MB" if name else ""
        print(line + more)


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
    with postgres() if engine == "postgres" else nullcontext("") as url:
        for number in map(int, rows):
            common = (number, edges, candidates, works or works_for(number, engine), repeats)
            if engine == "postgres":
                in_postgres(url, *common)
            elif engine == "spark":
                in_spark(*common, threads[-1])
            else:
                in_process(*common, threads, engine)
