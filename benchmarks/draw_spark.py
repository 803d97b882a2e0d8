"""The draw of `benchmarks.draw` by Spark: what its processes and this one do for it.

Works: ``bare`` reads id, time and score; ``md5`` takes md5 of every id besides; ``later`` is the
scan of a round whose bands are known, ``later + show`` all its reads; ``first`` all reads of a
history's first round; ``min_by`` is one statement that counts and puts every row in order.

All are run in one session on this machine, each a few times after one time that does not count:
Spark compiles what it runs, which a session that runs for weeks does once.
"""

import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.domain.model import BandEdges, Frame, Stratum, Window
from monitor.plugins.spark.session import session_for
from monitor.plugins.spark.settings import SparkSettings
from monitor.plugins.spark.source import SparkSource

WORKS = ("bare", "md5", "later", "later + show", "first", "min_by")
_TICKS = 100  # of a second, in which Linux counts processor time
_PROFILE = 10_000  # as monitor.rounds.sampling.window_scan has it
_SEED = "5eed" * 8


@dataclass(frozen=True)
class SparkCost:
    """What one run of a work took, of Spark and of this process; ``peak`` is of this one in MB.

    ``heap`` is the most that Spark's process ever held, whatever it held it for.
    """

    cpu: float
    wall: float
    peak: float
    heap: float


def source(path: Path, threads: int) -> SparkSource:
    """Make the source that a monitor has."""
    columns = {"id": "id", "time": "time", "score": "score", "show": ["text"]}
    given = {"path": str(path), "master": f"local[{threads or '*'}]", "columns": columns}
    return SparkSource(SparkSettings.model_validate({**given, "threshold": 0.5}))


class Works:
    """The works over one file, in one session."""

    def __init__(
        self, path: Path, threads: int, window: Window, edges: BandEdges, candidates: int
    ) -> None:
        self._source = source(path, threads)
        self._window, self._edges, self._candidates = window, edges, candidates
        self._session = session_for(self._source._spark)
        self._session.read.parquet(str(path)).createOrReplaceTempView("predictions")

    def measured(self, work: str) -> SparkCost:
        """Run a work once."""
        works: dict[str, Callable[[], object]] = {
            "bare": lambda: self._read("length(id)"),
            "md5": lambda: self._read(f"md5('{_SEED}|' || id)"),
            "later": self.later,
            "later + show": lambda: self.later(shown=self._candidates),
            "first": self.first,
            "min_by": self.by_min_by,
        }
        cpu, own, wall = cpu_of_children(), time.process_time(), time.perf_counter()
        works[work]()
        wall = time.perf_counter() - wall
        own = time.process_time() - own
        unit = 2**20 if sys.platform == "darwin" else 2**10
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
        return SparkCost(cpu_of_children() - cpu + own, wall, peak, _peak_of_children())

    def later(self, *, shown: int = 0) -> Frame:
        """Scan as a round does whose bands are known, and fetch what people see of some items."""
        frame = self._source.scan(self._window, self._edges.strata(), self._candidates, _SEED)
        each = -(-shown // len(frame.strata))
        ids = [candidate.id for part in frame.strata for candidate in part.candidates[:each]]
        self._source.show(ids[:shown], self._window)
        return frame

    def first(self) -> Frame:
        """Scan as the first round of a history does: by class, and by the bands that come of it."""
        known = max(self._candidates, _PROFILE)
        self._source.scan(self._window, BandEdges().strata(), known, _SEED)
        return self.later(shown=self._candidates)

    def by_min_by(self) -> list[Any]:
        """Count and draw in one statement, for which Spark takes every row into its heaps."""
        cases = " ".join(_case(place, each) for place, each in enumerate(self._edges.strata()))
        return self._rows(
            "select stratum, count(*), max(time), "
            f"min_by(struct(id, score), struct(md5('{_SEED}|' || id), id), {self._candidates}) "
            f"from (select *, case {cases} end as stratum from predictions) group by stratum"
        )

    def _read(self, column: str) -> None:
        self._rows(f"select max({column}), max(time), sum(score) from predictions")

    def _rows(self, sql: str) -> list[Any]:
        return self._session.sql(sql).collect()


def _case(place: int, stratum: Stratum) -> str:
    low = (0.5 if stratum.flagged else -1) if stratum.low is None else stratum.low
    high = (2 if stratum.flagged else 0.5) if stratum.high is None else stratum.high
    return f"when score >= {low} and score < {high} then {place}"


def costs_of(
    path: Path,
    threads: int,
    window: Window,
    edges: BandEdges,
    candidates: int,
    *,
    works: Sequence[str],
    repeats: int,
) -> dict[str, list[SparkCost]]:
    """Run works in turn, and leave out the first turn."""
    at_hand = Works(path, threads, window, edges, candidates)
    costs: dict[str, list[SparkCost]] = {work: [] for work in works}
    for turn in range(repeats + 1):
        for work in works:
            cost = at_hand.measured(work)
            if turn:
                costs[work].append(cost)
    return costs


def children() -> list[Path]:
    """Find the processes that this one started (Linux): Spark is one of them."""
    mine = str(os.getpid())
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended just now
        if fields[1] == mine:
            found.append(status.parent)
    return found


def cpu_of_children() -> float:
    """Processor seconds of Spark, and of what else this process started and what that ended."""
    total = 0
    for each in children():
        fields = (each / "stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / _TICKS


def _peak_of_children() -> float:
    """Megabytes that the largest of them ever held."""
    peaks = [0]
    for each in children():
        lines = (each / "status").read_text().splitlines()
        peaks += [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return max(peaks) / 2**10
