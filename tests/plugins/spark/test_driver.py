"""A process whose driver of Spark is killed starts another one."""

import json

import pyarrow.parquet as pq
import pytest

from benchmarks import same_sample
from tests.spark import need_spark
from tests.workers import python

pytestmark = [pytest.mark.slow, pytest.mark.soak]


def test_a_driver_that_was_killed_is_replaced(tmp_path):
    need_spark()
    rows = same_sample.arrow_of("unicode", same_sample.predictions("unicode", 2_000))
    pq.write_table(rows, tmp_path / "scored.parquet")

    done = python("-m", "tests.plugins.spark.lost_driver", tmp_path)

    before, *after = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(size for size, _ in before) == 2_000
    assert after[-1] == before
    assert after[0] == before or "Spark's driver has ended" in after[0]
