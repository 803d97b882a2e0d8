"""The draw of `benchmarks.draw` inside PostgreSQL: what the server does for it, and its disk.

Works: ``bare`` reads id, time and score; ``md5`` takes md5 of every id besides; ``later`` is the
scan of a round whose bands are known, ``later + show`` all its reads; ``first`` all reads of a
history's first round; ``row_number`` is the draw that a user would write, which sorts every row.
"""

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from monitor.domain.model import BandEdges, Frame, Stratum, Window
from monitor.sources.sql import SqlSource
from monitor.sources.sql_settings import SqlSettings

WORKS = ("bare", "md5", "later", "later + show", "first", "row_number")
_TICKS = 100  # of a second, in which Linux counts processor time
_PROFILE = 10_000  # as monitor.rounds.sampling.window_scan has it


@dataclass(frozen=True)
class ServerCost:
    """What one run of a work took, in server and client; ``temp_mb`` is what it wrote to files."""

    cpu: float
    wall: float
    peak: float
    temp_mb: float


def write(url: str, rows: int) -> None:
    """Write predictions, 5 % of them flagged, with a text that labelers see."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("drop table if exists predictions"))
        connection.execute(
            text(
                "create unlogged table predictions as select 'item-' || i as id, "
                "timestamptz '2026-01-01' + i * interval '1 second' as time, "
                "case when hashint8(i) % 20 = 0 then .5::float8 else 0 end "
                "+ abs(hashint8(i + 1) % 1000000) / 2e6::float8 as score, "
                "'message ' || (i % 1000) as text from generate_series(1, :rows) t(i)"
            ),
            {"rows": rows},
        )
        connection.execute(text("vacuum analyze predictions"))
        connection.execute(text("checkpoint"))
    engine.dispose()


def source(url: str) -> SqlSource:
    """Make the source that a monitor has."""
    columns = {"id": "id", "time": "time", "score": "score", "show": ["text"]}
    given = {"url": url, "table": "predictions", "columns": columns, "threshold": 0.5}
    return SqlSource(SqlSettings.model_validate(given))


def later(url: str, window: Window, edges: BandEdges, candidates: int, *, shown: int = 0) -> Frame:
    """Scan as a round does whose bands are known, and fetch what people see of some items."""
    drawn = source(url)
    frame = drawn.scan(window, edges.strata(), candidates, _SEED)
    each = -(-shown // len(frame.strata))
    ids = [candidate.id for part in frame.strata for candidate in part.candidates[:each]]
    drawn.show(ids[:shown], window)
    return frame


def first(url: str, window: Window, edges: BandEdges, candidates: int) -> Frame:
    """Scan as the first round of a history does: by class, and by the bands that come of it."""
    source(url).scan(window, BandEdges().strata(), max(candidates, _PROFILE), _SEED)
    return later(url, window, edges, candidates, shown=candidates)


_SEED = "5eed" * 8


def _read(url: str, column: str) -> None:
    _rows(url, f"select max({column}), max(time), sum(score) from predictions")


def by_row_number(url: str, strata: Sequence[Stratum], candidates: int) -> list[Any]:
    """Draw as one would write it, which sorts all rows by md5."""
    cases = " ".join(_case(place, each) for place, each in enumerate(strata))
    return _rows(
        url,
        "select stratum, id from (select stratum, id, row_number() over (partition by stratum "
        f"order by md5('{_SEED}|' || id) collate \"C\") as place from (select id, case {cases} end "
        f"as stratum from predictions) classed) placed where place <= {candidates} "
        "order by stratum, place",
    )


def _case(place: int, stratum: Stratum) -> str:
    low = (0.5 if stratum.flagged else -1) if stratum.low is None else stratum.low
    high = (2 if stratum.flagged else 0.5) if stratum.high is None else stratum.high
    return f"when score >= {low} and score < {high} then {place}"


def _rows(url: str, sql: str) -> list[Any]:
    engine = create_engine(url)
    with engine.connect() as connection:
        found = connection.execute(text(sql.replace(":", r"\:"))).fetchall()
    engine.dispose()
    return list(found)


def measured(work: str, url: str, window: Window, edges: BandEdges, candidates: int) -> ServerCost:
    """Run a work once in this process."""
    works: dict[str, Callable[[], object]] = {
        "bare": lambda: _read(url, "length(id)"),
        "md5": lambda: _read(url, f"md5('{_SEED}|' || id) collate \"C\""),
        "later": lambda: later(url, window, edges, candidates),
        "later + show": lambda: later(url, window, edges, candidates, shown=candidates),
        "first": lambda: first(url, window, edges, candidates),
        "row_number": lambda: by_row_number(url, edges.strata(), candidates),
    }
    master, files = server_of(url), _temporary_files(url)
    cpu, own, wall = cpu_of(master), time.process_time(), time.perf_counter()
    works[work]()
    wall = time.perf_counter() - wall
    own = time.process_time() - own
    time.sleep(0.5)  # until the server has counted the processes that ended
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return ServerCost(cpu_of(master) - cpu + own, wall, peak, _temporary_files(url) - files)


def server_of(url: str) -> int:
    """Find the process of a server."""
    folder = _rows(url, "show data_directory")[0][0]
    return int((Path(folder) / "postmaster.pid").read_text().split()[0])


def _temporary_files(url: str) -> float:
    """MB of temporary files that a server wrote for a database."""
    [(files,)] = _rows(
        url, "select temp_bytes from pg_stat_database where datname = current_database()"
    )
    return int(files) / 1e6


def cpu_of(master: int) -> float:
    """Processor seconds of a server and all processes that it ever started (Linux)."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended just now
        if int(fields[1]) == master or status.parent.name == str(master):
            total += sum(map(int, fields[11:13]))
        if status.parent.name == str(master):
            total += sum(map(int, fields[13:15]))
    return total / _TICKS
