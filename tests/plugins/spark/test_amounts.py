"""Windows by amount, and logs that keep a sample, on Spark."""

import random

import pyarrow as pa
import pytest

from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import DuckdbSettings
from tests.plugins.spark.places import source_of, write
from tests.sources.prediction_files import TWO, WEEK
from tests.sources.sql.databases import BY_COUNTRY

pytestmark = pytest.mark.usefixtures("spark")


@pytest.mark.parametrize(
    "settings",
    [
        {"columns": {**BY_COUNTRY, "weight": "other"}},
        {"columns": BY_COUNTRY, "kept_with": "chance"},
    ],
)
def test_the_same_items_are_drawn_as_from_files(tmp_path, settings):
    rng = random.Random(7)  # noqa: S311  no secret
    rows = [
        {
            "id": f"m{i}",
            "time": WEEK.start,
            "score": rng.random(),
            "country": rng.choice("AB"),
            "other": rng.choice([1.0, 5.0, 40.0]),
            "chance": rng.choice([0.25, 0.5]),
        }
        for i in range(500)
    ]
    write(tmp_path, rows, other=pa.float64(), chance=pa.float64())
    files = DuckdbSettings.model_validate({"path": "scored.parquet", "threshold": 0.5, **settings})

    of_spark = source_of(tmp_path, threshold=0.5, **settings).scan(WEEK, TWO, 20, "seed")
    of_files = DuckdbSource(files, tmp_path).scan(WEEK, TWO, 20, "seed")

    assert of_spark == of_files
    assert all(part.rows not in {None, part.size} for part in of_spark.strata)
