"""Columns of every type that serves, by Spark."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from monitor.domain.model import BadRow, BandEdges
from monitor.plugins.spark import draw as spark_draw
from monitor.sources import sql_draw
from monitor.testing.memory import draw_order
from tests.plugins.spark.places import (
    AT,
    BY_COUNTRY,
    COLUMNS,
    TWO,
    WEEK,
    classes,
    drawn,
    refused,
    rows_with,
    source_of,
    write,
)

pytestmark = pytest.mark.usefixtures("spark")
BANDS = BandEdges((0.7,), (0.2,)).strata()
ALIKE = ["a", "A", "a ", " a", "á", "a\u0301", "ß", "ss", "a\t", "İ", "🔑", 'q"', "b\\", "%"]
IDS: dict[str, tuple[Any, list[Any]]] = {
    "int64": (pa.int64(), [7, -3, 9223372036854775807]),
    "int8": (pa.int8(), [7, -3]),
    "decimal": (pa.decimal128(20, 0), [Decimal(7), Decimal(12345678901234567890)]),
    "uuid": (pa.string(), [str(uuid.UUID(int=7)), str(uuid.UUID(int=2**127 + 10))]),
    "unicode": (pa.string(), ALIKE),
}


@pytest.mark.parametrize("kind", IDS)
def test_an_id_of_each_type_has_one_text_form(tmp_path, kind):
    typed, ids = IDS[kind]
    write(tmp_path, rows_with(id=ids, text=[f"row {n}" for n in range(len(ids))]), id=typed)
    source = source_of(tmp_path)

    frame = source.scan(WEEK, TWO, 99, "s")
    shown = source.show([str(each) for each in ids], WEEK)

    assert drawn(frame) == sorted(map(str, ids), key=lambda each: draw_order("s", each))
    assert shown == {str(each): {"text": f"row {n}"} for n, each in enumerate(ids)}
    assert source.show(["007", "7.0", " 7", "none", "9" * 30], WEEK) == {}


def test_a_nul_in_an_id_is_made_visible_and_a_missing_id_counted(tmp_path):
    write(tmp_path, rows_with(id=["a\x00b", None, "", " "]))

    frame = source_of(tmp_path).scan(WEEK, TWO, 9, "s")

    assert sorted(drawn(frame)) == [" ", r"a\x00b"]
    assert dict(frame.bad_rows) == {BadRow.NO_ID: 2}


def test_one_id_in_every_row_is_one_item(tmp_path):
    write(tmp_path, rows_with(id=["same"] * 300))

    frame = source_of(tmp_path).scan(WEEK, TWO, 5, "s")

    assert drawn(frame) == ["same"]
    assert frame.rows == 300
    assert frame.size + frame.bad_rows[BadRow.DUPLICATE] == 300


@pytest.mark.parametrize("kind", [pa.float64(), pa.bool_(), pa.binary(), pa.date32()])
def test_an_id_without_one_text_form_is_refused(tmp_path, kind):
    write(tmp_path, [], id=kind)

    said = refused(source_of(tmp_path))

    assert "wanted text, whole numbers or UUIDs; make a view that casts it" in said


@pytest.mark.parametrize("kind", [pa.decimal128(5, 4), pa.float32(), pa.float64(), pa.int32()])
def test_scores_of_each_type_are_cut_alike(tmp_path, kind):
    scores: list[Any] = [0, 1, 1, 0] if kind == pa.int32() else [0.25, 0.5, 0.75, 0.0]
    if pa.types.is_decimal(kind):
        scores = [Decimal(str(each)) for each in scores]
    write(tmp_path, rows_with(score=scores), score=kind)
    edges = BandEdges(flagged=(0.75,), passed=(0.25,)).strata()

    found = classes(source_of(tmp_path).scan(WEEK, edges, 9, "s"))

    whole = kind == pa.int32()
    assert found["passed-1"] == (["0", "3"] if whole else ["3"])
    assert found["passed-2"] == ([] if whole else ["0"])
    assert found["flagged-1"] == ([] if whole else ["1"])
    assert found["flagged-2"] == (["1", "2"] if whole else ["2"])


def test_a_score_that_is_text_is_refused(tmp_path):
    write(tmp_path, rows_with(score=["high"]), score=pa.string())

    assert "column 'score' (columns.score) is VARCHAR; wanted numbers" in refused(
        source_of(tmp_path)
    )


CLASSES = {
    "boolean": (pa.bool_(), [True, False, None], True, None),
    "integer": (pa.int64(), [1, 0, None], 1, None),
    "text": (pa.string(), [" spam ", "ham", ""], "spam", "ham"),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_a_predicted_class_of_each_type_is_read(tmp_path, kind):
    typed, values, positive, negative = CLASSES[kind]
    write(tmp_path, rows_with(predicted=values), predicted=typed)
    asked = {"positive": positive} | ({"negative": negative} if negative else {})
    columns = {"id": "id", "time": "at", "predicted": "predicted"}

    frame = source_of(tmp_path, columns=columns, threshold=None, **asked).scan(WEEK, TWO, 9, "s")

    assert classes(frame) == {"flagged": ["0"], "passed": ["1"]}
    assert dict(frame.bad_rows) == {BadRow.NO_PREDICTION: 1}


def test_predicted_values_that_the_config_does_not_name_are_told(tmp_path):
    write(tmp_path, rows_with(predicted=["Spam", "spam", "ham"]), predicted=pa.string())
    columns = {"id": "id", "time": "at", "predicted": "predicted"}
    asked = {"columns": columns, "threshold": None, "positive": "spam", "negative": "ham"}

    frame = source_of(tmp_path, **asked).scan(WEEK, TWO, 9, "s")

    assert frame.unknown == {"Spam": 1}


def test_only_the_newest_model_version_is_drawn_from(tmp_path):
    rows = rows_with(version=["v1", "v2", "V2", None, "v2"])
    for hour, row in enumerate(rows):
        row["at"] = AT.replace(hour=hour)
    write(tmp_path, rows, version=pa.string())

    columns = {**COLUMNS, "model_version": "version"}
    frame = source_of(tmp_path, columns=columns).scan(WEEK, TWO, 9, "s")

    assert frame.model_version == "v2"
    assert sorted(drawn(frame)) == ["1", "4"]
    assert dict(frame.bad_rows) == {BadRow.NO_VERSION: 1}
    assert sum(frame.notes.values()) == 2


def test_where_leaves_rows_out_by_their_exact_text(tmp_path):
    write(tmp_path, rows_with(country=["eu", "EU", "us", None, "eu "]))

    frame = source_of(tmp_path, where={"country": ["eu", "us"]}).scan(WEEK, TWO, 9, "s")

    assert sorted(drawn(frame)) == ["0", "2"]


@pytest.mark.parametrize(
    "name", ["select", "Order By", 'q"x', "p%s", "a:b?", "käse", "x'y", "a`b.c"]
)
def test_columns_may_have_any_name(tmp_path, name):
    write(tmp_path, [{**row, name: "a"} for row in rows_with(score=[0.9])], **{name: pa.string()})

    source = source_of(tmp_path, columns={**COLUMNS, "id": name})

    assert drawn(source.scan(WEEK, TWO, 9, "s")) == ["a"]
    assert source.show(["a"], WEEK) == {"a": {"text": "x"}}


def test_people_see_texts_numbers_pictures_and_times_in_utc(tmp_path):
    face = bytes.fromhex("89504e470d0a1a0a") + b"rest"
    rows = rows_with(amount=[1250.5, None], face=[face, None])
    write(tmp_path, rows, amount=pa.float64(), face=pa.binary())
    show = ["amount", "at", {"column": "face", "kind": "image"}]

    shown = source_of(tmp_path, columns={**COLUMNS, "show": show}).show(["0", "1"], WEEK)

    assert (shown["0"]["amount"], shown["0"]["at"]) == ("1250.5", "2026-03-03 06:00:00+00")
    assert shown["0"]["face"]["kind"] == "image"
    assert (shown["1"]["amount"], shown["1"]["face"]) == ("", "")


def test_a_missing_column_is_named_with_the_one_that_comes_closest(tmp_path):
    write(tmp_path, [])

    said = refused(source_of(tmp_path, columns={**COLUMNS, "score": "scores"}))

    assert "has no column 'scores' (columns.score)" in said
    assert "did you mean 'score'?" in said


ONE_READ: dict[str, tuple[dict[str, Any], bool]] = {
    "segments": ({"columns": BY_COUNTRY}, True),
    "versions": ({"columns": {**COLUMNS, "model_version": "version"}}, True),
    "few rows": ({"where": {"country": "SK"}}, True),
    "nothing": ({"where": {"country": "XX"}}, True),
    "an id that stands twice": ({"columns": {**COLUMNS, "id": "twice"}}, False),
}


@pytest.mark.parametrize("changes", ONE_READ)
def test_one_read_draws_what_counting_before_and_after_does(tmp_path, monkeypatch, changes):
    rows = rows_with(score=[n % 100 / 100 for n in range(2000)])
    for n, row in enumerate(rows):
        row |= {"country": "SK" if n % 90 == 0 else "CZ", "version": f"v{n // 1500}"}
        row["twice"] = f"i{n // 2}"
    write(tmp_path, rows, version=pa.string(), twice=pa.string())
    given, is_one_read = ONE_READ[changes]
    as_databases = []
    groups_of = sql_draw.groups_of

    def noted(*arguments):
        as_databases.append(arguments)
        return groups_of(*arguments)

    monkeypatch.setattr(sql_draw, "groups_of", noted)
    frame = source_of(tmp_path, **given).scan(WEEK, BANDS, 7, "s")
    assert (as_databases == []) == is_one_read

    monkeypatch.setattr(spark_draw, "MOST_AT_ONCE", 0)
    assert frame == source_of(tmp_path, **given).scan(WEEK, BANDS, 7, "s")
    assert len(as_databases) == 2 - is_one_read


def test_the_first_of_many_by_md5_are_found_wherever_the_bound_was_put(tmp_path, monkeypatch):
    write(tmp_path, rows_with(score=[0.9] * 600))
    whole = source_of(tmp_path).scan(WEEK, TWO, 999, "s")
    monkeypatch.setattr("monitor.sources.sql_draw.first_bound", lambda *_: "0" * 12)

    frame = source_of(tmp_path).scan(WEEK, TWO, 7, "s")

    assert drawn(frame) == drawn(whole)[:7]
