"""Names and values from configs and files are names and values in SQL, whatever is in them."""

import csv
from datetime import timedelta

import duckdb
import pytest

from monitor.domain.errors import ConfigRefused, SourceRefused
from monitor.domain.model import Task
from monitor.labeling.column import ColumnSettings
from monitor.sources.duckdb import DuckdbSource
from monitor.sources.table_settings import DuckdbSettings
from monitor.storage.rounds import round_store
from monitor.storage.samples import payload_store
from tests.sources.prediction_files import TWO, WEEK
from tests.truth_files import labeler_of_files

HOSTILE = [
    'id"; drop table secrets; --',
    "id'; copy (select 1) to 'pwned.csv'; --",
    "id\") from (select 1) union all select * from read_csv('other.csv') --",
    "id/*",
    "id; attach 'pwned.db'",
    "$seed",
    "ключ 🔑",
]
TIME = "2026-03-03T00:00:00+00:00"


def write(path, header, rows):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


def source(folder, path, **changes):
    columns = {"id": "id", "time": "at", "score": "score"} | changes.pop("columns", {})
    settings = {"path": path, "columns": columns, "threshold": 0.5, **changes}
    return DuckdbSource(DuckdbSettings.model_validate(settings), folder)


def scanned(found):
    frame = found.scan(WEEK, TWO, 10, "seed")
    return frame.size, [c.id for part in frame.strata for c in part.candidates]


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("role", ["id", "time", "score", "predicted", "show", "segments"])
def test_a_column_may_have_any_name_and_is_only_read(tmp_path, role):
    columns = {"id": "id", "time": "at", "score": "score", "predicted": "predicted"}
    several = role in {"show", "segments"}
    by_class = {"threshold": None, "positive": "1"} if role == "predicted" else {}
    (tmp_path / "other.csv").write_text("a\n1\n")

    for name in HOSTILE:
        changed = {role: [name] if several else name}
        header = [changed.get(key, old) for key, old in columns.items()] + [name] * several
        write(tmp_path / "p.csv", header, [["m1", TIME, "0.9", "1", *["x"] * several]])

        found = source(tmp_path, "p.csv", columns=changed, **by_class)

        assert scanned(found) == (1, ["m1"]), name
    assert files_of(tmp_path) == ["other.csv", "p.csv"]


def test_a_column_that_is_not_there_is_refused_before_it_is_used(tmp_path):
    write(tmp_path / "p.csv", ["id", "at", "score"], [["m1", TIME, "0.9"]])

    for name in HOSTILE:
        with pytest.raises(SourceRefused, match="no column"):
            source(tmp_path, "p.csv", columns={"id": name}).scan(WEEK, TWO, 10, "seed")

    assert files_of(tmp_path) == ["p.csv"]


@pytest.mark.parametrize("value", ["' or 1=1 --", "eu'); drop table p; --", "$where_0_0", "%"])
def test_a_value_of_where_is_a_value(tmp_path, value):
    rows = [["m1", TIME, "0.9", value], ["m2", TIME, "0.9", "eu"]]
    write(tmp_path / "p.csv", ["id", "at", "score", "tenant"], rows)

    found = source(tmp_path, "p.csv", where={"tenant": [value]})

    assert scanned(found) == (1, ["m1"])


@pytest.mark.parametrize(
    "name", ["p'; copy (select 1) to 'pwned.csv'; --.csv", 'p".csv', "p $x.csv", "p\\'.csv"]
)
def test_a_file_may_have_any_name_and_is_only_read(tmp_path, name):
    write(tmp_path / name, ["id", "at", "score"], [["m1", TIME, "0.9"]])

    assert scanned(source(tmp_path, name)) == (1, ["m1"])
    assert files_of(tmp_path) == [name]


@pytest.mark.parametrize("name", ['p"; drop table kept; --', "p'x", "p)"])
def test_a_table_may_have_any_name_and_no_other_is_touched(tmp_path, name):
    quoted = '"' + name.replace('"', '""') + '"'
    with duckdb.connect(str(tmp_path / "p.duckdb")) as connection:
        connection.execute("create table kept (a int)")
        connection.execute(
            f"create table {quoted} as select 'm1' as id, timestamptz '{TIME}' as at, 0.9 as score"
        )

    found = scanned(source(tmp_path, "p.duckdb", table=name))

    assert found == (1, ["m1"])
    with duckdb.connect(str(tmp_path / "p.duckdb"), read_only=True) as connection:
        assert connection.execute("select count(*) from kept").fetchall() == [(0,)]


def test_ids_out_of_predictions_are_values_in_every_query(tmp_path):
    ids = ["' or 1=1 --", '"; drop table p; --', "m$ids", "m1\x00x"]
    rows = [[each, TIME, "0.9", f"text of {number}"] for number, each in enumerate(ids)]
    write(tmp_path / "p.csv", ["id", "at", "score", "text"], rows)
    found = source(tmp_path, "p.csv", columns={"show": ["text"]})

    assert set(scanned(found)[1]) == {*ids[:3], "m1\\x00x"}
    assert dict(found.show(ids[:1], WEEK)) == {ids[0]: {"text": "text of 0"}}


def test_labels_of_a_column_are_looked_up_by_value(tmp_path):
    item = "' or 1=1 --"
    write(tmp_path / "l.csv", ["it'em", 'va"lue'], [[item, "1"], ["m2", "0"]])
    settings = {"path": "l.csv", "id": "it'em", "value": 'va"lue', "matures": timedelta(days=1)}
    labeler = labeler_of_files(ColumnSettings.model_validate(settings), tmp_path)

    collected = labeler.collect({"k1": Task("k1", item, {}, WEEK.end)}, None)

    assert [(event.task_key, str(event.answer)) for event in collected.events] == [("k1", "1")]


def test_names_in_the_store_are_values(database):
    hostile = "mail'; drop table rounds; --"
    with database.write() as connection:
        round_store.ensure_monitor(connection, hostile, WEEK.start)
        found = round_store.find_monitor(connection, hostile)
        rounds = payload_store.rounds_with_item(connection, hostile, hostile)

    assert found is not None
    assert rounds == []


def test_the_config_takes_no_sql_text(tmp_path):
    with pytest.raises((ValueError, ConfigRefused), match="query"):
        source(tmp_path, "p.csv", query="select 1")
