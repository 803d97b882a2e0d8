"""Rounds from a Delta and an Iceberg table, as who runs the commands sees them."""

from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog

from tests.cli.workplace import COLUMN

BESIDE = COLUMN.replace("path: predictions.parquet, ", "")
"""The truth in the table of the predictions."""
FILES = "path: predictions.parquet\n      columns"


@pytest.fixture(params=["delta", "iceberg"])
def lake(request, bare):
    """A monitor of predictions in a lake, labeled from a column, and what adds rows to it."""
    bare.predictions()
    if request.param == "delta":
        source = "kind: lake\n      delta: lake/predictions\n      columns"
        bare.config(BESIDE, source=(FILES, source))
        return bare, lambda: write_deltalake(
            bare.folder / "lake/predictions", rows(bare), mode="append"
        )
    bare.write("lake.db", "")
    catalog = f"{{name: mail, type: sql, uri: 'sqlite:///{bare.folder}/lake.db', warehouse: 'file://{bare.folder}'}}"
    source = f"kind: lake\n      iceberg: mail.predictions\n      catalog: {catalog}\n      columns"
    bare.config(BESIDE, source=(FILES, source))
    return bare, lambda: add_to_iceberg(bare)


def rows(place):
    return pq.read_table(place.folder / "predictions.parquet")


def add_to_iceberg(place):
    catalog = load_catalog(
        "mail",
        type="sql",
        uri=f"sqlite:///{place.folder}/lake.db",
        warehouse=f"file://{place.folder}",
    )
    catalog.create_namespace_if_not_exists("mail")
    table = rows(place)
    catalog.create_table_if_not_exists("mail.predictions", table.schema).append(table)


def test_a_round_waits_for_a_lake_that_is_not_there_yet_and_is_estimated_as_one_from_files(lake):
    place, add = lake

    waiting = place.run("run-once")
    status = place.run("status")
    add()
    checked = place.run("check")
    place.run_at(place.now + timedelta(minutes=30), "run-once")

    assert waiting.code == 65
    assert "is not there" in waiting.err
    assert "is not there" in status.out
    assert "200 predictions in the newest window" in checked.out
    assert place.assert_sizes_are_those_of_files()["snapshot"]
