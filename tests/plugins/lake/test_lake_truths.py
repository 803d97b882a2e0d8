"""Labels by column from another table of the lake that the predictions are in."""

from typing import Any

from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog

from tests.labeling.truth_contract import TruthContract, arrow, tasks_of
from tests.plugins.lake.lake_tables import Delta, Iceberg


class OfLake(TruthContract):
    lake: Any
    item = "mail_id"

    def source(self, **changes):
        return self.lake(self.folder).source(**changes)

    def predictions(self, rows):
        self.lake(self.folder).write([*rows])
        return self.source()


class TestDelta(OfLake):
    lake = Delta
    table = "outcomes"

    def write(self, rows, kinds):
        write_deltalake(str(self.folder / "outcomes"), arrow(rows, kinds), mode="overwrite")

    def test_a_snapshot_that_stays_is_not_read(self, monkeypatch):
        self.write([{"item": "a", "outcome": "1"}], {"item": "text", "outcome": "text"})
        labeler = self.labeler()
        first = labeler.collect(tasks_of(["a"]), None)
        monkeypatch.setattr(labeler.truths, "of", None)  # it cannot be read

        again = labeler.collect(tasks_of(["a"]), first.cursor)

        assert not again.was_read


class TestIceberg(OfLake):
    lake = Iceberg
    table = "mail.outcomes"

    def write(self, rows, kinds):
        lake = Iceberg(self.folder)
        catalog = load_catalog(**lake.catalog)
        catalog.create_namespace_if_not_exists("mail")
        new = arrow(rows, kinds)
        table = catalog.create_table_if_not_exists("mail.outcomes", new.schema)
        (table.overwrite if table.current_snapshot() else table.append)(new)
