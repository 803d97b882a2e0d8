"""Whether DuckDB, databases, tables of a lake and Spark draw the same items by the same seed.

The same predictions in each, with ids that are unicode texts, whole numbers or UUIDs. A database
without an address is left out; in one with an address the tables ``same_*`` are made anew.

``--seeds``: whether the md5 rule draws each item, and each pair of items, as often as chance would.
Draws one window of 600 rows by the seeds of so many weekly rounds of a monitor, and counts how
often each item was drawn of each stratum, each pair of items of one stratum, and each pair of items
of two strata. Of each it prints how far the counts are spread, as a multiple of what is expected of
simple random samples without replacement that are independent between strata; ``larger`` is the
share of 200 sets of as many samples by numpy's generator whose spread is larger.
"""

import random
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import create_engine, text

from benchmarks.harness import Values
from monitor.domain.block import seed_of
from monitor.domain.model import BandEdges, Window
from monitor.domain.ports import Source
from monitor.plugins.lake.settings import LakeSettings
from monitor.plugins.lake.source import LakeSource
from monitor.plugins.spark.settings import SparkSettings
from monitor.plugins.spark.source import SparkSource
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.sql import SqlSource
from monitor.sources.table_settings import DuckdbSettings, SqlSettings

START = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(days=7))
EDGES = BandEdges(flagged=(0.7, 0.9), passed=(0.05, 0.2)).strata()
SEED = "5eed" * 8
KINDS = ("unicode", "integer", "uuid")
COLUMNS = {"id": "id", "time": "at", "score": "score"}
_LETTERS = "aAáÁäßæøşiğ žŽ жЖ 你好 かな 🔑🙂 'x \" \\ %"
_AT_ONCE = 20_000  # rows of one insert
ROWS, DRAWN, SETS = 600, 20, 200
STORE = "00000000-0000-4000-8000-000000000000"

_TYPES: Mapping[str, Mapping[str, str]] = {
    "postgresql": {"unicode": "text", "integer": "bigint", "uuid": "uuid", "at": "timestamptz"},
    "mariadb": {
        "unicode": "varchar(60) character set utf8mb4",
        "integer": "bigint",
        "uuid": "uuid",
        "at": "datetime",
    },
    "sqlite": {"unicode": "text", "integer": "integer", "uuid": "text", "at": "text"},
}


def ids_of(kind: str, rows: int) -> list[Any]:
    """Make different ids of a kind, always the same ones."""
    chance = random.Random(20261123)  # noqa: S311  test data
    if kind == "integer":
        return [7919 * n - 10**9 for n in range(rows)]
    if kind == "uuid":
        return [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(rows)]
    return ["".join(chance.choices(_LETTERS, k=6)) + f"{n:x}" for n in range(rows)]


def predictions(kind: str, rows: int) -> pd.DataFrame:
    """Make predictions over a week, as many flagged as passed."""
    chance = random.Random(7)  # noqa: S311  test data
    step = timedelta(days=7) / rows
    return pd.DataFrame(
        {
            "id": ids_of(kind, rows),
            "at": [(START + n * step).replace(microsecond=0) for n in range(rows)],
            "score": [round(chance.random(), 6) for _ in range(rows)],
        }
    )


def filled(
    folder: Path,
    urls: Mapping[str, str],
    rows: int,
    kinds: Sequence[str] = KINDS,
    also: Sequence[str] = (),
) -> dict[str, dict[str, Source]]:
    """Write the predictions into every place, and make a source of each, by kind and name."""
    sources: dict[str, dict[str, Source]] = {}
    for kind in kinds:
        made = predictions(kind, rows)
        sources[kind] = {"duckdb": _file(folder, kind, made)}
        for name, url in urls.items():
            _write(name, url, kind, made)
            sources[kind][name] = _source(name, url, kind)
        for name in also:
            sources[kind][name] = _ALSO[name](folder, kind, arrow_of(kind, made))
    return sources


def arrow_of(kind: str, made: pd.DataFrame) -> pa.Table:
    """Give predictions the types that lakes and Spark have; a UUID is text there."""
    whole = pa.int64() if kind == "integer" else pa.string()
    kinds = {"id": whole, "at": pa.timestamp("us", tz="UTC"), "score": pa.float64()}
    return pa.table({name: pa.array(made[name].tolist(), of) for name, of in kinds.items()})


def _delta(folder: Path, kind: str, made: pa.Table) -> LakeSource:
    from deltalake import write_deltalake  # noqa: PLC0415  it may not be installed

    write_deltalake(folder / f"{kind}.delta", made)
    asked = {"delta": f"{kind}.delta", "columns": COLUMNS, "threshold": 0.5}
    return LakeSource(LakeSettings.model_validate(asked), folder)


def _iceberg(folder: Path, kind: str, made: pa.Table) -> LakeSource:
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415  as above

    place = {"type": "sql", "uri": f"sqlite:///{folder}/lake.db", "warehouse": f"file://{folder}"}
    catalog = load_catalog("same", **place)
    catalog.create_namespace_if_not_exists("same")
    catalog.create_table(f"same.{kind}", made.schema).append(made)
    asked = {"iceberg": f"same.{kind}", "catalog": {"name": "same", **place}}
    settings = LakeSettings.model_validate({**asked, "columns": COLUMNS, "threshold": 0.5})
    return LakeSource(settings, folder)


def _spark(folder: Path, kind: str, made: pa.Table) -> SparkSource:
    pq.write_table(made, folder / f"{kind}.spark.parquet", row_group_size=_AT_ONCE)
    asked = {"path": f"{kind}.spark.parquet", "master": "local[2]", "config": SPARK_CONFIG}
    settings = SparkSettings.model_validate({**asked, "columns": COLUMNS, "threshold": 0.5})
    return SparkSource(settings, folder)


SPARK_CONFIG = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}
_ALSO: Mapping[str, Callable[[Path, str, pa.Table], Source]] = {
    "delta": _delta,
    "iceberg": _iceberg,
    "spark": _spark,
}


def _file(folder: Path, kind: str, made: pd.DataFrame) -> DuckdbSource:
    cast = {"unicode": "varchar", "integer": "bigint", "uuid": "uuid"}[kind]
    with duckdb.connect() as connection:
        connection.register("made", made)
        connection.execute(
            f'copy (select cast(id as {cast}) as id, cast("at" as timestamptz) as "at", score '
            f"from made) to '{folder / kind}.parquet' (format parquet)"
        )
    asked = {"path": f"{kind}.parquet", "columns": COLUMNS, "threshold": 0.5}
    return DuckdbSource(DuckdbSettings.model_validate(asked), folder)


def _write(name: str, url: str, kind: str, made: pd.DataFrame) -> None:
    types = _TYPES[name]
    engine = create_engine(url)
    times = [at.isoformat() if name == "sqlite" else at.to_pydatetime() for at in made["at"]]
    if name == "mariadb":
        times = [at.replace(tzinfo=None) for at in times]
    rows = [
        {"id": item, "at": at, "score": score}
        for item, at, score in zip(made["id"].tolist(), times, made["score"].tolist(), strict=True)
    ]
    with engine.begin() as connection:
        connection.execute(text(f"drop table if exists same_{kind}"))
        connection.execute(
            text(
                f"create table same_{kind} "
                f"(id {types[kind]}, at {types['at']}, score double precision)"
            )
        )
        insert = text(f"insert into same_{kind} (id, at, score) values (:id, :at, :score)")
        for start in range(0, len(rows), _AT_ONCE):
            connection.execute(insert, rows[start : start + _AT_ONCE])
    engine.dispose()


def _source(name: str, url: str, kind: str) -> SqlSource:
    asked = {
        "url": url,
        "table": f"same_{kind}",
        "columns": COLUMNS,
        "threshold": 0.5,
        "time_zone": "UTC" if name == "mariadb" else None,
    }
    return SqlSource(SqlSettings.model_validate(asked))


def main(
    rows: float = 1e6,
    candidates: int = 1000,
    kinds: tuple[str, ...] = KINDS,
    postgres: str = "",
    mariadb: str = "",
    also: tuple[str, ...] = (),
    seeds: int = 0,
) -> None:
    """Print for each kind of id and each place whether it drew what DuckDB did."""
    with tempfile.TemporaryDirectory() as folder:
        if seeds:
            for kind in kinds:
                print_spreads(kind, filled(Path(folder), {}, ROWS, [kind])[kind]["duckdb"], seeds)
            return
        given = {"postgresql": postgres, "mariadb": mariadb}
        urls = {name: url for name, url in given.items() if url}
        urls["sqlite"] = f"sqlite:///{folder}/same.sqlite"
        for kind in kinds:
            sources = filled(Path(folder), urls, int(rows), [kind], also)[kind]
            _compare(kind, sources, candidates)


def _compare(kind: str, sources: Mapping[str, Source], candidates: int) -> None:
    frames = {}
    for name, source in sources.items():
        started = time.perf_counter()
        frames[name] = source.scan(WINDOW, EDGES, candidates, SEED)
        seconds = time.perf_counter() - started
        drawn = sum(len(part.candidates) for part in frames[name].strata)
        verdict = "same" if frames[name].strata == frames["duckdb"].strata else "DIFFERENT"
        print(
            f"{kind:<8} {name:<11}{frames[name].size:>10,} rows {drawn:>7,} drawn "
            f"{seconds:7.2f} s  {verdict}"
        )


def drawn_by(source: Source, seeds: Sequence[str]) -> list[Values]:
    """Draw the window by each seed: for each stratum a row a seed, and 1 where an item was drawn.

    An item that no seed draws keeps a column, since sizes are counted by the source.
    """
    frames = [source.scan(WINDOW, EDGES, DRAWN, seed) for seed in seeds]
    found = []
    for stratum in range(len(EDGES)):
        parts = [frame.strata[stratum] for frame in frames]
        ids = {each.id for part in parts for each in part.candidates}
        place = {name: column for column, name in enumerate(sorted(ids))}
        drawn = np.zeros((len(seeds), parts[0].size))
        for row, part in enumerate(parts):
            drawn[row, [place[each.id] for each in part.candidates]] = 1
        found.append(drawn)
    return found


def drawn_by_generator(
    rng: np.random.Generator, sizes: Sequence[tuple[int, int]], count: int
) -> list[Values]:
    """Draw as many simple random samples, each of so many of a stratum's items."""
    found = []
    for size, taken in sizes:
        drawn = np.zeros((count, size))
        order = rng.permuted(np.tile(np.arange(size), (count, 1)), axis=1)
        np.put_along_axis(drawn, order[:, :taken], 1, axis=1)
        found.append(drawn)
    return found


def spreads(strata: Sequence[Values]) -> dict[str, float]:
    """Compare the spread of the counts with its expectation, which is 1, by what is counted."""
    items, within, across = [], [], []
    for drawn in strata:
        count, size = drawn.shape
        taken = drawn.sum() / count
        items.append(_spread(drawn.sum(axis=0), taken / size, count))
        pairs = (drawn.T @ drawn)[np.triu_indices(size, 1)]
        within.append(_spread(pairs, taken * (taken - 1) / (size * (size - 1)), count))
    for one, other in combinations(strata, 2):
        across.append(_spread(one.T @ other, one.mean() * other.mean(), len(one)))
    found = {"items": items, "pairs within": within, "pairs across": across}
    return {
        name: sum(seen for seen, _ in each) / sum(expected for _, expected in each)
        for name, each in found.items()
    }


def _spread(counts: Values, share: float, seeds: int) -> tuple[float, float]:
    """Sum the squares of deviations of counts; with what binomial counts have."""
    squares = float(((counts - seeds * share) ** 2).sum())
    return squares, counts.size * seeds * share * (1 - share)


def compared(
    strata: Sequence[Values], sets: int, seed: int = 1
) -> Iterator[tuple[str, float, str]]:
    """Give the name of each count, its spread, and the share of random sets that spread more."""
    own = spreads(strata)
    count = len(strata[0])
    sizes = [(drawn.shape[1], round(drawn.sum() / count)) for drawn in strata]
    rng = np.random.default_rng(seed)
    others = [spreads(drawn_by_generator(rng, sizes, count)) for _ in range(sets)]
    for name, spread in own.items():
        larger = np.mean([other[name] > spread for other in others])
        yield name, spread, f"{larger:.2f}"


def print_spreads(kind: str, source: Source, seeds: int) -> None:
    """Print how the counts of a kind of id are spread."""
    weeks = (START + week * timedelta(weeks=1) for week in range(seeds))
    strata = drawn_by(source, [seed_of(STORE, 1, week) for week in weeks])
    sizes = ", ".join(f"{round(each.sum() / len(each))} of {each.shape[1]}" for each in strata)
    print(f"{kind}, {seeds:,} seeds; drawn of each stratum: {sizes}")
    print("counted       spread  larger")
    for name, spread, larger in compared(strata, SETS):
        print(f"{name:<14}{spread:6.3f}  {larger:>6}")
