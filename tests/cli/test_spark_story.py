"""Rounds from Spark, as who runs the commands sees them."""

import json
from datetime import timedelta

import duckdb
import pytest

from tests.cli.workplace import COLUMN
from tests.plugins.spark.places import CONFIG, MASTER
from tests.spark import need_spark

BESIDE = COLUMN.replace("path: predictions.parquet, ", "")
FILES = "path: predictions.parquet\n      columns"
SPARK = (
    f"kind: spark\n      master: {MASTER}\n      config: {json.dumps(CONFIG)}\n      "
    "path: predictions.parquet\n      columns"
)


@pytest.fixture(scope="session")
def spark():
    need_spark()


@pytest.fixture
def place(bare, spark):
    bare.predictions()
    bare.config(BESIDE, source=(FILES, SPARK))
    return bare


def test_a_round_from_spark_is_estimated_as_one_from_files(place):
    place.run("run-once")

    place.assert_sizes_are_those_of_files()


def test_a_round_waits_for_rows_that_are_missing_or_wrong_and_goes_on(place):
    path = place.folder / "predictions.parquet"
    kept = path.read_bytes()
    path.unlink()

    missing = place.run("run-once")
    with duckdb.connect() as connection:
        path.write_bytes(kept)
        connection.execute(
            f"copy (select * exclude (score), score as points from '{path}') "
            f"to '{path}.new' (format parquet)"
        )
    path.with_suffix(".parquet.new").replace(path)
    dropped = place.run_at(place.now + timedelta(minutes=30), "run-once")
    path.write_bytes(kept)
    place.run_at(place.now + timedelta(minutes=60), "run-once")

    assert missing.code == dropped.code == 65
    assert "predictions.parquet is not there" in missing.err
    assert "has no column 'score' (columns.score)" in dropped.err
    assert place.as_json("show", "1")["state"] == "closed"
