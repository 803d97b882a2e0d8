"""Columns that people see as pictures, tables and other kinds than text."""

import base64
import csv
import json
import os

import pytest
from pydantic import ValidationError

from monitor.domain.errors import SourceRefused
from monitor.domain.model import Task
from monitor.domain.shown import MOST_BYTES, no_picture, picture, plain_text
from monitor.labeling.label_files import write_tasks
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


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (png(), "?"),
        (png(), "{'bytes': ?::blob, 'path': 'a.png'}"),  # as datasets of Hugging Face have it
        (URL.replace("image/png", "text/html"), "?"),  # whatever type it names
    ],
    ids=["bytes", "struct", "data URL"],
)
def test_a_picture_is_shown_by_its_bytes(tmp_path, value, sql):
    assert shown_of(tmp_path, value, sql=sql) == {"kind": "image", "value": URL}


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


@pytest.mark.parametrize(
    "path",
    [
        "../secret.png",
        "below/../../secret.png",
        "{root}/secret.png",
        "link.png",
        "linked/secret.png",
        "twice.png",
    ],
)
def test_no_path_leads_out_of_the_folder(tmp_path, pictures, path):
    (pictures / "link.png").symlink_to(tmp_path / "secret.png")
    (pictures / "linked").symlink_to(tmp_path)
    (pictures / "twice.png").symlink_to(pictures / "link.png")

    problem = problem_of(tmp_path, path.format(root=tmp_path), show=IN_FOLDER)

    assert problem in {
        "its path leads out of the folder of pictures",
        "no such file or directory",
    }


def test_a_link_that_stays_in_the_folder_is_followed(tmp_path, pictures):
    (pictures / "latest.png").symlink_to("good.png")

    assert shown_of(tmp_path, "latest.png", show=IN_FOLDER)["value"] == URL


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("none.png", "no such file or directory"),
        ("below", "is a directory"),
        ("pipe", "it is not a file"),
        ("drawing.svg", "it is not a PNG, JPEG, GIF or WebP"),
        ("page.png", "it is not a PNG, JPEG, GIF or WebP"),
        ("empty.png", "it is not a PNG, JPEG, GIF or WebP"),
        ("large.png", "it has more than 1 MB"),
        ("good.png\0", "embedded null byte"),
        ("x" * 300, "file name too long"),
        ("loop.png", "too many levels of symbolic links"),
    ],
)
def test_what_is_no_picture_is_told(tmp_path, pictures, path, problem):
    (pictures / "below").mkdir()
    os.mkfifo(pictures / "pipe")
    (pictures / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (pictures / "page.png").write_text("<html><script>1</script></html>")
    (pictures / "empty.png").touch()
    (pictures / "large.png").write_bytes(png() + b"\0" * MOST_BYTES)
    (pictures / "loop.png").symlink_to("loop.png")

    assert problem_of(tmp_path, path, show=IN_FOLDER) == problem


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("data:image/png,abc", "its data URL is not in base64"),
        ("data:image/png;base64,@@@", "its data URL is not complete base64"),
        ("data:image/png;base64,YQ", "its data URL is not complete base64"),
        ("data:image/svg+xml;base64,PHN2Zy8+", "it is not a PNG, JPEG, GIF or WebP"),
    ],
)
def test_a_data_url_of_no_picture_is_told(tmp_path, url, problem):
    assert problem_of(tmp_path, url) == problem


def test_bytes_that_are_too_many_are_told_and_not_read_whole(tmp_path):
    value = png() + b"\0" * (2 * MOST_BYTES)

    assert problem_of(tmp_path, value) == "it has more than 1 MB"


def test_a_table_and_other_kinds_are_read_as_texts_that_do_not_steer(tmp_path):
    values = "null as raw, '\u202ea' as body, 12.50 as amount, null as city"
    select = f"select 'a' as mail_id, timestamptz '2026-03-03' as scored_at, 0.9 as score, {values}"
    copy_to(tmp_path / "p.parquet", select)
    source = source_of(
        tmp_path,
        {"table": ["amount", "city"], "name": "Order"},
        {"column": "body", "kind": "html", "name": "The mail"},
        {"column": "raw", "kind": "json"},
        "body",
        {"table": ["city"]},
    )

    assert source.show(["a"], WEEK)["a"] == {
        "Order": {"kind": "table", "value": [["amount", "12.50"], ["city", ""]]},
        "The mail": {"kind": "html", "value": "\\u202ea"},
        "raw": {"kind": "json", "value": ""},
        "body": "\\u202ea",
        "city": {"kind": "table", "value": [["city", ""]]},
    }


@pytest.mark.parametrize(
    ("show", "why"),
    [
        (["a", "a"], "'a' is listed twice; give one of them another name"),
        (["a", {"column": "a", "kind": "html"}], "'a' is listed twice"),
        ([{"kind": "html"}], "expected either a column with its kind, or a table of columns"),
        ([{"table": []}], "at least 1 item"),
        ([{"table": ["a"], "kind": "html"}], "a table shows its columns as text; remove kind"),
        ([{"column": "a", "folder": "x"}], "only a column of kind: image has files in a folder"),
        ([{"column": "score", "kind": "json"}], "'score' is the score column; people who see it"),
    ],
)
def test_what_cannot_be_shown_so_is_refused(show, why):
    with pytest.raises(ValidationError) as caught:
        settings_with(columns={**COLUMNS, "show": show})

    assert why in str(caught.value)


def test_a_folder_of_pictures_that_is_not_there_is_refused(tmp_path):
    copy_to(
        tmp_path / "p.parquet",
        "select 'a' as mail_id, timestamptz '2026-03-03' as scored_at, 0.9 as score, '' as picture",
    )

    with pytest.raises(SourceRefused, match=r"pictures \(columns.show, folder of 'picture'\) is"):
        source_of(tmp_path, IN_FOLDER).columns()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a text", "a text"),
        ({"kind": "html", "value": "<b>x</b>"}, "<b>x</b>"),
        ({"kind": "json", "value": "[1]"}, "[1]"),
        ({"kind": "link", "value": "https://example.org"}, "https://example.org"),
        (picture(png()), f"(a picture: image/png, {len(png())} bytes)"),
        (picture(png(), "a.png"), "a.png"),
        (
            no_picture("no such file", "a.png"),
            "(this picture cannot be shown: a.png: no such file)",
        ),
        (no_picture("it is none"), "(this picture cannot be shown: it is none)"),
    ],
)
def test_every_kind_has_a_plain_form(value, text):
    assert plain_text(value) == text


def test_a_label_file_holds_the_plain_form_of_every_kind(tmp_path):
    shown = {"picture": picture(png(), "=a.png"), "raw": {"kind": "json", "value": "[1]"}}
    tasks = [Task("t1", "a", shown)]

    write_tasks(tmp_path / "t.csv", tasks, "csv")
    write_tasks(tmp_path / "t.jsonl", tasks, "jsonl")

    with (tmp_path / "t.csv").open(newline="") as stream:
        assert list(csv.reader(stream))[1][:3] == ["t1", "'=a.png", "[1]"]
    row = json.loads((tmp_path / "t.jsonl").read_text())
    assert row["shown"] == {"picture": "=a.png", "raw": "[1]"}
