"""What labels by column say, whatever reads them: the same as of the same rows in a file."""

import csv
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from monitor.domain.errors import LabelsRefused, MonitorError
from monitor.domain.model import Answer, Task
from monitor.labeling.column import ColumnLabeler, ColumnSettings
from tests.sources.prediction_files import TWO, WEEK
from tests.truth_files import labeler_of_files

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
TEXTS = {"item": "text", "outcome": "text", "known_at": "aware"}
ASKED = {"id": "item", "value": "outcome", "matures": "60d"}

ROWS = [
    ("plain", "1", 0),
    ("zero", "0", 0),
    ("padded", "  1 ", 0),
    ("empty", "  ", 0),
    ("none", None, 0),
    ("word", "TRUE", 0),
    ("number", "1.0", 0),
    ("unsure", "cannot tell", 0),
    ("odd", "maybe", 0),
    ("newer", "0", 0),
    ("newer", "1", 5),
    ("newer", "0", 3),
    ("same", "0", 2),
    ("same", "1", 2),
    ("twice", "1", 2),
    ("twice", "1", 4),
    ("untimed", "0", None),
    ("untimed", "1", 1),
    ("žluť", "1", 0),
    ("blanks", "1 \u00a0", 0),
    ("not there", "nan", 0),
    ("withdrawn", "1", 1),
    ("withdrawn", None, 5),
    ("withdrawn as text", "1", 1),
    ("withdrawn as text", "nan", 5),
    ("restored", "1", 5),
    ("restored", "", 1),
    ("withdrawn at once", "1", 2),
    ("withdrawn at once", None, 2),
    ("empty without time", "1", 2),
    ("empty without time", None, None),
    ("empty in the future", "1", 2),
    ("empty in the future", "", 1000),
    ("empty twice", None, 1),
    ("empty twice", "", 5),
    ("Case", "1", 0),
    ("case", "0", 0),
    ('it\'s "quoted"; --', "1", 0),
    ("other", "1", 0),
]
NAMES = sorted({name for name, _, _ in ROWS} - {"other"} | {"missing", "CASE"})


def rows_of(listed):
    """Rows by their columns; the last value is hours."""
    return [
        {
            "item": item,
            "outcome": value,
            "known_at": None if hours is None else MONDAY + timedelta(hours=hours),
        }
        for item, value, hours in listed
    ]


def tasks_of(names):
    return {f"k{n}": Task(f"k{n}", name, predicted_before=MONDAY) for n, name in enumerate(names)}


def found(labeler, names):
    """Answers by item, and why others have none."""
    tasks = tasks_of(names)
    collected = labeler.collect(tasks, None)
    answers = {tasks[event.task_key].item_id: event.answer for event in collected.events}
    reasons = {
        refusal.where.rpartition(", id ")[2]: refusal.reason for refusal in collected.refused
    }
    return answers, reasons


ARROW = {
    "text": pa.string(),
    "integer": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "aware": pa.timestamp("us", tz="UTC"),
}


def arrow(rows, kinds):
    types = pa.schema([(name, ARROW[kind]) for name, kind in kinds.items()])
    return pa.Table.from_pylist(rows, schema=types)


class TruthContract:
    """A source gives the same answers as a CSV file; one derives, and makes tables."""

    BOOLEANS = (True, False)

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def write(self, rows, kinds):
        """Make the table of the truth, or write it again."""
        raise NotImplementedError

    def source(self, **changes):
        """Return a source that has that table as another than its own."""
        raise NotImplementedError

    def predictions(self, rows):
        """Write predictions, and return a source of them by country, with a threshold of 0.5."""
        raise NotImplementedError

    item = "id"
    """The column of ids in the predictions."""

    table: str
    """What the source names the table of the truth by."""

    def labeler(self, *, source=None, **changes):
        asked = {"table": self.table, **ASKED, **changes}
        settings = ColumnSettings.model_validate(
            {name: value for name, value in asked.items() if value is not None}
        )
        truths = (source or self.source()).truths(settings.columns)
        return ColumnLabeler(settings, truths, clock=lambda: MONDAY)

    def by_file(self, rows, **changes):
        with (self.folder / "truth.csv").open("w", newline="") as stream:
            of_file = csv.DictWriter(stream, ["item", "outcome", "known_at"])
            of_file.writeheader()
            of_file.writerows(rows)
        settings = ColumnSettings.model_validate({"path": "truth.csv", **ASKED, **changes})
        return labeler_of_files(settings, self.folder, clock=lambda: MONDAY)

    def test_texts_mean_what_they_do_in_a_file(self):
        rows = rows_of(ROWS)
        self.write(rows, TEXTS)

        for changes in ({"time": "known_at"}, {}):
            here, file = self.labeler(**changes), self.by_file(rows, **changes)

            assert found(here, NAMES) == found(file, NAMES)
        assert here.values() == file.values()
        assert here.truth_of(["plain", "zero", "CASE"]) == file.truth_of(["plain", "zero", "CASE"])
        assert set(here.columns()) == set(TEXTS)

    def test_a_newer_empty_value_withdraws_a_label_if_its_time_is_known(self):
        self.write(rows_of(ROWS), TEXTS)
        names = [name for name in NAMES if name.startswith(("withdrawn", "restored", "empty"))]

        timed, _ = found(self.labeler(time="known_at"), names)
        untimed, _ = found(self.labeler(), names)

        empty = dict.fromkeys(["empty", "empty twice"])
        valued = dict.fromkeys({*names} - {*empty}, Answer.POSITIVE)
        assert timed == valued | empty | dict.fromkeys(["withdrawn", "withdrawn as text"])
        assert untimed == valued | empty

    @pytest.mark.parametrize("kind", ["integer", "double", "boolean"])
    def test_numbers_and_truths_of_whole_number_ids_are_answers(self, kind):
        yes, no = self.BOOLEANS if kind == "boolean" else (1, 0)
        rows = rows_of([(7, yes, 0), (8, no, 0), (9, None, 0)])
        self.write(rows, {"item": "integer", "outcome": kind, "known_at": "aware"})

        answers, reasons = found(self.labeler(time="known_at"), ["7", "8", "9", "07", "x"])

        assert reasons == {}
        assert answers == {
            "7": Answer.POSITIVE,
            "8": Answer.NEGATIVE,
            **dict.fromkeys(["9", "07", "x"]),
        }

    def test_what_is_missing_or_cannot_serve_is_told_with_its_setting(self):
        self.write(rows_of([("a", "1", 0)]), TEXTS)
        wrong = {
            "labeling.value": {"value": "outcom"},
            "labeling.id": {"id": "itm"},
            "labeling.time": {"time": "known"},
            "labeling.table": {"table": f"{self.table}_gone"},
        }

        for setting, changes in wrong.items():
            with pytest.raises(MonitorError) as caught:
                self.labeler(**changes).collect(tasks_of(["a"]), None)

            assert setting in str(caught.value)
        assert "did you mean 'outcome'" in self.told(value="outcom")

    def told(self, **changes):
        with pytest.raises(MonitorError) as caught:
            self.labeler(**changes).columns()
        return str(caught.value)

    def test_rows_that_come_later_are_found_and_nothing_new_is_not_told_again(self):
        self.write(rows_of([("a", "1", 0)]), TEXTS)
        first = self.labeler().collect(tasks_of(["a", "b"]), None)
        same = self.labeler().collect(tasks_of(["a", "b"]), first.cursor)
        self.write(rows_of([("a", "1", 0), ("b", "0", 1)]), TEXTS)
        later = self.labeler()
        later._clock = lambda: MONDAY + timedelta(hours=1)

        after = later.collect(tasks_of(["a", "b"]), same.cursor)

        assert (same.was_read, same.events) == (False, ())
        assert [event.answer for event in first.events] == [Answer.POSITIVE, None]
        assert [event.answer for event in after.events] == [Answer.POSITIVE, Answer.NEGATIVE]

    @pytest.mark.parametrize("changes", [{"time": "known_at"}, {"missing_means": "negative"}])
    def test_a_census_joins_them_in_place_as_a_look_at_each_id_does(self, monkeypatch, changes):
        self.write(rows_of(ROWS), TEXTS)
        columns = {"predicted": True, "text": "x"}
        source = self.predictions(
            {"id": name, "time": MONDAY, "score": n % 7 / 7, "country": "AB"[n % 2], **columns}
            for n, name in enumerate(NAMES)
        )
        labeler = self.labeler(source=source, **changes)
        labeler._clock = lambda: MONDAY + timedelta(days=90)

        joined = source.joined(WEEK, TWO, labeler.truths, labeler._meanings.missing)
        census = labeler.census(source, WEEK, TWO, {True, False})
        monkeypatch.setattr(type(source), "joined", lambda *_: None)
        by_id = labeler.census(source, WEEK, TWO, {True, False})

        assert sum(of.items for of in joined[1]) == len(NAMES)
        assert census.cells == by_id.cells
        assert len(by_id.cells) > 2
        assert {one.reason for one in census.refused} == {one.reason for one in by_id.refused}

    @pytest.mark.parametrize("changes", [{"value": "outcom"}, {"value": "outcom", "id": "itm"}])
    def test_a_census_refuses_a_column_that_is_missing_as_other_readings_do(self, changes):
        self.write(rows_of(ROWS), TEXTS)
        row = {"id": "a", "time": MONDAY, "score": 0.9, "country": "A", "predicted": True}
        source = self.predictions([{**row, "text": "x"}])

        with pytest.raises(LabelsRefused, match="did you mean"):
            self.labeler(source=source, **changes).census(source, WEEK, TWO, {True, False})

    def test_of_the_table_of_the_predictions_only_rows_that_count_are_read(self):
        usual = {"time": MONDAY, "score": 0.9, "predicted": True}
        rows = [("a", "CZ", "1"), ("a", "DE", "0"), ("b", "CZ", "1")]
        named = [{"id": i, "country": country, "text": text, **usual} for i, country, text in rows]
        asked = {"table": None, "id": self.item, "value": "text"}
        everywhere = self.labeler(source=self.predictions(named), **asked)
        cz = self.labeler(source=self.source(where={"country": "CZ"}), **asked)

        assert found(cz, ["a"]) == ({"a": Answer.POSITIVE}, {})
        assert "contradict" in found(everywhere, ["a", "b"])[1]["a"]
