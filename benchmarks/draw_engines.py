"""The draw of `draw` by DuckDB, in PostgreSQL and by Spark: what engine and process do for it.

Works of Spark run in one session, each once before it counts.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import duckdb
from sqlalchemy import create_engine, text

from benchmarks.harness import peak_mb, timed
from monitor.domain.model import BandEdges, Frame, Window
from monitor.plugins.lake.settings import LakeSettings
from monitor.plugins.lake.source import LakeSource
from monitor.plugins.spark.session import session_for
from monitor.plugins.spark.settings import SparkSettings
from monitor.plugins.spark.source import SparkSource
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.sql import SqlSource
from monitor.sources.table_settings import DuckdbSettings, SqlSettings

WORKS = ("bare", "md5", "later", "later + show", "first")
DELTA = ".delta"
COLUMNS = {"id": "id", "time": "time", "score": "score", "show": ["text"]}
_TICKS = 100  # of a second, in which Linux counts processor time
_PROFILE = 10_000  # as monitor.rounds.sampling.window_scan has it
_SEED = "5eed" * 8
_OF_A_BATCH = 100_000


@dataclass(frozen=True)
class Cost:
    """What one run of a work took, in the engine and here.

    ``more`` are MB that PostgreSQL wrote to files, or the most that Spark's process ever held.
    """

    cpu: float
    wall: float
    peak: float
    more: float


class Works(ABC):
    """The works over one table."""

    source: DuckdbSource | LakeSource | SqlSource | SparkSource
    newest = "max(time)"

    def __init__(self, window: Window, edges: BandEdges, candidates: int) -> None:
        self.window, self.edges, self.candidates = window, edges, candidates

    @abstractmethod
    def rows(self, sql: str) -> list[Any]:
        """Run a query."""

    @abstractmethod
    def engine(self) -> tuple[float, float]:
        """Processor seconds of the engine so far, and MB of files or memory."""

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
        used, more = self.engine()
        return Cost(used - cpu + own, wall, peak_mb(), more)

    def later(self, *, shown: int = 0) -> Frame:
        """Scan as a round does whose bands are known, and fetch what people see of some items."""
        frame = self.source.scan(self.window, self.edges.strata(), self.candidates, _SEED)
        return self._shown(frame, shown)

    def _shown(self, frame: Frame, shown: int) -> Frame:
        each = -(-shown // len(frame.strata))
        ids = [candidate.id for part in frame.strata for candidate in part.candidates[:each]]
        self.source.show(ids[:shown], self.window)
        return frame

    def first(self) -> Frame:
        """Scan as the first round of a history does: by class, and by the bands that come of it."""
        known = max(self.candidates, _PROFILE)
        self.source.scan(self.window, BandEdges().strata(), known, _SEED)
        return self.later(shown=self.candidates)

    def read(self, column: str) -> None:
        """Read three columns."""
        self.rows(f"select max({column}), {self.newest}, sum(score) from predictions")


class InDuckdb(Works):
    """The works over a Parquet file or a Delta table, by DuckDB in this process."""

    source: DuckdbSource | LakeSource
    newest = "epoch_us(max(time))"  # a time would become one of Python's

    def __init__(self, path: Path, window: Window, edges: BandEdges, candidates: int) -> None:
        super().__init__(window, edges, candidates)
        self.path, folder = path, path.parent
        given = {"columns": COLUMNS, "threshold": 0.5}
        if path.suffix == DELTA:
            self.source = LakeSource(
                LakeSettings.model_validate({"delta": path.name, **given}), folder
            )
        else:
            self.source = DuckdbSource(
                DuckdbSettings.model_validate({"path": path.name, **given}), folder
            )

    def rows(self, sql: str) -> list[Any]:
        """Run a query."""
        with duckdb.connect() as connection:
            connection.execute("set enable_progress_bar = false")
            if self.path.suffix == DELTA:
                stream = deltalake.DeltaTable(self.path).scan(columns=["id", "time", "score"])
                connection.register("predictions", stream)
            else:
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
        if path.suffix == DELTA:
            stream: Any = connection.sql(select).to_arrow_reader(_OF_A_BATCH)
            deltalake.write_deltalake(path, stream)
        else:
            connection.execute(f"copy ({select}) to $1 (format parquet)", [str(path)])


def in_duckdb(
    work: str, path: Path, threads: int, window: Window, edges: BandEdges, candidates: int
) -> Cost:
    """Run a work of DuckDB once in this process; 0 threads are as many as it takes."""
    connect: Any = duckdb.connect

    def limited(database: str = ":memory:", *, config: dict[str, Any] | None = None) -> Any:
        return connect(database, config={**(config or {}), "threads": threads})

    if threads:
        duckdb.connect = limited  # type: ignore[assignment]
    return InDuckdb(path, window, edges, candidates).measured(work)


class InPostgres(Works):
    """The works in a PostgreSQL server."""

    def __init__(self, url: str, window: Window, edges: BandEdges, candidates: int) -> None:
        super().__init__(window, edges, candidates)
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


def in_postgres(work: str, url: str, window: Window, edges: BandEdges, candidates: int) -> Cost:
    """Run a work of PostgreSQL once in this process."""
    return InPostgres(url, window, edges, candidates).measured(work)


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


class InSpark(Works):
    """The works of Spark over one file, in one session."""

    def __init__(
        self, path: Path, threads: int, window: Window, edges: BandEdges, candidates: int
    ) -> None:
        super().__init__(window, edges, candidates)
        given = {"path": str(path), "master": f"local[{threads or '*'}]", "columns": COLUMNS}
        self.source = SparkSource(SparkSettings.model_validate({**given, "threshold": 0.5}))
        self.session = session_for(self.source.settings)
        self.session.read.parquet(str(path)).createOrReplaceTempView("predictions")

    def rows(self, sql: str) -> list[Any]:
        """Run a query."""
        return self.session.sql(sql).collect()

    def engine(self) -> tuple[float, float]:
        """Processor seconds of Spark, and the most memory of its processes."""
        lines = [line for each in children() for line in (each / "status").read_text().splitlines()]
        peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
        of_children = (fields for _, fields in _processes() if fields[1] == str(os.getpid()))
        ticks = sum(int(each) for fields in of_children for each in fields[11:15])
        return ticks / _TICKS, max([0, *peaks]) / 2**10


def in_spark(
    path: Path,
    threads: int,
    window: Window,
    edges: BandEdges,
    candidates: int,
    *,
    works: Sequence[str],
    repeats: int,
) -> dict[str, list[Cost]]:
    """Run works of Spark in turn, and leave out the first turn."""
    session = InSpark(path, threads, window, edges, candidates)
    turns = [{work: session.measured(work) for work in works} for _ in range(repeats + 1)][1:]
    return {work: [turn[work] for turn in turns] for work in works}


def _processes() -> list[tuple[Path, list[str]]]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            found.append((status.parent, status.read_text().rpartition(")")[2].split()))
        except OSError:
            continue  # it ended just now
    return found


def children() -> list[Path]:
    """Find the processes that this one started (Linux): Spark is one of them."""
    return [process for process, fields in _processes() if fields[1] == str(os.getpid())]
