"""A Spark Connect server, asked by a process that has no Spark of its own."""

import json

import pyarrow.parquet as pq
import pytest

from benchmarks import same_sample
from tests.plugins.spark.test_cluster import by_duckdb
from tests.spark import need_spark
from tests.workers import python

pytestmark = pytest.mark.slow
ROWS = 20_000


def test_a_connect_server_draws_shows_refuses_and_ends_what_takes_too_long(tmp_path):
    need_spark()
    from tests.plugins.spark.clusters import connect_server  # noqa: PLC0415  it needs pyspark

    rows = same_sample.arrow_of("unicode", same_sample.predictions("unicode", ROWS))
    rows = rows.append_column("text", rows["score"].cast("string"))
    (tmp_path / "truth").mkdir()
    for name in ("scored.parquet", "truth/all.parquet"):
        pq.write_table(rows, tmp_path / name)

    with connect_server(tmp_path) as remote:
        done = python("-m", "tests.plugins.spark.on_connect", remote, tmp_path)

    assert done.returncode == 0, done.stderr[-2000:]
    drawn, is_shown, is_true, *refusals = map(json.loads, done.stdout.splitlines())
    assert drawn == by_duckdb(tmp_path)
    assert is_shown == [True] * len(drawn)
    assert is_true
    no_column, too_slow, afterwards = refusals
    assert "has no column 'scores' (columns.score)" in no_column
    assert no_column.endswith("did you mean 'score'?")
    assert too_slow.startswith("SourceUnavailable: Spark's endless did not answer within 9 s")
    assert afterwards == "nothing was refused"
