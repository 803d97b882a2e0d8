"""Names of columns and ids of odd characters, by Spark."""

import pyarrow as pa
import pytest

from tests.plugins.spark.places import source_of, write
from tests.sources.prediction_files import TWO, WEEK
from tests.sources.sql.databases import COLUMNS, drawn, rows_with

pytestmark = pytest.mark.usefixtures("spark")


def test_a_nul_in_an_id_is_made_visible(tmp_path):
    write(tmp_path, rows_with(id=["a\x00b", " "]))

    assert sorted(drawn(source_of(tmp_path).scan(WEEK, TWO, 9, "s"))) == [" ", r"a\x00b"]


@pytest.mark.parametrize("name", ["Order By", 'q"x', "p%s", "a:b?", "x'y", "a`b.c"])
def test_columns_may_have_any_name(tmp_path, name):
    write(tmp_path, [{**row, name: "a"} for row in rows_with(score=[0.9])], **{name: pa.string()})

    source = source_of(tmp_path, columns={**COLUMNS, "id": name})

    assert drawn(source.scan(WEEK, TWO, 9, "s")) == ["a"]
    assert source.show(["a"], WEEK) == {"a": {"text": "x"}}
