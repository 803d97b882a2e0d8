"""What drawing a round's items costs: CPU, wall time and memory beside a bare scan of its columns.

``bare`` reads id, time and score; ``md5`` takes md5 of every id besides; ``later`` is the scan of a
round whose bands are known, ``later + show`` all its reads; ``first`` all reads of a first round.
Each work is a process of its own; 0 threads are as many as DuckDB takes. Of PostgreSQL, ``files``
are the MB of temporary files.
"""

import multiprocessing
import statistics
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any, Literal

import duckdb
from sqlalchemy import create_engine, text

from benchmarks.harness import peak_mb, timed
from monitor.domain.model import BandEdges, Frame, Window
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.sql import SqlSource
from monitor.sources.table_settings import DuckdbSettings, SqlSettings
from tests.servers import postgres

FRESH = multiprocessing.get_context("spawn")  # so that each peak is of one work alone
WINDOW = Window(datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC))
WORKS = ("bare", "md5", "later", "later + show", "first")
COLUMNS = {"id": "id", "time": "time", "score": "score", "show": ["text"]}
_TICKS = 100  # of a second, in which Linux counts processor time
_PROFILE = 10_000  # as monitor.rounds.sampling.window_scan has it
_SEED = "5eed" * 8


@dataclass(frozen=True)
class Cost:
    """What one run of a work took, in the engine and here.

    ``files`` are MB that PostgreSQL wrote to files.
    """

    cpu: float
    wall: float
    peak: float
    files: float


Costs = dict[str, list[Cost]]


class Works(ABC):
    """The works over one table."""

    source: DuckdbSource | SqlSource
    newest = "max(time)"

    def __init__(self, edges: BandEdges, candidates: int) -> None:
        self.edges, self.candidates = edges, candidates

    @abstractmethod
    def rows(self, sql: str) -> list[Any]:
        """Run a query."""

    @abstractmethod
    def engine(self) -> tuple[float, float]:
        """Processor seconds of the engine so far, and MB of files."""

    def measured(self, work: str) -> Cost:
        """Run a work once."""
        works: dict[str, Callable[[], object]] = {
            "bare": lambda: self.read("length(id)"),
            "md5": lambda: self.read(f"md5('{_SEED}|' || id)"),
            "later": self.later,
            "later + show": lambda: self.later(shown=self.candidates),
            "first": self.first,
        }
        cpu, _ = self.engine()
        own, wall = timed(works[work])
        time.sleep(0.5)  # until a server has counted the processes that ended
        used, files = self.engine()
        return Cost(used - cpu + own, wall, peak_mb(), files)

    def later(self, *, shown: int = 0) -> Frame:
        """Scan as a round does whose bands are known, and fetch what people see of some items."""
        frame = self.source.scan(WINDOW, self.edges.strata(), self.candidates, _SEED)
        return self._shown(frame, shown)

    def _shown(self, frame: Frame, shown: int) -> Frame:
        each = -(-shown // len(frame.strata))
        ids = [candidate.id for part in frame.strata for candidate in part.candidates[:each]]
        self.source.show(ids[:shown], WINDOW)
        return frame

    def first(self) -> Frame:
        """Scan as the first round of a history does: by class, and by the bands that come of it."""
        known = max(self.candidates, _PROFILE)
        self.source.scan(WINDOW, BandEdges().strata(), known, _SEED)
        return self.later(shown=self.candidates)

    def read(self, column: str) -> None:
        """Read three columns."""
        self.rows(f"select max({column}), {self.newest}, sum(score) from predictions")


class InDuckdb(Works):
    """The works over a Parquet file, by DuckDB in this process."""

    source: DuckdbSource
    newest = "epoch_us(max(time))"  # a time would become one of Python's

    def __init__(self, path: Path, edges: BandEdges, candidates: int) -> None:
        super().__init__(edges, candidates)
        given = {"path": path.name, "columns": COLUMNS, "threshold": 0.5}
        self.path = path
        self.source = DuckdbSource(DuckdbSettings.model_validate(given), path.parent)

    def rows(self, sql: str) -> list[Any]:
        """Run a query."""
        with duckdb.connect() as connection:
            connection.execute("set enable_progress_bar = false")
            connection.read_parquet(str(self.path)).create_view("predictions")
            return connection.execute(sql).fetchall()

    def engine(self) -> tuple[float, float]:
        """Return none: it is all in this process."""
        return 0.0, 0.0


def write(path: Path, rows: int) -> None:
    """Write predictions to a file, 5 % of them flagged, with a text that labelers see."""
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
        connection.execute(f"copy ({select}) to $1 (format parquet)", [str(path)])


def in_duckdb(work: str, path: Path, threads: int, edges: BandEdges, candidates: int) -> Cost:
    """Run a work of DuckDB once in this process; 0 threads are as many as it takes."""
    connect: Any = duckdb.connect

    def limited(database: str = ":memory:", *, config: dict[str, Any] | None = None) -> Any:
        return connect(database, config={**(config or {}), "threads": threads})

    if threads:
        duckdb.connect = limited  # type: ignore[assignment]
    return InDuckdb(path, edges, candidates).measured(work)


class InPostgres(Works):
    """The works in a PostgreSQL server."""

    def __init__(self, url: str, edges: BandEdges, candidates: int) -> None:
        super().__init__(edges, candidates)
        given = {"url": url, "table": "predictions", "columns": COLUMNS, "threshold": 0.5}
        self.source = SqlSource(SqlSettings.model_validate(given))
        self.url, self.server = url, server_of(url)
        self.files = self._files()

    def rows(self, sql: str) -> list[Any]:
        """Run a query."""
        return _rows(self.url, sql.replace("|| id)", '|| id) collate "C"'))

    def engine(self) -> tuple[float, float]:
        """Processor seconds of the server, and MB of temporary files since the beginning."""
        return cpu_of(self.server), self._files() - self.files

    def _files(self) -> float:
        query = "select temp_bytes from pg_stat_database where datname = current_database()"
        return int(_rows(self.url, query)[0][0]) / 1e6


def fill(url: str, rows: int) -> None:
    """Write predictions to PostgreSQL, 5 % of them flagged, with a text that labelers see."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    query = (
        "create unlogged table predictions as select 'item-' || i as id, "
        "timestamptz '2026-01-01' + i * interval '1 second' as time, "
        "case when hashint8(i) % 20 = 0 then .5::float8 else 0 end "
        "+ abs(hashint8(i + 1) % 1000000) / 2e6::float8 as score, "
        f"'message ' || (i % 1000) as text from generate_series(1, {rows}) t(i)"
    )
    drop = "drop table if exists predictions"
    with engine.connect() as connection:
        for statement in (drop, query, "vacuum analyze predictions", "checkpoint"):
            connection.execute(text(statement.replace(":", r"\:")))
    engine.dispose()


def in_postgres(work: str, url: str, edges: BandEdges, candidates: int) -> Cost:
    """Run a work of PostgreSQL once in this process."""
    return InPostgres(url, edges, candidates).measured(work)


def _rows(url: str, sql: str) -> list[Any]:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(text(sql.replace(":", r"\:"))).fetchall()
    engine.dispose()
    return list(found)


def server_of(url: str) -> int:
    """Find the process of a server."""
    folder = _rows(url, "show data_directory")[0][0]
    return int((Path(folder) / "postmaster.pid").read_text().split()[0])


def cpu_of(master: int) -> float:
    """Processor seconds of a server and all processes that it ever started (Linux)."""
    total = 0
    for process, fields in _processes():
        if int(fields[1]) == master or process.name == str(master):
            total += sum(map(int, fields[11:13]))
        if process.name == str(master):
            total += sum(map(int, fields[13:15]))
    return total / _TICKS


def _processes() -> list[tuple[Path, list[str]]]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            found.append((status.parent, status.read_text().rpartition(")")[2].split()))
        except OSError:
            continue  # it ended just now
    return found


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


def show(costs: Costs) -> None:
    """Print medians of each work, and CPU as a multiple of the bare scan's of the same turn."""
    print(f"{'':<14}{'CPU':>8}   {'wall':>8}   {'x bare':>6} {'peak':>7}    {'files':>7}")
    for work, runs in costs.items():
        ratio = statistics.median(
            run.cpu / one.cpu for run, one in zip(runs, costs["bare"], strict=True)
        )
        cpu, wall = (statistics.median(getattr(run, of) for run in runs) for of in ("cpu", "wall"))
        peak, files = (max(getattr(run, of) for run in runs) for of in ("peak", "files"))
        print(f"{work:<14}{cpu:8.2f} s {wall:8.2f} s {ratio:6.1f} {peak:7.0f} MB {files:7.0f} MB")


def main(
    rows: tuple[float, ...] = (10e6,),
    strata: int = 8,
    candidates: int = 1000,
    threads: tuple[int, ...] = (1, 0),
    repeats: int = 3,
    works: tuple[str, ...] = (),
    engine: Literal["duckdb", "postgres"] = "duckdb",
) -> None:
    """Print the figures of one run."""
    turns, how = [*(works or WORKS)] * repeats, (bands(strata), candidates)
    with postgres() if engine == "postgres" else nullcontext("") as url:
        for number in map(int, rows):
            what = f"{number:,} rows, {strata} strata x {candidates}"
            with tempfile.TemporaryDirectory() as name, FRESH.Pool(1, maxtasksperchild=1) as pool:
                if engine == "postgres":
                    fill(url, number)
                    print(f"PostgreSQL, {what}")
                    show(_turns(pool, in_postgres, turns, url, *how))
                    continue
                path = Path(name) / "predictions.parquet"
                pool.apply(write, (path, number))
                for each in threads:
                    print(f"{what}, threads {each or 'as many as DuckDB takes'}")
                    show(_turns(pool, in_duckdb, turns, path, each, *how))
