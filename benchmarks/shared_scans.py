"""Many monitors over one table: one reading of it for all of them, against one for each.

Readings, wall and processor seconds with those of the engine, both ways in one run, and about how
many different items the tasks of plans of 200 are.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
from sqlalchemy import create_engine, event, text

from benchmarks import draw_engines
from monitor.domain.model import BandEdges, Frame, Window
from monitor.domain.ports import PlannedScan
from monitor.plugins.spark.reading import SparkStatements
from monitor.plugins.spark.settings import SparkSettings
from monitor.plugins.spark.source import SparkSource
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.sql import SqlSource
from monitor.sources.table_settings import DuckdbSettings, SqlSettings
from tests.servers import postgres

START = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(days=7))
EDGES = BandEdges(flagged=(0.55, 0.6, 0.65, 0.7, 0.8, 0.9), passed=(0.05, 0.1, 0.15, 0.2, 0.3, 0.4))
AT_MOST = 200
FLAGGED, PASSED = 8, 20  # items of each stratum that a plan of 200 takes, about
SEED = "one seed"
STEP = "case when {share} < 0.1 then 0.5 + {share} * 5 else ({share} - 0.1) / 1.8 end"
"""A score of a number that is as likely to be anywhere between 0 and 1."""


@dataclass
class Place:
    """A table in an engine: sources over it, how often it was read, and what the engine took.

    ``is_warm`` says whether what the engine runs for the first time costs it no more.
    """

    source_of: Callable[[int], Any]
    cpu: Callable[[], float] = lambda: 0.0
    readings: int = 0
    is_warm: bool = True

    def read(self) -> None:
        """Count a reading."""
        self.readings += 1


def main(engine: str = "duckdb", monitors: int = 30, rows: float = 1e6) -> None:
    """Print a line for each way, and what their samples share."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ENGINES[engine](Path(folder), monitors, int(rows)) as place,
    ):
        print(f"{engine}: {monitors} monitors, {int(rows):,} rows")
        compare(place, monitors)


def compare(place: Place, monitors: int) -> None:
    """Measure both ways over one table."""
    if not place.is_warm:
        for share in (False, True):
            scanned([place.source_of(one) for one in range(monitors)], share=share)
    alone, alone_took = measured("each by itself", place, monitors, share=False)
    shared, shared_took = measured("together", place, monitors, share=True)
    wall, cpu = (one / other for one, other in zip(alone_took, shared_took, strict=True))
    print(f"ratio: wall {wall:.1f}, CPU {cpu:.1f}")
    print(f"same frames: {'yes' if alone == shared else 'NO'}")
    tasks, items = sampled(shared)
    print(f"tasks: {tasks:,} for {items:,} different items, {tasks / items:.2f} each")


@contextmanager
def by_duckdb(folder: Path, monitors: int, rows: int) -> Iterator[Place]:
    """Write a Parquet file for DuckDB."""
    write_table(folder, monitors, rows)

    class Counted(DuckdbSource):
        def opened(self, window: Window | None = None) -> Any:
            place.read()
            return super().opened(window)

    def source_of(number: int) -> DuckdbSource:
        return Counted(DuckdbSettings.model_validate(settings_of(number, path="p.parquet")), folder)

    place = Place(source_of)
    yield place


@contextmanager
def by_postgres(_: Path, monitors: int, rows: int) -> Iterator[Place]:
    """Fill a table of a server that is there for as long as this takes."""
    with postgres() as url:
        fill_table(url, monitors, rows)
        server = draw_engines.server_of(url)

        def source_of(number: int) -> SqlSource:
            given = settings_of(number, url=url, table="predictions")
            source = SqlSource(SqlSettings.model_validate(given))
            event.listen(source.database.engine, "before_cursor_execute", noted)
            return source

        def noted(*given: Any) -> None:
            if "FROM predictions" in given[2]:
                place.read()

        place = Place(source_of, lambda: draw_engines.cpu_of(server))
        yield place


@contextmanager
def by_spark(folder: Path, monitors: int, rows: int) -> Iterator[Place]:
    """Write a Parquet file for Spark."""
    write_table(folder, monitors, rows)
    execute = SparkStatements.execute

    def source_of(number: int) -> SparkSource:
        given = settings_of(number, path="p.parquet", master="local[*]")
        return SparkSource(SparkSettings.model_validate(given), folder)

    def noted(*given: Any, **options: Any) -> list[Any]:
        place.read()
        return execute(*given, **options)

    place = Place(source_of, draw_engines.cpu_of_children, is_warm=False)
    SparkStatements.execute = noted  # type: ignore[method-assign]
    yield place
    SparkStatements.execute = execute  # type: ignore[method-assign]


ENGINES = {"duckdb": by_duckdb, "postgres": by_postgres, "spark": by_spark}


def settings_of(number: int, **where: object) -> dict[str, object]:
    """Write the settings of a monitor's source."""
    columns = {"id": "id", "time": "scored_at", "score": f"score_{number}"}
    return {"columns": columns, "threshold": 0.5, **where}


def write_table(folder: Path, monitors: int, rows: int) -> None:
    """Write the table; scores are made from hashes, so that each run has the same."""
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


def fill_table(url: str, monitors: int, rows: int) -> None:
    """Fill such a table in PostgreSQL."""
    step = timedelta(days=7) / rows
    numbers = (f"abs(hashint8extended(i, {place}) % 1000000)" for place in range(monitors))
    scores = ", ".join(
        f"({STEP.format(share=f'{number} / 1e6')})::float8 as score_{place}"
        for place, number in enumerate(numbers)
    )
    query = (
        "create unlogged table predictions as select 'mail-' || i as id, "
        f"timestamptz '{START.isoformat()}' + i * interval '{step.total_seconds():.6f} second' "
        f"as scored_at, {scores} from generate_series(0, {rows - 1}) t(i)"
    )
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in (query, "vacuum analyze predictions", "checkpoint"):
            connection.execute(text(statement.replace(":", r"\:")))
    engine.dispose()


def measured(
    name: str, place: Place, monitors: int, *, share: bool
) -> tuple[list[Frame], tuple[float, float]]:
    """Scan for each monitor; returns the frames, and the wall and processor seconds."""
    sources = [place.source_of(one) for one in range(monitors)]
    place.readings = 0
    wall, own, engine = time.perf_counter(), time.process_time(), place.cpu()
    frames = scanned(sources, share=share)
    wall, own = time.perf_counter() - wall, time.process_time() - own
    time.sleep(0.5)  # until a server has counted the processes that ended
    cpu = own + place.cpu() - engine
    print(
        f"{name:15} readings {place.readings:3}  wall {wall:6.2f} s  CPU {cpu:6.2f} s "
        f"({own:.2f} s here)"
    )
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
