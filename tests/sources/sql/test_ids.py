"""Ids are what they are stored as, whatever a database takes for equal."""

import hashlib
import uuid
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from monitor.domain.model import BadRow
from monitor.testing.memory import draw_order
from tests.sources.prediction_files import TWO, WEEK, refused
from tests.sources.sql import databases
from tests.sources.sql.databases import Place, also_in_files, drawn, make_table, source_of

ALIKE = ["a", "A", "a ", " a", "á", "Á", "a\u0301", "ß", "ss", "SS", "a\t", "i", "\u0130", "\u0131"]
ALIKE += ["007", "7", "7.0", " 7 ", r"lite\x00ral", "x" * 150, "NULL", "'; drop"]
ALIKE += ["🔑", 'q"', "b\\", "%"]


def rows_with(ids):
    return databases.rows_with(id=ids, text=[f"row {n}" for n in range(len(ids))])


def in_order(ids, seed="s"):
    return sorted(ids, key=lambda each: draw_order(seed, each))


@also_in_files
def test_ids_that_a_database_takes_for_equal_are_different_items(place):
    make_table(place, rows_with(ALIKE))
    source = source_of(place)

    frame = source.scan(WEEK, TWO, 99, "s")

    assert drawn(frame) == in_order(ALIKE)
    assert dict(frame.bad_rows) == {}


@also_in_files
def test_people_see_the_row_of_exactly_the_id_that_was_drawn(place):
    make_table(place, rows_with(ALIKE))
    source = source_of(place)

    shown = {each: source.show([each], WEEK) for each in ALIKE}

    assert shown == {each: {each: {"text": f"row {n}"}} for n, each in enumerate(ALIKE)}
    assert len(source.show(ALIKE, WEEK)) == len(ALIKE)


@also_in_files
def test_a_row_without_an_id_is_counted_and_spaces_are_one(place):
    make_table(place, rows_with([None, "", " ", "good"]))

    frame = source_of(place).scan(WEEK, TWO, 9, "s")

    assert dict(frame.bad_rows) == {BadRow.NO_ID: 2}
    assert sorted(drawn(frame)) == [" ", "good"]


@also_in_files
def test_one_id_in_every_row_is_one_item(place):
    make_table(place, rows_with(["same"] * 300))

    frame = source_of(place).scan(WEEK, TWO, 5, "s")

    assert drawn(frame) == ["same"]
    assert frame.rows == 300
    assert frame.size + frame.bad_rows[BadRow.DUPLICATE] == 300


KINDS: dict[str, list[Any]] = {
    "smallint": [7, -3],
    "integer": [7, 1, -3],
    "bigint": [7, 9223372036854775807, -9223372036854775808],
    "bigint unsigned": [7, 9223372036854775808, 18446744073709551615],
    "numeric(20, 0)": [7, 12345678901234567890],
    "uuid": [str(uuid.UUID(int=7)), str(uuid.UUID(int=2**127 + 10))],
    "char(8)": ["7", "00000007"],
}


@pytest.mark.parametrize("kind", KINDS)
@also_in_files
def test_an_id_of_each_type_has_one_text_form(place, kind):
    if place.name == "sqlite" and kind in {"numeric(20, 0)", "bigint unsigned"}:
        pytest.skip("SQLite keeps no whole number of 20 digits")
    if place.name in {"postgresql", "duckdb", "spark"} and kind == "bigint unsigned":
        pytest.skip("there is no such type")
    make_table(place, rows_with(KINDS[kind]), id=kind)
    source = source_of(place)

    frame = source.scan(WEEK, TWO, 9, "s")

    ids = [str(each) for each in KINDS[kind]]
    assert drawn(frame) == in_order(ids)
    assert {key: value["text"] for key, value in source.show(ids, WEEK).items()} == {
        each: f"row {n}" for n, each in enumerate(ids)
    }


ABSENT = ["007", "7.0", "+7", " 7", "7 ", "", "seven", "1e0", "\uff17", "9" * 30]


@pytest.mark.parametrize("kind", ["bigint", "uuid"])
@also_in_files
def test_an_id_that_is_written_otherwise_is_no_row_of_it(place, kind):
    known = 7 if kind == "bigint" else str(uuid.UUID(int=7))
    make_table(place, rows_with([known]), id=kind)

    assert source_of(place).show([*ABSENT, str(known).upper() + "x"], WEEK) == {}


@pytest.mark.parametrize("kind", ["double precision", "boolean", "date"])
def test_an_id_without_one_text_form_is_refused(postgres_place, kind):
    make_table(postgres_place, [], id=kind)

    said = refused(source_of(postgres_place))

    assert (
        f"column 'id' (columns.id) is {kind.upper()}; wanted text, whole numbers or UUIDs" in said
    )
    assert "cast it where it is written, or in a view" in said


def test_ids_of_a_column_without_a_type_are_found_however_they_are_stored(sqlite_place):
    make_table(sqlite_place, rows_with([7, "8", 9.5, b"ten"]), id="")
    sqlite_place.run("create view counted as select id, at, score, text from scored")
    source = source_of(sqlite_place, table="counted")

    frame = source.scan(WEEK, TWO, 9, "s")

    assert sorted(drawn(frame)) == ["7", "8", "9.5", "ten"]
    assert set(source.show(drawn(frame), WEEK)) == {"7", "8", "9.5", "ten"}


@pytest.mark.parametrize("name", ["sqlite", pytest.param("mariadb", marks=pytest.mark.mariadb)])
def test_a_nul_in_an_id_is_made_visible(request, name):
    place = request.getfixturevalue(f"{name}_place")
    make_table(place, rows_with(["a\x00b", r"a\x01b"]))
    source = source_of(place)

    ids = drawn(source.scan(WEEK, TWO, 9, "s"))

    assert ids == in_order([r"a\x00b", r"a\x01b"])
    assert set(source.show(ids, WEEK)) == set(ids)


def test_a_latin1_column_draws_what_its_text_in_utf8_does(mariadb_place):
    ids = ["é", "ü", "a", "ÿ"]
    make_table(mariadb_place, rows_with(ids), id="varchar(20) character set latin1")
    source = source_of(mariadb_place)

    assert drawn(source.scan(WEEK, TWO, 9, "s")) == in_order(ids)
    assert set(source.show([*ids, "ключ"], WEEK)) == set(ids)


@pytest.mark.postgresql
def test_a_latin1_database_draws_what_its_text_in_utf8_does(postgres_server):
    name = f"latin_{uuid.uuid4().hex[:12]}"
    engine = create_engine(postgres_server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(
            text(f"create database {name} encoding 'LATIN1' locale 'C' template template0")
        )
    engine.dispose()
    url = make_url(postgres_server).set(database=name).render_as_string()
    place = Place("postgresql", url)
    ids = ["é", "ü", "a", "ÿ"]
    make_table(place, rows_with(ids))

    assert drawn(source_of(place).scan(WEEK, TWO, 9, "s")) == in_order(ids)
    place.close()


@pytest.mark.postgresql
def test_a_database_whose_md5_is_another_one_is_refused(postgres_place, monkeypatch):
    make_table(postgres_place, rows_with(["a"]))
    monkeypatch.setattr(hashlib, "md5", hashlib.sha1)

    said = refused(source_of(postgres_place))

    assert "its md5 of the id 'a' is not that of its text in UTF-8" in said
