"""Predictions for Spark in tests: files written by Arrow, and sources over them."""

from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from monitor.domain.judge import Judge
from monitor.plugins.spark.settings import SparkSettings
from monitor.plugins.spark.source import SparkSource
from tests.sources.sql.databases import COLUMNS, KINDS

TYPES = {
    "id": pa.string(),
    "at": pa.timestamp("us", tz="UTC"),
    "score": pa.float64(),
    "predicted": pa.bool_(),
    "text": pa.string(),
    "country": pa.string(),
}
MASTER = "local[2]"
CONFIG = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}


def write(folder, rows, *, name="scored.parquet", **types):
    """Write rows as `MemorySource` takes them; a type of its own for a column by its name."""
    kinds = {**TYPES, **types}
    named = [{**row, "at": row.get("time", row.get("at"))} for row in rows]
    table = pa.table(
        {
            column: pa.array([row.get(column) for row in named], kind)
            for column, kind in kinds.items()
        }
    )
    pq.write_table(table, folder / name)


def settings_with(**changes):
    given = {
        "path": "scored.parquet",
        "master": MASTER,
        "config": CONFIG,
        "columns": COLUMNS,
        "threshold": 0.5,
        **changes,
    }
    if "table" in changes:
        del given["path"]
    return SparkSettings.model_validate(given)


def source_of(folder, judge=None, **changes):
    source = SparkSource(settings_with(**changes), folder)
    source.settings.judge_by(None if judge is None else Judge.model_validate(judge))
    return source


ARROW = {
    "timestamptz": TYPES["at"],
    "timestamp": pa.timestamp("us"),
    "double precision": pa.float64(),
    "real": pa.float32(),
    "smallint": pa.int8(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "numeric(5, 4)": pa.decimal128(5, 4),
    "numeric(20, 0)": pa.decimal128(20, 0),
}


class SparkPlace:
    """A folder of files for Spark, as `Place` is a database, with columns of types of those."""

    name, kinds = "spark", KINDS["postgresql"]

    def __init__(self, folder):
        self._folder = folder

    def make(self, table, kinds, rows):
        write_as = {"timestamp": datetime.fromisoformat, "numeric": lambda n: Decimal(str(n))}
        columns = {}
        for name, kind in kinds.items():
            written = write_as.get(kind.partition("(")[0], lambda value: value)
            values = [written(row.get(name)) for row in rows]
            columns[name] = pa.array(values, ARROW.get(kind, pa.string()))
        pq.write_table(pa.table(columns), self._folder / f"{table}.parquet")

    def moment(self, at):
        return at

    def source(self, **changes):
        return source_of(self._folder, **changes)
