"""Flagged items that were let through, on Spark."""

import random

import pyarrow as pa
import pytest

from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import DuckdbSettings
from tests.plugins.spark.places import source_of, write
from tests.sources.prediction_files import TWO, WEEK
from tests.sources.sql.databases import BY_COUNTRY

pytestmark = pytest.mark.usefixtures("spark")


@pytest.mark.parametrize("probability", ["chance", 0.3])
def test_the_same_released_items_are_drawn_as_from_files(tmp_path, probability):
    rng = random.Random(7)  # noqa: S311  no secret
    rows = [
        {
            "id": f"m{i}",
            "time": WEEK.start,
            "score": rng.random(),
            "country": rng.choice("AB"),
            "let": rng.random() < 0.3,
            "chance": rng.choice([0.2, 0.4]),
        }
        for i in range(500)
    ]
    write(tmp_path, rows, let=pa.bool_(), chance=pa.float64())
    columns = {**BY_COUNTRY, "released": "let"}
    settings = {"columns": columns, "threshold": 0.5, "released_with": probability}
    files = DuckdbSettings.model_validate({"path": "scored.parquet", **settings})

    of_spark = source_of(tmp_path, **settings).scan(WEEK, TWO, 1000, "seed")
    of_files = DuckdbSource(files, tmp_path).scan(WEEK, TWO, 1000, "seed")

    assert of_spark == of_files
    flagged = of_files.strata[0]
    assert flagged.release is not None
    assert 0 < len(flagged.candidates) <= flagged.release.released < flagged.size
