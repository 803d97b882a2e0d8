"""Columns of every type that serves, by Spark."""

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from monitor.domain.model import BadRow, BandEdges
from monitor.testing.memory import draw_order
from tests.plugins.spark.places import source_of, write
from tests.sources.prediction_files import TWO, WEEK
from tests.sources.sql.databases import BY_CLASS, COLUMNS, classes, drawn, rows_with

pytestmark = pytest.mark.usefixtures("spark")
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


@pytest.mark.parametrize("kind", [pa.decimal128(5, 4), pa.float32(), pa.int32()])
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

    frame = source_of(tmp_path, columns=BY_CLASS, threshold=None, **asked).scan(WEEK, TWO, 9, "s")

    assert classes(frame) == {"flagged": ["0"], "passed": ["1"]}
    assert dict(frame.bad_rows) == {BadRow.NO_PREDICTION: 1}


@pytest.mark.parametrize("name", ["Order By", 'q"x', "p%s", "a:b?", "x'y", "a`b.c"])
def test_columns_may_have_any_name(tmp_path, name):
    write(tmp_path, [{**row, name: "a"} for row in rows_with(score=[0.9])], **{name: pa.string()})

    source = source_of(tmp_path, columns={**COLUMNS, "id": name})

    assert drawn(source.scan(WEEK, TWO, 9, "s")) == ["a"]
    assert source.show(["a"], WEEK) == {"a": {"text": "x"}}
