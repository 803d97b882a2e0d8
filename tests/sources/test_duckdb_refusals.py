"""What the DuckDB source refuses, and the sentence."""

import math
import re
import subprocess
import sys

import duckdb
import pytest
from pydantic import ValidationError

from monitor.domain.errors import SourceRefused, SourceUnavailable
from monitor.sources.duckdb import DuckdbSource
from tests.sources.prediction_files import (
    COLUMNS,
    GOOD,
    TWO,
    WEEK,
    csv_source,
    parquet_source,
    refused,
    settings_with,
    write_csv,
)


def test_a_missing_column_is_named_with_those_there_are_and_the_closest(tmp_path):
    source = csv_source(tmp_path, [GOOD], columns={**COLUMNS, "time": "scored_on"})

    assert refused(source) == (
        "p.csv has no column 'scored_on' (columns.time); its columns are mail_id, scored_at, "
        "score, text; did you mean 'scored_at'?"
    )


def test_the_closest_of_many_columns_is_named_though_it_is_not_among_the_first(tmp_path):
    names = [*(f"f{place}" for place in range(99)), "mail_ident"]
    write_csv(tmp_path / "p.csv", [range(100)], names)
    columns = {**COLUMNS, "show": []}
    source = DuckdbSource(settings_with(path="p.csv", columns=columns), tmp_path)

    said = refused(source)

    assert said.startswith("p.csv has no column 'mail_id' (columns.id); the first of its 100 ")
    assert said.endswith("f19; did you mean 'mail_ident'?")


NAIVE = "holds times without a time zone, the first is '2026-03-03 0{}:00:00'; set source.time_zone"


def test_naive_times_in_text_are_refused_with_the_first_and_the_way_out(tmp_path):
    source = csv_source(tmp_path, [GOOD, ("b", "2026-03-03 07:00:00", "0.9", "")])

    assert f"p.csv: column 'scored_at' (columns.time) {NAIVE.format(7)}" in refused(source)
    with pytest.raises(SourceRefused, match="without a time zone"):
        source.span()


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("scored_at", "1772496000", "(columns.time) is INTEGER (first value '1772496000'); wanted"),
        ("score", "'high'", "(columns.score) is VARCHAR (first value 'high'); wanted numbers"),
        (
            "mail_id",
            "1.5::double",
            "(columns.id) is DOUBLE (first value '1.5'); wanted text, whole",
        ),
        ("score", "true", "(columns.score) is BOOLEAN (first value 'true'); wanted numbers"),
    ],
)
def test_a_column_of_the_wrong_type_is_named_with_its_first_value(
    tmp_path, column, value, sentence
):
    parts = {
        "mail_id": "'a'",
        "scored_at": "timestamptz '2026-03-03 00:00:00Z'",
        "score": "0.9",
        "text": "''",
    }
    parts[column] = value
    select = "select " + ", ".join(f"{sql} as {name}" for name, sql in parts.items())

    assert f"p.parquet: column {column!r} {sentence}" in refused(parquet_source(tmp_path, select))


def test_a_csv_score_column_without_any_number_is_refused_with_the_first(tmp_path):
    rows = [("a", GOOD[1], "0,9", ""), ("b", GOOD[1], "0,8", "")]

    assert "no value of column 'score' (columns.score) is a number, the first is '0,8'" in refused(
        csv_source(tmp_path, rows)
    )


def test_some_scores_that_are_no_numbers_are_counted(tmp_path):
    rows = [GOOD, ("b", GOOD[1], "high", ""), ("c", GOOD[1], "-inf", "")]

    frame = csv_source(tmp_path, rows).scan(WEEK, TWO, 5, "s")

    assert dict(frame.bad_rows) == {"score not a number": 1, "score infinite": 1}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\n1,2\nsecret\n", "Line: 3; Expected Number of Columns: 2 Found: 1; is it a whole"),
        (b'a,b\n"secret,2\n', "Line: 2; Value with unterminated quote found.; is it a whole"),
        (b"", "the first row of p.csv must name every column once; it is empty"),
        (b"a,b,A\n", "the first row of p.csv must name every column once; it is a, b, A"),
        (b"a\nsecret\xe9\n", "p.csv cannot be read: 'utf-8' codec can't decode byte 0xe9"),
    ],
)
def test_a_broken_csv_is_refused_with_its_line_and_without_its_text(tmp_path, content, sentence):
    (tmp_path / "p.csv").write_bytes(content)
    columns = {"id": "a", "time": "b", "score": "b"}
    source = DuckdbSource(settings_with(path="p.csv", columns=columns, time_zone="UTC"), tmp_path)

    said = refused(source)

    assert sentence in said
    assert "secret" not in said


def test_a_missing_table_is_named(tmp_path):
    with duckdb.connect(str(tmp_path / "p.duckdb")) as connection:
        connection.execute("create table scored (i integer)")
    settings = settings_with(path="p.duckdb", table="score")

    assert "p.duckdb (table score): there is no such table or view" in refused(
        DuckdbSource(settings, tmp_path)
    )


def test_a_duckdb_file_that_another_process_writes_is_tried_again_later(tmp_path):
    path = tmp_path / "p.duckdb"
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline()
        settings = settings_with(path="p.duckdb", table="scored")
        with pytest.raises(SourceUnavailable, match="being written by another process"):
            DuckdbSource(settings, tmp_path).scan(WEEK, TWO, 5, "s")
        writer.communicate(b"\n")


BY_CLASS = {"threshold": None, "columns": {"id": "i", "time": "t", "predicted": "c"}}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"threshold": None}, "nothing says which rows are flagged; give threshold"),
        ({"columns": {"id": "i", "time": "t"}}, "threshold needs columns.score"),
        (
            {"columns": {"id": "i", "time": "t", "score": "s", "predicted": "p"}},
            "threshold and columns.predicted both decide",
        ),
        ({"threshold": math.nan}, "Input should be a finite number"),
        ({"positive": "fraud"}, "positive needs columns.predicted"),
        ({"negative": 0}, "negative needs columns.predicted"),
        ({**BY_CLASS, "negative": [0, 1]}, "negative: '1' is also in positive"),
        ({**BY_CLASS, "negative": []}, "negative: an empty list matches nothing"),
        ({"path": "p.duckdb"}, "a DuckDB file needs table"),
        ({"table": "scored"}, "table: 'scored' is for DuckDB files only"),
        ({"path": "s3://bucket/p.parquet"}, "is a remote address"),
        ({"path": "predictions"}, "has no suffix that shows its kind"),
        ({"path": []}, "path is empty"),
        ({"path": ["a.csv", "b.parquet"]}, "files of several kinds"),
    ],
)
def test_impossible_settings_are_refused_with_a_sentence(changes, sentence):
    with pytest.raises(ValidationError, match=re.escape(sentence)):
        settings_with(**changes)
