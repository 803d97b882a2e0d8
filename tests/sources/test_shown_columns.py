"""Columns that people see as pictures, tables and other kinds than text."""

from __future__ import annotations

import base64

import pytest

from monitor.sources.duckdb import DuckdbSource
from tests.pictures import png
from tests.sources.prediction_files import COLUMNS, GOOD, WEEK, copy_to, csv_source, settings_with

PICTURE = {"column": "picture", "kind": "image"}
IN_FOLDER = {**PICTURE, "folder": "pictures"}
URL = f"data:image/png;base64,{base64.b64encode(png()).decode()}"


def shown_of(folder, value, *, show=PICTURE, sql="?"):
    """What is shown of a row of a Parquet file whose column has this value."""
    select = "select 'a' as mail_id, timestamptz '2026-03-03' as scored_at, 0.9 as score"
    copy_to(folder / "p.parquet", f"{select}, {sql} as picture", value)
    return source_of(folder, show).show(["a"], WEEK)["a"]["picture"]


def source_of(folder, *show):
    return DuckdbSource(settings_with(columns={**COLUMNS, "show": show}), folder)


def problem_of(folder, value, **more):
    return shown_of(folder, value, **more)["problem"]


@pytest.fixture
def pictures(tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "good.png").write_bytes(png())
    (tmp_path / "secret.png").write_bytes(png())
    return tmp_path / "pictures"


def test_a_picture_of_bytes_is_shown(tmp_path):
    assert shown_of(tmp_path, png()) == {"kind": "image", "value": URL}


def test_a_picture_as_datasets_of_hugging_face_have_it_is_shown(tmp_path):
    shown = shown_of(tmp_path, png(), sql="{'bytes': ?::blob, 'path': 'a.png'}")

    assert shown == {"kind": "image", "value": URL}


def test_a_picture_of_a_data_url_is_shown_by_its_bytes_whatever_type_the_url_names(tmp_path):
    named_otherwise = URL.replace("image/png", "text/html")

    assert shown_of(tmp_path, named_otherwise) == {"kind": "image", "value": URL}


def test_a_picture_in_a_folder_is_shown(tmp_path, pictures):
    shown = shown_of(tmp_path, "good.png", show=IN_FOLDER)

    assert shown == {"kind": "image", "value": URL, "path": "good.png"}


def test_a_csv_file_names_pictures_by_their_paths(tmp_path, pictures):
    columns = {**COLUMNS, "show": [{**IN_FOLDER, "column": "text"}]}

    shown = csv_source(tmp_path, [(*GOOD[:3], "good.png")], columns=columns).show(["a"], WEEK)

    assert shown["a"]["text"]["value"] == URL


@pytest.mark.parametrize("value", [None, b"", ""])
def test_where_there_is_no_picture_nothing_is_shown(tmp_path, value):
    assert shown_of(tmp_path, value) == ""
