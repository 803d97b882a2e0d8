"""Labels by column from another table of the lake that the predictions are in."""

from typing import Any

from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog

from monitor.domain.model import Answer
from tests.labeling.truth_contract import TruthContract, arrow, found, tasks_of
from tests.plugins.lake.lake_tables import Delta, Iceberg, mails


class OfLake(TruthContract):
    lake: Any

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

        assert not again.anew

    def test_of_the_table_of_the_predictions_only_rows_that_count_are_read(self):
        lake = Delta(self.folder)
        rows = mails(2)
        rows[1] |= {"id": "m0", "country": "DE", "text": "0"}
        rows[0]["text"] = "1"
        lake.write([*rows, *mails(1, first=7)])
        asked = {"table": None, "id": "mail_id", "value": "text", "negative": ["0"]}

        source = lake.source(where={"country": "CZ"})
        answers, reasons = found(self.labeler(source=source, **asked), ["m0"])

        assert (answers, reasons) == ({"m0": Answer.POSITIVE}, {})
        both = self.labeler(source=lake.source(), **asked)
        assert "contradict" in found(both, ["m0", "m7"])[1]["m0"]


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
