"""Columns of every type that serves, and names of every kind."""

import pytest
from sqlalchemy.engine import make_url

from monitor.domain.model import BadRow, BandEdges
from monitor.domain.truth import TruthColumns
from tests.sources.prediction_files import TWO, WEEK, refused
from tests.sources.sql.databases import (
    AT,
    BY_CLASS,
    COLUMNS,
    also_in_files,
    classes,
    drawn,
    make_table,
    rows_with,
    source_of,
)


@pytest.mark.parametrize("kind", ["numeric(5, 4)", "real", "double precision", "integer"])
@also_in_files
def test_scores_of_each_type_are_cut_alike(place, kind):
    scores = [0, 1, 1, 0] if kind == "integer" else [0.25, 0.5, 0.75, 0.0]
    make_table(place, rows_with(score=scores), score=kind)
    edges = BandEdges(flagged=(0.75,), passed=(0.25,)).strata()

    frame = source_of(place).scan(WEEK, edges, 9, "s")

    found = classes(frame)
    assert found["passed-1"] == (["0", "3"] if kind == "integer" else ["3"])
    assert found["passed-2"] == ([] if kind == "integer" else ["0"])
    assert found["flagged-1"] == ([] if kind == "integer" else ["1"])
    assert found["flagged-2"] == (["1", "2"] if kind == "integer" else ["2"])
    assert {type(c.score) for part in frame.strata for c in part.candidates} == {float}


@pytest.mark.parametrize("kind", ["real", "double precision"])
@also_in_files
def test_a_score_of_32_bits_at_the_threshold_is_flagged(place, kind):
    at = 0.7 if kind == "real" else 0.699999988079071
    make_table(place, rows_with(score=[at, 0.5]), score=kind)

    frame = source_of(place, threshold=0.7).scan(WEEK, TWO, 9, "s")

    assert classes(frame) == {"flagged": ["0"], "passed": ["1"]}


CLASSES = {
    "boolean": ([True, False, None], True, None),
    "integer": ([1, 0, None], 1, None),
    "char(4)": (["spam", "ham", None], "spam", "ham"),
    "varchar(9)": ([" spam ", "ham", ""], "spam", "ham"),
}


@pytest.mark.parametrize("kind", CLASSES)
@also_in_files
def test_a_predicted_class_of_each_type_is_read(place, kind):
    values, positive, negative = CLASSES[kind]
    make_table(place, rows_with(predicted=values), predicted=kind)
    asked = {"positive": positive} | ({"negative": negative} if negative else {})

    frame = source_of(place, columns=BY_CLASS, threshold=None, **asked).scan(WEEK, TWO, 9, "s")

    assert classes(frame) == {"flagged": ["0"], "passed": ["1"]}
    assert dict(frame.bad_rows) == {BadRow.NO_PREDICTION: 1}


def test_a_bit_of_mariadb_is_a_truth(mariadb_place):
    make_table(mariadb_place, rows_with(predicted=[1, 0, None]), predicted="bit(1)")
    source = source_of(mariadb_place, columns=BY_CLASS, threshold=None)

    frame = source.scan(WEEK, TWO, 9, "s")
    truths = source.truths(TruthColumns(None, "id", "predicted", None)).of(["0", "1", "2"])

    assert classes(frame) == {"flagged": ["0"], "passed": ["1"]}
    assert {key: [one.value for one in found] for key, found in truths.items()} == {
        "0": ["1"],
        "1": ["0"],
    }


@pytest.mark.postgresql
def test_a_column_of_a_type_that_is_not_known_disturbs_nobody_and_is_shown(postgres_place):
    make_table(postgres_place, rows_with(text=["<a/>"]), text="xml")

    assert source_of(postgres_place).show(["0"], WEEK) == {"0": {"text": "<a/>"}}


@pytest.mark.postgresql
def test_what_a_user_of_postgresql_has_set_changes_no_text(postgres_place):
    make_table(postgres_place, rows_with(country=["2026-03-03"], text=["ключ"]), country="date")
    name = make_url(postgres_place.url).database
    for setting in ("datestyle = 'German'", "client_encoding = 'LATIN1'"):
        postgres_place.run(f"alter role monitor in database {name} set {setting}")
    source = source_of(postgres_place, where={"country": "2026-03-03"})

    assert source.show(["0"], WEEK) == {"0": {"text": "ключ"}}


@pytest.mark.postgresql
def test_a_domain_of_postgresql_is_of_the_type_it_is_made_of(postgres_place):
    postgres_place.run("create domain mail_id as text", "create domain share as float8")
    postgres_place.run("create domain small_share as share")
    make_table(postgres_place, rows_with(score=[0.9, 0.1]), id="mail_id", score="small_share")
    source = source_of(postgres_place)

    assert classes(source.scan(WEEK, TWO, 9, "s")) == {"flagged": ["0"], "passed": ["1"]}
    assert set(source.show(["0", "1"], WEEK)) == {"0", "1"}


@also_in_files
def test_predicted_values_are_told_apart_by_case(place):
    make_table(place, rows_with(predicted=["Spam", "spam", "ham"]), predicted="varchar(9)")
    source = source_of(place, columns=BY_CLASS, threshold=None, positive="spam", negative="ham")

    frame = source.scan(WEEK, TWO, 9, "s")

    assert frame.unknown == {"Spam": 1}
    assert dict(frame.bad_rows) == {BadRow.UNKNOWN_CLASS: 1}


@also_in_files
def test_only_the_newest_model_version_is_drawn_from(place):
    rows = rows_with(version=["v1", "v2", "V2", None, "v2"])
    for hour, row in enumerate(rows):
        row["time"] = AT.replace(hour=hour)
    make_table(place, rows, version=place.kinds["text"])

    columns = {**COLUMNS, "model_version": "version"}
    frame = source_of(place, columns=columns).scan(WEEK, TWO, 9, "s")

    assert frame.model_version == "v2"
    assert sorted(drawn(frame)) == ["1", "4"]
    assert dict(frame.bad_rows) == {BadRow.NO_VERSION: 1}
    assert sum(frame.notes.values()) == 2


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({"country": ["eu", "us"]}, ["0", "2"]),
        ({"country": "' or true --"}, []),
        ({"score": 0.75, "country": "eu "}, ["4"]),
    ],
)
@also_in_files
def test_where_keeps_rows_by_their_exact_text_and_runs_nothing(place, where, ids):
    make_table(place, rows_with(country=["eu", "EU", "us", None, "eu "], score=[0.9] * 4 + [0.75]))

    frame = source_of(place, where=where).scan(WEEK, TWO, 9, "s")

    assert sorted(drawn(frame)) == ids


NAMES = ["Order By", 'q"x', "p%s", "a:b?", "x'y", "a`b.c"]


@pytest.mark.parametrize("name", NAMES)
@also_in_files
def test_columns_may_have_any_name(place, name):
    if place.name == "mariadb" and "`" in name:
        pytest.skip("SQLAlchemy reads such a column of MariaDB with its quotes doubled")
    rows = [{**row, name: "a"} for row in rows_with(score=[0.9])]
    make_table(place, rows, **{name: place.kinds["text"]})

    source = source_of(place, columns={**COLUMNS, "id": name})

    assert drawn(source.scan(WEEK, TWO, 9, "s")) == ["a"]
    assert source.show(["a"], WEEK) == {"a": {"text": "x"}}


@pytest.mark.parametrize("name", [name for name in NAMES if "." not in name])
def test_a_table_may_have_any_name(place, name):
    make_table(place, rows_with(score=[0.9]))
    place.run(f"alter table scored rename to {place.quoted(name)}")

    assert drawn(source_of(place, table=name).scan(WEEK, TWO, 9, "s")) == ["0"]


@also_in_files
def test_each_candidate_has_the_group_of_its_row_or_none_without_a_value(place):
    users = ["7", "", " ann ", "Ann", "None", "NULL", "nan", None]
    make_table(place, rows_with(user=users), user=place.kinds["text"])

    frame = source_of(place, columns={**COLUMNS, "group": "user"}).scan(WEEK, TWO, 9, "s")

    groups = {each.id: each.group for part in frame.strata for each in part.candidates}
    assert groups == dict(zip("01234567", ["7", None, "ann", "Ann", *[None] * 4], strict=True))
    assert frame.group_column == "user"


@pytest.mark.postgresql
def test_a_table_of_a_schema_is_found_by_its_whole_name(postgres_place):
    make_table(postgres_place, rows_with(score=[0.9]))
    postgres_place.run('create schema "Ana lytics"', 'alter table scored set schema "Ana lytics"')

    frame = source_of(postgres_place, table="Ana lytics.scored").scan(WEEK, TWO, 9, "s")

    assert drawn(frame) == ["0"]


def test_a_table_that_is_not_there_is_refused_with_what_there_is(place):
    make_table(place, [])

    said = refused(source_of(place, table="scoreds"))

    assert "there is no such table or view that this user may read" in said
    assert "did you mean 'scored'?" in said


@also_in_files
def test_people_see_texts_numbers_and_nothing_for_null(place):
    kinds = {"amount": "numeric(6, 2)", "note": "varchar(20)"}
    make_table(place, rows_with(amount=[1250.5], note=[None]), **kinds)

    source = source_of(place, columns={**COLUMNS, "show": ["text", "amount", "note"]})

    [shown] = source.show(["0"], WEEK).values()
    assert (shown["text"], shown["note"]) == ("x", "")
    assert float(shown["amount"]) == 1250.5


def test_a_picture_comes_as_the_bytes_that_are_stored(place):
    kind = {"postgresql": "bytea", "mariadb": "longblob", "sqlite": "blob"}[place.name]
    make_table(place, rows_with(face=[PNG, None]), face=kind)
    show = [{"column": "face", "kind": "image"}]

    shown = source_of(place, columns={**COLUMNS, "show": show}).show(["0", "1"], WEEK)

    assert shown["0"]["face"]["kind"] == "image"
    assert shown["1"] == {"face": ""}


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@also_in_files
def test_the_first_of_many_by_md5_are_found_wherever_the_bound_was_put(place, monkeypatch):
    rows = rows_with(score=[0.9] * 600)
    make_table(place, rows)
    whole = source_of(place).scan(WEEK, TWO, 999, "s")
    tried = []

    def far_too_low(wanted, size):
        tried.append(size)
        return "0" * 12

    monkeypatch.setattr("monitor.sources.sql_draw.first_bound", far_too_low)
    frame = source_of(place).scan(WEEK, TWO, 7, "s")

    assert tried == [600]
    assert drawn(frame) == drawn(whole)[:7]
