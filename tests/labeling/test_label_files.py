"""Task and label files: escaping, order, and whatever bytes come back."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.domain.errors import LabelsRefused
from monitor.domain.model import Task
from monitor.domain.shown import plain_text
from monitor.domain.visible import visible_lines
from monitor.labeling import label_files
from monitor.labeling.cells import escape, unescape
from monitor.labeling.files import read_labels, write_tasks

TASKS = {key: Task(key, f"item-{key}", {"text": f"text of {key}"}) for key in ("aa", "bb", "cc")}


def rows_of(path):
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))


def test_tasks_stand_in_an_order_that_does_not_tell_their_stratum(tmp_path):
    tasks = [Task(f"{place:03d}", str(place)) for place in range(50)]

    write_tasks(tmp_path / "t.csv", tasks, "csv")
    write_tasks(tmp_path / "again.csv", tasks[::-1], "csv")

    keys = [row[0] for row in rows_of(tmp_path / "t.csv")][1:]
    assert keys != sorted(keys)
    assert sorted(keys) == [task.key for task in tasks]
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def break_off(stream, *_):
        stream.write("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(label_files, "_write_csv", break_off)

    with pytest.raises(OSError, match="No space left"):
        write_tasks(tmp_path / "t.csv", [], "csv")

    assert list(tmp_path.iterdir()) == []


def test_a_shown_column_named_like_one_of_ours_gets_another_name():
    stream = io.StringIO()

    write_tasks(stream, [Task("aa", "i", {"label": "shown"})], "csv")

    assert stream.getvalue() == "task,shown label,label,annotator,note\r\naa,shown,,,\r\n"


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@x",
        "\tx",
        "\rx",
        "'=x",
        "''=x",
        "\n=1",
        "\uff1d1",
        "\uff0b1",
        "\uff0d1",
        "\uff20x",
        "'\uff1d1",
    ],
)
def test_a_cell_that_a_spreadsheet_would_run_is_escaped_and_comes_back(text):
    assert escape(text) == "'" + text
    assert unescape(escape(text)) == text


hostile = st.text(
    alphabet=st.one_of(st.sampled_from("=+-@'\"\t\r\n,;\x00\u202e\ufeff0aé"), st.characters()),
    max_size=12,
).filter(lambda text: not any("\ud800" <= character <= "\udfff" for character in text))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(hostile, min_size=1, max_size=4))
def test_every_text_comes_back_from_csv_as_it_went_out(texts):
    tasks = [Task(f"k{n}", f"item {n}", {"text": text}) for n, text in enumerate(texts)]
    stream = io.StringIO(newline="")

    write_tasks(stream, tasks, "csv")

    rows = list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))
    assert {row["task"]: unescape(row["text"]) for row in rows} == {
        task.key: visible_lines(plain_text(task.shown["text"])) for task in tasks
    }
    for row in rows:
        assert not row["text"].startswith(tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"))


def refusal_of(path):
    try:
        read_labels(path, TASKS)
    except LabelsRefused as error:
        return str(error)
    return f"{path.name} is readable"


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.binary(max_size=60))
def test_no_bytes_whatever_make_a_traceback(tmp_path_factory, junk):
    folder = tmp_path_factory.mktemp("junk")
    for name, start in (("j.csv", b"task,label\n"), ("k.jsonl", b'{"task": 1, "label": 1}\n')):
        for content in (junk, start + junk):
            (folder / name).write_bytes(content)
            assert name in refusal_of(folder / name)


def test_import_says_what_is_wrong_with_the_file(tmp_path):
    (tmp_path / "e.ods").write_text("x")

    with pytest.raises(LabelsRefused, match=r"e\.ods: label files are \.csv, \.xlsx or"):
        read_labels(tmp_path / "e.ods", TASKS)
    with pytest.raises(LabelsRefused, match=r"gone\.csv cannot be read: no such file"):
        read_labels(tmp_path / "gone.csv", TASKS)
