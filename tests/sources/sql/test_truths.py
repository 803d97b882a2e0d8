"""Labels by column from a table of the database that the predictions are in."""

import pytest

from monitor.domain.errors import LabelsRefused, SourceUnavailable
from monitor.domain.model import Answer
from monitor.labeling.column import ColumnLabeler, ColumnSettings
from tests.labeling.truth_contract import ASKED, TruthContract, found, tasks_of
from tests.sources.sql.databases import BY_COUNTRY, also_transpiled, make_table, source_of

KINDS = {"integer": "bigint", "boolean": "boolean"}


@also_transpiled
class TestTruths(TruthContract):
    table = "outcomes"

    @pytest.fixture(autouse=True)
    def _place(self, place):
        self.place = place
        make_table(place, [])

    def write(self, rows, kinds):
        spelled = {**self.place.kinds, **KINDS}
        self.place.make(
            "outcomes",
            {name: spelled[kind] for name, kind in kinds.items()},
            [{**row, "known_at": self.place.moment(row["known_at"])} for row in rows],
        )

    def source(self, **changes):
        return source_of(self.place, **changes)

    def predictions(self, rows):
        make_table(self.place, [*rows])
        return self.source(columns=BY_COUNTRY)


def test_a_database_that_is_away_keeps_the_round_waiting(sqlite_place):
    make_table(sqlite_place, [])
    source = source_of(sqlite_place, url="postgresql://u:canary@127.0.0.1:9/d")
    settings = ColumnSettings.model_validate({"table": "outcomes", **ASKED})
    labeler = ColumnLabeler(settings, source.truths(settings.columns))

    with pytest.raises(
        SourceUnavailable, match=r"labeling.table outcomes\).*tried again"
    ) as caught:
        labeler.collect(tasks_of(["a"]), None)

    assert "canary" not in str(caught.value)


def test_a_time_that_counts_needs_its_unit_and_then_tells_the_newest(postgres_place):
    postgres_place.run(
        "create table outcomes (item text, outcome int, known_at bigint)",
        "insert into outcomes values ('a', 0, 20), ('a', 1, 10)",
    )
    make_table(postgres_place, [])
    asked = ColumnSettings.model_validate({"table": "outcomes", "time": "known_at", **ASKED})

    counted, unknown = (
        ColumnLabeler(asked, source_of(postgres_place, **unit).truths(asked.columns))
        for unit in ({"time_unit": "seconds"}, {})
    )

    assert found(counted, ["a"]) == ({"a": Answer.NEGATIVE}, {})
    with pytest.raises(LabelsRefused, match=r"'known_at' \(labeling.time\) .*source.time_unit"):
        unknown.collect(tasks_of(["a"]), None)
