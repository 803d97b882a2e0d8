"""Predictions for Spark in tests: files written by Arrow, and sources over them."""

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.domain.errors import SourceRefused
from monitor.domain.judge import Judge
from monitor.domain.model import BandEdges, Window
from monitor.plugins.spark.settings import SparkSettings
from monitor.plugins.spark.source import SparkSource

WEEK = Window(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 9, tzinfo=UTC))
AT = datetime(2026, 3, 3, 6, tzinfo=UTC)
TWO = BandEdges().strata()
COLUMNS = {"id": "id", "time": "at", "score": "score", "show": ["text"]}
BY_COUNTRY = {**COLUMNS, "segments": ["country"]}

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


def rows_with(**columns):
    [first, *_] = columns.values()
    good = {"at": AT, "score": 0.9, "predicted": True, "text": "x", "country": "CZ"}
    return [
        {"id": str(n), **good, **{name: values[n] for name, values in columns.items()}}
        for n in range(len(first))
    ]


def refused(source):
    with pytest.raises(SourceRefused) as caught:
        source.scan(WEEK, TWO, 5, "s")
    return str(caught.value)


def drawn(frame):
    """Ids of all candidates, in their order."""
    return [candidate.id for part in frame.strata for candidate in part.candidates]


def classes(frame):
    return {part.stratum.name: sorted(c.id for c in part.candidates) for part in frame.strata}
