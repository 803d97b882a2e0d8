"""Rounds from a Delta table, as who runs the commands sees them."""

from datetime import timedelta

import pyarrow.parquet as pq
from deltalake import write_deltalake

from tests.cli.workplace import COLUMN

BESIDE = COLUMN.replace("path: predictions.parquet, ", "")
"""The truth in the table of the predictions."""
FILES = "path: predictions.parquet\n      columns"


def test_a_round_waits_for_a_lake_that_is_not_there_yet_and_is_estimated_as_one_from_files(bare):
    bare.predictions()
    source = "kind: lake\n      delta: lake/predictions\n      columns"
    bare.config(BESIDE, source=(FILES, source))

    waiting = bare.run("run-once")
    status = bare.run("status")
    rows = pq.read_table(bare.folder / "predictions.parquet")
    write_deltalake(bare.folder / "lake/predictions", rows, mode="append")
    checked = bare.run("check")
    bare.run_at(bare.now + timedelta(minutes=30), "run-once")

    assert waiting.code == 65
    assert "is not there" in waiting.err
    assert "is not there" in status.out
    assert "200 predictions in the newest window" in checked.out
    assert bare.assert_sizes_are_those_of_files()["snapshot"]
