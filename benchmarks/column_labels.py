"""What labels from a column cost monitors that wait for the same file: CPU beside a bare scan.

``bare`` reads id and value; ``before`` is the earlier query of each monitor, ``alone`` what each
does by itself, ``together`` what all do in one pass.
"""

import multiprocessing
import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from benchmarks.harness import peak_mb, timed
from monitor.domain.model import Task
from monitor.labeling.column import ColumnLabeler, ColumnSettings

IDS = {"numbers in order": "i", "texts in no order": "md5(i::varchar)"}
WORKS = ("bare", "before", "alone", "together")


def write(path: Path, rows: int, ids: str) -> None:
    """Write a truth for every item."""
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute(
            f"copy (select {ids} as id, (hash(i) % 20 = 0)::integer as truth "
            f"from range({rows}) t(i)) to $1 (format parquet)",
            [str(path)],
        )


def asked_items(path: Path, rows: int, monitors: int, items: int) -> list[list[str]]:
    """Choose the items of each monitor by chance from the newest tenth."""
    dice = random.Random(7)  # noqa: S311
    with duckdb.connect() as connection:
        found = connection.execute(
            "select id::varchar from read_parquet($1, file_row_number = true) "
            "where file_row_number >= $2 order by file_row_number",
            [str(path), rows - rows // 10],
        ).fetchall()
    return [[row[0] for row in dice.sample(found, items)] for _ in range(monitors)]


def bare(path: Path) -> None:
    """Read both columns and nothing more."""
    with duckdb.connect() as connection:
        connection.execute("select max(id), sum(truth) from read_parquet($1)", [str(path)])


def before(path: Path, asked: Sequence[Sequence[str]]) -> None:
    """Read the whole file for each monitor, and every id of it as text."""
    for items in asked:
        with duckdb.connect() as connection:
            connection.execute(
                "select id, value, count(*) from (select cast(id as varchar) as id, "
                "nullif(trim(cast(truth as varchar)), '') as value from read_parquet($path)) "
                "where value is not null and id in (select unnest($ids::varchar[])) "
                "group by id, value order by id, value",
                {"path": str(path), "ids": sorted(items)},
            ).fetchall()


def collected(path: Path, asked: Sequence[Sequence[str]], *, together: bool) -> int:
    """Collect the labels of each monitor; returns how many came."""
    settings = ColumnSettings.model_validate(
        {"path": path.name, "id": "id", "value": "truth", "matures": "5d"}
    )
    labelers = [
        ColumnLabeler(settings, path.parent, clock=lambda: datetime.now(UTC)) for _ in asked
    ]
    if together:
        labelers[0].expect({item for items in asked for item in items}, len(asked))
    given = 0
    for labeler, items in zip(labelers, asked, strict=True):
        tasks = {item: Task(item, item) for item in items}
        events = labeler.collect(tasks, None).events
        given += sum(event.answer is not None for event in events)
    return given


def measured(work: str, path: Path, asked: Sequence[Sequence[str]]) -> tuple[float, float]:
    """CPU seconds and peak MB of a work once in this process."""
    works: dict[str, Callable[[], object]] = {
        "bare": lambda: bare(path),
        "before": lambda: before(path, asked),
        "alone": lambda: collected(path, asked, together=False),
        "together": lambda: collected(path, asked, together=True),
    }
    spent, _ = timed(works[work])
    return spent, peak_mb()


def main(rows: float = 5e6, monitors: int = 3, items: int = 1000, repeats: int = 3) -> None:
    """Print the figures of one run."""
    count = int(rows)
    fresh = multiprocessing.get_context("spawn")  # so that each peak is one piece of work's own
    for named, ids in IDS.items():
        with tempfile.TemporaryDirectory() as folder, fresh.Pool(1, maxtasksperchild=1) as pool:
            path = Path(folder) / "truth.parquet"
            pool.apply(write, (path, count, ids))
            asked = pool.apply(asked_items, (path, count, monitors, items))
            runs: dict[str, list[tuple[float, float]]] = {work: [] for work in WORKS}
            for work in WORKS * repeats:
                runs[work].append(pool.apply(measured, (work, path, asked)))
        print(f"{count:,} rows, ids: {named}; {monitors} monitors x {items}")
        for work, found in runs.items():
            ratio = statistics.median(a[0] / b[0] for a, b in zip(found, runs["bare"], strict=True))
            cpu = statistics.median(spent for spent, _ in found)
            print(f"{work:<10}{cpu:8.3f} s {ratio:6.1f} {max(peak for _, peak in found):7.0f} MB")
